#!/usr/bin/env python3
"""Makes the golden files of tests/test_decode.c and tests/test_decode_model.c: greedy and beam search of
Hugging Face Transformers, with many options.

    tools/goldens/decode.py FOLDER [--seed N] [--live]

Needs the torch, transformers and safetensors pinned in tools/peers.txt. Without --live: makes the committed
files of tests/golden. With --live: makes other models and more cases from the seed, for tools/parity.

decode.txt: searches of a model that is one formula (tests/support/formula.c computes the same).
decode_models.txt: searches of small random models, which are saved beside it as decode_NAME/. Lines:
  model NAME       the searches that follow are of decode_NAME
  search …         one call: vocab, ends (a count, then ids), beams, nbest, length penalty, early (0
                   false, 1 true, 2 never), min_tokens, max_tokens, no_repeat_ngram,
                   repetition_penalty, suppressed (a count, then ids), forced_bos, forced_eos,
                   renormalize, the source or prompt (a count, then ids)
  result …         nbest of them follow: score, count, ids
  warp …           temperature, top_k, top_p, min_p, two ids of a prompt, vocab, then the ids that
                   Transformers' logits warpers keep (a count, then ids)
translate.jsonl: translations of decode_text/, a model with a tokenizer. Each line: {"source", "greedy",
"beam": [{"text", "score"} …]}, the four best results of four beams."""
import argparse
import json
import os
import random
import sys
import warnings

import numpy as np
import tokenizers
import torch
import transformers
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.generation import logits_process
from transformers.modeling_outputs import CausalLMOutput

PINNED = "5.22.2"


