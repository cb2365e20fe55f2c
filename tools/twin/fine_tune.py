"""Checks fine-tuning against Transformers, with tiny models of every family and task. Hecate fine-tunes without
dropout; Transformers does the same from the same initial weights with the same batches and learning rates. The
losses of every report must agree within 0.1 %. Then Transformers loads the saved model (with AutoTokenizer and the
class that config.json names): ids of texts must be equal, logits within 1e-4 of the largest.

    tools/twin/fine_tune.py HECATE MODELS FOLDER [--steps 200] [--only NAME] [--within 0.001]

MODELS: tests/golden/models, or a folder made by tools/goldens/models.py --live. The last line counts the cases."""
import argparse
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import wave

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy
import torch
import transformers
from safetensors.torch import load_file
from torch.nn import functional as F

from twin import cross_entropy, rate

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

WORDS = ("zero one two three four five six seven eight nine red green blue black white small large old new "
         "river tree house stone bird fish horse who what where is was in on by near sees takes finds leaves "
         "good bad fine poor happy sad very not and or").split()

# name: model, task, more options.
CASES = {
    "bert-classify": ("bert_base", "classify", []),
    "bert-classify-own-head": ("bert_classify", "classify", []),
    "bert-answer": ("bert_base", "answer", []),
    "bert-mlm": ("bert", "mlm", []),
    "distilbert-classify": ("distilbert", "classify", []),
    "distilbert-answer": ("distilbert_base", "answer", []),
    "roberta-classify": ("roberta", "classify", []),
    "roberta-answer": ("roberta_base", "answer", []),
    "xlm-roberta-mlm": ("xlm-roberta", "mlm", []),
    "xlm-roberta-answer": ("xlm-roberta", "answer", []),
    "gpt2-lm": ("gpt2", "lm", []),
    "gpt2-classify": ("gpt2", "classify", []),
    "gpt2-answer": ("gpt2", "answer", []),
    "llama-lm": ("llama", "lm", []),
    "llama-classify": ("llama", "classify", []),
    "llama-answer": ("llama", "answer", []),
    "qwen2-classify": ("qwen2", "classify", []),
    "bart-classify": ("bart", "classify", []),
    "bart-answer": ("bart", "answer", []),
    "t5-classify": ("t5", "classify", []),
    "t5-answer": ("t5", "answer", []),
    "mistral-lm": ("mistral", "lm", []),
    "qwen2-lm": ("qwen2", "lm", []),
    "bart-seq2seq": ("bart", "seq2seq", ["--label-smoothing", "0.1"]),
    "mbart-translate": ("mbart", "translate", []),
    "marian-translate": ("marian", "translate", []),
    "t5-seq2seq": ("t5", "seq2seq", ["--source-prefix", "very good "]),
    "t5-gated-seq2seq": ("t5_gated", "seq2seq", []),
    "whisper-seq2seq": ("whisper", "seq2seq", []),
    "whisper-de-seq2seq": ("whisper", "seq2seq", ["--language", "de", "--label-smoothing", "0.1"]),
}


# ---- training data ----

def sentence(draw, least=3, most=9):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def write_texts(folder, seed):
    draw = random.Random(seed)
    pairs = [sentence(draw) for _ in range(600)]
    turned = [" ".join(reversed(p.split())) for p in pairs]
    with open(f"{folder}/labels.tsv", "w") as f:
        for p in pairs:
            label = "warm" if "red" in p or "good" in p else "cold" if "blue" in p or "bad" in p else "even"
            f.write(f"{label}\t{p}\n")
    with open(f"{folder}/pairs.tsv", "w") as f:
        f.writelines(f"{a}\t{b}\n" for a, b in zip(pairs, turned))
    for name, lines in [("a", pairs), ("b", turned)]:
        with open(f"{folder}/{name}.txt", "w") as f:
            f.writelines(f"{x}\n" for x in lines)
    data = []
    for i in range(60):
        words = [draw.choice(WORDS) for _ in range(draw.randint(6, 40))]
        context, questions = " ".join(words), []
        for k in range(4):
            at = draw.randrange(len(words))
            text = " ".join(words[at:at + draw.randint(1, 3)])
            start = len(" ".join(words[:at])) + (at > 0)
            none = draw.random() < 0.2
            questions.append({"id": f"{i}-{k}", "question": sentence(draw, 2, 4), "is_impossible": none,
                              "answers": [] if none else [{"text": text, "answer_start": start}]})
        data.append({"title": str(i), "paragraphs": [{"context": context, "qas": questions}]})
    with open(f"{folder}/squad.json", "w") as f:
        json.dump({"version": "v2.0", "data": data}, f)