def mix(h):
    """Mixes the bits of a 32-bit word (a hash)."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def formula(ids, vocab, end):
    """Logits after ids: a function of the first id and the last two. The end token becomes more likely with the length."""
    first, last = np.uint32(ids[0]), np.uint32(ids[-1])
    before = np.uint32(ids[-2]) if len(ids) > 1 else np.uint32(0)
    with np.errstate(over="ignore"):
        h = mix(np.uint32(first * np.uint32(31) + np.uint32(1)))
        h = mix(np.uint32(h + last * np.uint32(0x9E3779B1)))
        h = mix(np.uint32(h + (before % np.uint32(3)) * np.uint32(0x85EBCA77)))
        h = mix(h + np.arange(vocab, dtype=np.uint32) * np.uint32(0x27D4EB2F))
    x = (h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24) * np.float32(7)
    x[end] += np.float32(len(ids)) * np.float32(0.4) - np.float32(2)
    return x


class FormulaConfig(PretrainedConfig):
    model_type = "formula"

    def __init__(self, vocab_size=16, end=0, **rest):
        super().__init__(**rest)
        self.vocab_size, self.end = vocab_size, end


class Formula(PreTrainedModel, GenerationMixin):
    config_class = FormulaConfig
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__(config)
        self.dummy = torch.nn.Parameter(torch.zeros(1))
        self.post_init()

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **rest):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **rest):
        rows = [formula(row.tolist(), self.config.vocab_size, self.config.end) for row in input_ids]
        return CausalLMOutput(logits=torch.from_numpy(np.stack(rows))[:, None, :])


class Margin:
    """While entered, records the smallest difference between scores that were compared: the margin."""

    def __enter__(self):
        self.topk, self.argmax, self.least = torch.topk, torch.argmax, float("inf")

        def watched_argmax(x, **rest):
            torch.topk(x, 1, dim=-1)
            return self.argmax(x, **rest)
        torch.argmax = watched_argmax

        # With a small margin, another order of summation may choose another token.
        def watched(x, k, **rest):
            values = self.topk(x, min(k + 1, x.shape[-1]), **rest)[0]
            gaps = values[..., :-1] - values[..., 1:]
            gaps = gaps[values[..., 1:] > -1e8]
            if gaps.numel():
                self.least = min(self.least, float(gaps.min()))
            return self.topk(x, k, **rest)
        torch.topk = watched
        return self

    def __exit__(self, *error):
        torch.topk, torch.argmax = self.topk, self.argmax


def search(model, o, prompt):
    """One call of generate. Returns [(score, new ids)]."""
    config = GenerationConfig(
        decoder_start_token_id=getattr(model.config, "decoder_start_token_id", None),
        num_beams=o["beams"], num_return_sequences=o["nbest"], length_penalty=o["penalty"],
        early_stopping=[False, True, "never"][o["early"]], min_new_tokens=o["min"] or None,
        max_new_tokens=o["max"], no_repeat_ngram_size=o["ngram"], repetition_penalty=o["repetition"],
        renormalize_logits=o["renormalize"],
        suppress_tokens=o["suppress"] or None,
        forced_bos_token_id=None if o["bos"] < 0 else o["bos"],
        forced_eos_token_id=None if o["eos"] < 0 else o["eos"],
        eos_token_id=o["ends"], pad_token_id=o["ends"][0], use_cache=not isinstance(model, Formula), do_sample=False,
        return_dict_in_generate=True, output_scores=True, output_logits=True)
    out = model.generate(torch.tensor([prompt]), generation_config=config,
                         attention_mask=torch.ones(1, len(prompt), dtype=torch.long))
    begun = 1 if model.config.is_encoder_decoder else len(prompt)
    results = []
    for k in range(o["nbest"]):
        ids = out.sequences[k].tolist()[begun:]
        for i, token in enumerate(ids):
            if token in o["ends"]:
                ids = ids[:i + 1]
                break
        if o["beams"] > 1:
            score = float(out.sequences_scores[k])
        else:
            score = 0.0
            for i, token in enumerate(ids):
                forced = (o["bos"] >= 0 and begun + i == 1) or (o["eos"] >= 0 and i == o["max"] - 1)
                score += 0 if forced else float(torch.log_softmax(out.logits[i][0], -1)[token])
            score /= len(ids) ** o["penalty"]
        results.append((score, ids))
    return results


def draw_options(rng, vocab):
    beams = rng.choice([1, 2, 3, 4, 4, 5, 7])
    few = rng.random() < 0.15
    ends = rng.sample(range(vocab), 2 if few else 1)
    o = {"beams": beams, "nbest": rng.randint(1, beams), "penalty": rng.choice([1.0, 1.0, 0.0, 0.6, 2.0, -0.5]),
         "early": rng.randrange(3), "min": rng.choice([0, 0, 0, 4]), "max": rng.choice([1, 2, 9, 14, 14, 24]),
         "ngram": rng.choice([0, 0, 1, 2, 3]), "repetition": rng.choice([1.0, 1.0, 1.3, 0.8]),
         "suppress": rng.sample([i for i in range(vocab) if i not in ends], rng.choice([0, 0, 2])),
         "bos": -1, "eos": -1, "ends": ends}
    allowed = [i for i in range(vocab) if i not in o["suppress"] and i not in ends]
    if rng.random() < 0.2:
        o["bos"] = rng.choice(allowed)
    if rng.random() < 0.25:
        o["eos"] = ends[0]
    o["renormalize"] = rng.random() < 0.3
    # If no 1-gram may repeat, enough words must remain, or only tokens of probability zero are left.
    if o["ngram"] == 1:
        o["max"] = min(o["max"], vocab - 8)
    return o


def write_search(out, model, o, prompt):
    """Writes nothing and returns False if rounding could change the result."""
    with Margin() as margin:
        results = search(model, o, prompt)
    if margin.least < model.margin:
        return False
    out.write("search %d %d %s %d %d %g %d %d %d %d %g %d %s%d %d %d %d %s\n" % (
        model.config.vocab_size, len(o["ends"]), " ".join(map(str, o["ends"])), o["beams"], o["nbest"],
        o["penalty"], o["early"], o["min"], o["max"], o["ngram"], o["repetition"], len(o["suppress"]),
        "".join("%d " % i for i in o["suppress"]), o["bos"], o["eos"], o["renormalize"], len(prompt),
        " ".join(map(str, prompt))))
    for score, ids in results:
        out.write("result %.7g %d %s\n" % (score, len(ids), " ".join(map(str, ids))))
    return True


def write_searches(out, rng, count):
    for _ in range(count):
        vocab = rng.choice([23, 37, 64, 131, 200])
        o = draw_options(rng, vocab)
        prompt = [rng.randrange(vocab) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
        model = Formula(FormulaConfig(vocab_size=vocab, end=o["ends"][0]))
        model.margin = 1e-5
        write_search(out, model, o, prompt)


def make_marian(rng):
    """Odd sizes, weights so large that the output varies, and a more likely end token."""
    heads = rng.choice([1, 2, 3])
    width, vocab = heads * rng.choice([5, 8, 11]), rng.choice([47, 61, 83])
    model = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=vocab, d_model=width, encoder_layers=rng.choice([1, 2]), decoder_layers=rng.choice([1, 2]),
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=rng.choice([17, 24]),
        decoder_ffn_dim=rng.choice([17, 24]), max_position_embeddings=40, init_std=0.5, scale_embedding=True,
        activation_function=rng.choice(["relu", "swish"]), pad_token_id=vocab - 1, eos_token_id=0,
        decoder_start_token_id=vocab - 1, forced_eos_token_id=None, static_position_embeddings=True,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True))
    with torch.no_grad():
        model.model.shared.weight[vocab - 1] = 0
        model.final_logits_bias.normal_()
        model.final_logits_bias[0, 0] = 3.0
    return model


def make_gpt2(rng):
    heads = rng.choice([1, 2, 3])
    vocab = rng.choice([47, 61, 83])
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=vocab, n_embd=heads * rng.choice([5, 8]), n_layer=rng.choice([1, 2]), n_head=heads,
        n_inner=rng.choice([17, 24]), n_positions=48, initializer_range=0.6, bos_token_id=0, eos_token_id=0,
        pad_token_id=None))


def write_models(folder, rng, models, cases):
    skipped = written = 0
    with open(os.path.join(folder, "decode_models.txt"), "w") as out:
        for make, count in ((make_marian, models), (make_gpt2, models)):
            for i in range(count):
                torch.manual_seed(rng.getrandbits(32))
                model = make(rng).eval()
                model.margin = 1e-4
                name = f"{make.__name__[5:]}_{i}"
                model.save_pretrained(os.path.join(folder, "decode_" + name))
                out.write(f"model {name}\n")
                vocab = model.config.vocab_size
                for _ in range(cases):
                    o = draw_options(rng, vocab)
                    end = model.config.eos_token_id
                    o["ends"] = [end] + [e for e in o["ends"][1:] if e != end]
                    o["suppress"] = [s for s in o["suppress"] if s not in o["ends"]]
                    o["eos"] = end if o["eos"] >= 0 else -1
                    o["bos"] = -1 if o["bos"] in o["suppress"] + o["ends"] else o["bos"]
                    prompt = [rng.randrange(1, vocab - 1) for _ in range(rng.choice([1, 2, 5, 13]))]
                    good = write_search(out, model, o, prompt)
                    written, skipped = written + good, skipped + (not good)
    print(f"{written} searches of {2 * models} models; {skipped} skipped, because their margin is below 1e-4")


def write_warps(out, rng):
    for _ in range(120):
        vocab = rng.choice([5, 23, 64, 131, 500])
        prompt = [rng.randrange(vocab) for _ in range(2)]
        temperature = rng.choice([1.0, 0.7, 1.5])
        top_k = rng.choice([0, 0, 1, 4, 20])
        top_p = rng.choice([0.0, 0.3, 0.9, 0.99])
        min_p = rng.choice([0.0, 0.0, 0.05, 0.5])
        x = torch.from_numpy(formula(prompt, vocab, 0))[None]
        if temperature != 1:
            x = logits_process.TemperatureLogitsWarper(temperature)(None, x)
        if top_k:
            x = logits_process.TopKLogitsWarper(top_k)(None, x)
        if top_p:
            x = logits_process.TopPLogitsWarper(top_p)(None, x)
        if min_p:
            x = logits_process.MinPLogitsWarper(min_p)(None, x)
        left = torch.isfinite(x[0]).nonzero()[:, 0].tolist()
        out.write("warp %g %d %g %g %d %d %d %d %s\n" % (
            temperature, top_k, top_p, min_p, prompt[0], prompt[1], vocab, len(left), " ".join(map(str, left))))


SENTENCES = """The file could not be opened.
Please try again later.
Die Datei konnte nicht geöffnet werden.
Bitte versuchen Sie es später noch einmal.
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.
The quick brown fox jumps over the lazy dog.
She sells sea shells by the sea shore, does she not?
1, 2, 3 … 42 per cent of 3.14
Ω is a letter, 猫 is a cat and 🦊 is a fox.
a
  two  spaces  and a tab	here  