def write_sounds(folder, seed):
    """Writes short sounds at several sample rates, in which each word is a note, and a list of them."""
    draw = random.Random(seed)
    os.makedirs(f"{folder}/sounds", exist_ok=True)
    with open(f"{folder}/sounds.tsv", "w") as f:
        for i in range(120):
            words, rate_ = [draw.choice(WORDS) for _ in range(draw.randint(1, 6))], draw.choice([8000, 16000, 22050])
            samples = []
            for w in words:
                pitch = 200 + 60 * WORDS.index(w)
                samples += [int(12000 * math.sin(2 * math.pi * pitch * k / rate_)) + draw.randint(-99, 99)
                            for k in range(rate_ // 21)]
            with wave.open(f"{folder}/sounds/{i}.wav", "wb") as out:
                out.setnchannels(1)
                out.setsampwidth(2)
                out.setframerate(rate_)
                out.writeframes(struct.pack(f"<{len(samples)}h", *samples))
            f.write(f"sounds/{i}.wav\t{' '.join(words)}\n")


# Special tokens come after all words, as in Whisper; timestamps come last.
SPEECH = {"<|startoftranscript|>": 3, "<|en|>": 70, "<|de|>": 71, "<|translate|>": 72, "<|transcribe|>": 73,
          "<|nospeech|>": 74, "<|notimestamps|>": 75, **{f"<|{k / 50:.2f}|>": 76 + k for k in range(16)}}


def change_json(path, **more):
    with open(path) as f:
        config = json.load(f)
    config.update(more)
    with open(path, "w") as f:
        json.dump(config, f)


def make_multilingual(folder):
    """Makes a multilingual copy of the model. It pads with the end token, as Whisper does."""
    change_json(f"{folder}/generation_config.json", is_multilingual=True, lang_to_id={"<|en|>": 70, "<|de|>": 71},
                task_to_id={"translate": 72, "transcribe": 73}, no_timestamps_token_id=75, pad_token_id=2)
    change_json(f"{folder}/config.json", pad_token_id=2)


def write_tokenizer(folder, config):
    """Writes a tokenizer that splits at spaces, with special tokens at the ids that the model expects."""
    kind = config["model_type"]
    ids = {}
    if kind in ("bert", "distilbert"):
        ids = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
        roles = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
        ends, types = ("[CLS]", "[SEP]"), kind == "bert"
    else:
        names = {"pad": "<pad>", "bos": "<s>", "eos": "</s>"}
        roles = {r: n for r, n in names.items() if config.get(f"{r}_token_id") is not None}
        ids = {n: config[f"{r}_token_id"] for r, n in roles.items()}
        free = (i for i in range(101) if i not in ids.values())
        ids["<unk>"], roles["unk"] = next(free), "<unk>"
        if kind in ("roberta", "xlm-roberta", "bart"):
            ids["<mask>"] = next(free)
            roles.update(mask="<mask>", cls="<s>", sep="</s>")
        if kind == "whisper":
            ids.update(SPEECH)
        ends = ("<s>", "</s>") if kind in ("roberta", "xlm-roberta", "bart") else \
            (None, "</s>") if kind in ("t5", "marian", "mbart") else (None, None)
        types = False
    special = dict(ids)
    free = (i for i in range(101) if i not in special.values())
    ids.update((w, next(free)) for w in WORDS + ["\n"])
    one = lambda name, type_: {"SpecialToken": {"id": name, "type_id": type_}}
    text = lambda which, type_: {"Sequence": {"id": which, "type_id": type_}}
    begin, end = ends
    single = ([one(begin, 0)] if begin else []) + [text("A", 0)] + ([one(end, 0)] if end else [])
    second = [text("B", int(types))] + ([one(end, int(types))] if end else [])
    between = [one(end, 0)] if kind in ("roberta", "xlm-roberta", "bart") else []
    used = sorted({e for e in ends if e})
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": n, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for n, i in sorted(special.items(), key=lambda x: x[1])],
        "normalizer": None,
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": single + between + second,
                           "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in used}},
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": dict(sorted(ids.items(), key=lambda x: x[1])), "unk_token": roles["unk"]}}
    with open(f"{folder}/tokenizer.json", "w") as f:
        json.dump(tokenizer, f)
    with open(f"{folder}/tokenizer_config.json", "w") as f:
        json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 24,
                   **{f"{r}_token": n for r, n in roles.items()}}, f)


# ---- Hecate ----

def fine_tune(hecate, folder, model, task, more, steps, case):
    out, texts = f"{folder}/{case}", f"{folder}/texts"
    shutil.rmtree(out, ignore_errors=True)
    files = {"classify": ["labels.tsv"], "answer": ["squad.json"], "seq2seq": ["pairs.tsv"], "lm": ["a.txt"],
             "mlm": ["a.txt"], "translate": ["a.txt", "b.txt"]}[task]
    if case.startswith("whisper"):
        files = ["sounds.tsv"]
    command = [hecate, "train", "--from", model, "--task", task, "--out", out, "--steps", str(steps), "--quiet",
               "--report-every", "10", "--lr", "1e-3", "--threads", "1", "--max-length", "24", "--stride", "6", "--dropout", "0",
               "--attention-dropout", "0", "--activation-dropout", "0", "--dump-batches", f"{folder}/batches.jsonl",
               "--train", *(f"{texts}/{f}" for f in files), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr.strip()
    return out


# ---- Transformers ----

def load(path):
    with open(f"{path}/config.json") as f:
        config = json.load(f)
    kind = getattr(transformers, config["architectures"][0])
    model, report = kind.from_pretrained(path, dtype=torch.float32, attn_implementation="eager",
                                         output_loading_info=True)
    if not config.get("tie_word_embeddings", True):  # this bias is not used then: the output has its own
        report["missing_keys"] = set(report["missing_keys"]) - {"lm_head.bias", "cls.predictions.bias"}
    unused = {k: sorted(v) for k, v in report.items() if v}
    assert not unused, f"tensors do not fit: {unused}"
    if model.config.pad_token_id is None:  # the id that Hecate pads batches with
        model.config.pad_token_id = 0
    if config["model_type"] == "whisper":  # the class does not train it, but from_pretrained loses that setting
        model.model.encoder.embed_positions.requires_grad_(False)
    return model.eval(), config  # eval: no dropout


def mask(lengths, n):
    return (torch.arange(n)[None, :] < torch.tensor(lengths)[:, None]).long()


def forward(model, batch):
    given = {}
    if "features" in batch:
        return model(input_features=torch.tensor(batch["features"]),
                     decoder_input_ids=torch.tensor(batch["decoder_ids"])), None
    if "ids" in batch:
        ids = torch.tensor(batch["ids"])
        given = {"input_ids": ids, "attention_mask": mask(batch["lengths"], ids.shape[1])}
        if "types" in batch:
            given["token_type_ids"] = torch.tensor(batch["types"])
        if "decoder_ids" in batch:
            if model.__class__.__name__.endswith(("ForConditionalGeneration", "MTModel")):
                given["decoder_input_ids"] = torch.tensor(batch["decoder_ids"])
            else:  # Transformers itself shifts the text by one for the decoder
                pass
    else:
        ids = torch.tensor(batch["decoder_ids"])
        given = {"input_ids": ids, "attention_mask": mask(batch["decoder_lengths"], ids.shape[1])}
    return model(**given), given["attention_mask"]


def loss_of(model, batch, smoothing):
    if "features" in batch and smoothing == 0:  # let Transformers make the decoder input and the loss from the labels
        wanted = torch.tensor(batch["targets"])
        n = int((wanted != -100).sum())
        loss = model(input_features=torch.tensor(batch["features"]), labels=wanted).loss * n
        return loss, loss.item(), n
    out, seen = forward(model, batch)
    wanted = torch.tensor(batch["targets"])
    if "start_logits" in out:
        places = []
        for logits, at in [(out.start_logits, wanted[:, 0]), (out.end_logits, wanted[:, 1])]:
            # Padding cannot be an answer. Hecate masks it; in the usual recipe the model must learn it.
            logits = logits.masked_fill(seen == 0, -1e30)
            places.append(F.cross_entropy(logits, at, reduction="sum"))
        return sum(places), sum(places).item(), 2 * wanted.shape[0]
    return cross_entropy(out.logits.reshape(-1, out.logits.shape[-1]), wanted.flatten(), smoothing)


def optimizer_of(model, s):
    """Weight decay applies to matrices. Tied tables are one parameter. Computed tables are not trained."""
    matrices, rest = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (matrices if p.dim() > 1 and name != "final_logits_bias" else rest).append(p)
    return torch.optim.AdamW([{"params": matrices, "weight_decay": s["weight_decay"]},
                              {"params": rest, "weight_decay": 0.0}], lr=0.0, betas=(s["beta1"], s["beta2"]), eps=s["eps"])


def freeze_padding(model, config):
    """Keeps the embedding of the padding unchanged, as Hecate does, also if the output uses the same table."""
    pad, eos = config.get("pad_token_id"), config.get("eos_token_id")
    if pad is None or pad == eos:
        return
    for p in {id(t.weight): t.weight for t in model.modules() if isinstance(t, torch.nn.Embedding)
              and t.num_embeddings == config["vocab_size"]}.values():
        p.grad[pad] = 0


def losses(out, first, batches, most=None):
    """Yields the reports of the run in `out`, each with the loss of Transformers, which starts from the model `first`."""
    with open(f"{out}/train.json") as f:
        s = json.load(f)
    assert s["schedule"] != "noam" and s["accumulate"] == 1, s
    with open(f"{out}/log.jsonl") as f:
        reports = [json.loads(line) for line in f]
    model, config = load(first)
    if hasattr(model, "final_logits_bias"):  # a constant buffer in Transformers, a trained parameter in Hecate
        bias = model._buffers.pop("final_logits_bias")
        model.register_parameter("final_logits_bias", torch.nn.Parameter(bias))
    optimizer = optimizer_of(model, s)
    step, lines = 0, open(batches)
    for report in reports:
        if most is not None and report["step"] > most:
            break
        total, count = 0.0, 0
        while step < report["step"]:
            step += 1
            batch = json.loads(lines.readline())
            assert batch["step"] == step
            loss, plain, n = loss_of(model, batch, s["label_smoothing"])
            optimizer.zero_grad()
            (loss / n).backward()
            freeze_padding(model, config)
            if s["clip"] > 0:
                torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], s["clip"])
            for group in optimizer.param_groups:
                group["lr"] = rate(s, None, step)
            optimizer.step()
            total, count = total + plain, count + n
        assert count == report["targets"], f"{count} targets, Hecate counted {report['targets']}"
        yield report, total / count