""".split("\n")


def make_tokenizer():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES, tokenizers.trainers.BpeTrainer(
        vocab_size=319, special_tokens=["</s>", "<unk>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens(["<pad>"])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
        clean_up_tokenization_spaces=False)


def teach(model, tokenizer):
    """Trains the model a little, so that it writes words: the target of each sentence is the next one."""
    batch = tokenizer(SENTENCES[:-1], return_tensors="pt", padding=True)
    labels = tokenizer(SENTENCES[1:-1] + SENTENCES[:1], return_tensors="pt", padding=True).input_ids
    labels[labels == tokenizer.pad_token_id] = -100
    adam = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(180):
        adam.zero_grad()
        model(**batch, labels=labels).loss.backward()
        model.model.shared.weight.grad[tokenizer.pad_token_id] = 0
        adam.step()
    model.eval()


def write_text_model(folder, rng):
    tokenizer = make_tokenizer()
    vocab = len(tokenizer)
    torch.manual_seed(rng.getrandbits(32))
    pad = tokenizer.pad_token_id
    assert pad == vocab - 1
    model = transformers.MarianMTModel(transformers.MarianConfig(
        vocab_size=vocab, d_model=24, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        init_std=0.1, dropout=0.0, scale_embedding=True, activation_function="relu", pad_token_id=pad,
        eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=0))
    teach(model, tokenizer)
    model.generation_config = GenerationConfig(
        num_beams=2, max_length=30, bad_words_ids=[[pad]], decoder_start_token_id=pad, eos_token_id=0,
        pad_token_id=pad, forced_eos_token_id=0)
    path = os.path.join(folder, "decode_text")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    with open(os.path.join(folder, "translate.jsonl"), "w") as out:
        for source in SENTENCES[:-1]:
            ids = tokenizer(source, return_tensors="pt")
            with Margin() as margin:
                greedy = model.generate(**ids, num_beams=1)
                beam = model.generate(**ids, num_beams=4, num_return_sequences=4, output_scores=True,
                                      return_dict_in_generate=True)
            if margin.least < 1e-4:
                continue
            text = tokenizer.batch_decode(beam.sequences, skip_special_tokens=True)
            json.dump({"source": source, "greedy": tokenizer.decode(greedy[0], skip_special_tokens=True),
                       "beam": [{"text": t, "score": float(s)} for t, s in zip(text, beam.sequences_scores)]},
                      out, ensure_ascii=False)
            out.write("\n")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("folder")
    words.add_argument("--seed", type=int, default=4)
    words.add_argument("--live", action="store_true")
    words = words.parse_args()
    if transformers.__version__ != PINNED:
        sys.exit(f"transformers {transformers.__version__} is not the pinned {PINNED}")
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.makedirs(words.folder, exist_ok=True)
    rng = random.Random(words.seed)
    with open(os.path.join(words.folder, "decode.txt"), "w") as out:
        write_searches(out, rng, 250 if words.live else 700)
        write_warps(out, rng)
    write_text_model(words.folder, random.Random(words.seed))
    write_models(words.folder, rng, 3 if words.live else 1, 60 if words.live else 100)


if __name__ == "__main__":
    main()