def compare_losses(out, batches, within):
    worst, reports = 0.0, []
    for report, theirs in losses(out, f"{out}/start", batches):
        worst = max(worst, abs(report["loss"] - theirs) / theirs)
        reports.append(report)
    assert worst <= within, f"losses are {100 * worst:.4f} % apart"
    return worst, reports[-1]["step"], reports


def compare_saved(hecate, out, batches):
    """Compares the saved model in both, with the first row of the last batch."""
    model, config = load(out)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out) if config["model_type"] != "qwen2" \
        else transformers.PreTrainedTokenizerFast.from_pretrained(out)
    text = "red bird sees the blue stone"
    ours = json.loads(subprocess.run([hecate, "tokenize", "-m", out, "--json", text], capture_output=True,
                                     text=True, check=True).stdout)
    assert tokenizer(text)["input_ids"] == ours["ids"], (tokenizer(text)["input_ids"], ours)
    with open(batches) as f:
        batch = json.loads(f.readlines()[-1])
    one = {k: (v[:1] if isinstance(v, list) else v) for k, v in batch.items()}
    for key, length in [("ids", "lengths"), ("types", "lengths"), ("decoder_ids", "decoder_lengths")]:
        if key in one:
            one[key] = [one[key][0][:one[length][0]]]
    say = lambda key: ",".join(map(str, one[key][0]))
    if "features" in one:
        numpy.save(f"{out}/features.npy", numpy.array(one["features"], dtype=numpy.float32)[0])
        options = ["--features", f"{out}/features.npy", "--decoder-ids", say("decoder_ids")]
    else:
        options = ["--ids", say("ids" if "ids" in one else "decoder_ids")]
    if "types" in one:
        options += ["--type-ids", say("types")]
    if "ids" in one and "decoder_ids" in one:
        options += ["--decoder-ids", say("decoder_ids")]
    subprocess.run([hecate, "forward", "-m", out, *options, "--out", f"{out}/forward.safetensors"], check=True,
                   capture_output=True)
    got = load_file(f"{out}/forward.safetensors")
    with torch.no_grad():
        want, _ = forward(model, one)
    worst = 0.0
    for name in ["logits", "start_logits", "end_logits"]:
        assert (name in want) == (name in got), name
        if name in want:
            worst = max(worst, ((want[name] - got[name]).abs().max() / want[name].abs().max()).item())
    assert worst <= 1e-4, f"logits are off by {worst:.2g} of the largest"
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hecate")
    parser.add_argument("models")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--within", type=float, default=0.001)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(f"{args.folder}/texts", exist_ok=True)
    write_texts(f"{args.folder}/texts", args.seed)
    write_sounds(f"{args.folder}/texts", args.seed)
    passed = failed = 0
    for case, (name, task, more) in CASES.items():
        if args.only not in case:
            continue
        model = f"{args.folder}/from-{case}"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(f"{args.models}/{name}", model)
        os.unlink(f"{model}/expected.safetensors")
        with open(f"{model}/config.json") as f:
            write_tokenizer(model, json.load(f))
        if "--language" in more:
            make_multilingual(model)
        try:
            out = fine_tune(args.hecate, args.folder, model, task, more, args.steps, case)
            worst, steps, reports = compare_losses(out, f"{args.folder}/batches.jsonl", args.within)
            logits = compare_saved(args.hecate, out, f"{args.folder}/batches.jsonl")
            print(f"{case:24} {steps} steps: loss {reports[0]['loss']:.3f} to {reports[-1]['loss']:.3f}, "
                  f"{100 * worst:.5f} % apart; saved: logits {logits:.1e}", flush=True)
            passed += 1
        except Exception as error:  # noqa: BLE001 report it and continue with the next case
            print(f"{case:24} FAILED: {error!s:.600}", flush=True)
            failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
