#!/usr/bin/env python3
"""Loads models that Hecate saved in Transformers (only with AutoTokenizer and the class that config.json names) and
compares the ids of texts, the logits, greedy and beam search. For Marian models, it also compares the translations of
CTranslate2 with those of Transformers.

    tools/parity_models.py FOLDER…       folders made by build/tests/saved_models, or their parents

Logits may differ by 1e-4 of the largest. The tokens of a search may first differ only where the margin of the
reference is below 1e-4. The last line counts the models."""
import json
import os
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoTokenizer

LOGITS = 1e-4
MARGIN = 1e-4


def load(path):
    with open(os.path.join(path, "config.json")) as f:
        config = json.load(f)
    kind = getattr(transformers, config["architectures"][0])
    model, report = kind.from_pretrained(
        path, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    unused = {k: sorted(v) for k, v in report.items() if v}
    assert not unused, f"tensors do not fit: {unused}"
    return model.eval(), config


def check_tokenizer(path, model_type):
    # For Qwen2, AutoTokenizer uses its own components and ignores those of tokenizer.json.
    kind = transformers.PreTrainedTokenizerFast if model_type == "qwen2" else AutoTokenizer
    tokenizer = kind.from_pretrained(path)
    with open(os.path.join(path, "texts.json")) as f:
        texts = json.load(f)
    for t in texts:
        ids = tokenizer(t["text"])["input_ids"]
        assert ids == t["ids"], f"{t['text']!r} is {ids}, Hecate says {t['ids']}"
    return tokenizer, [t["text"] for t in texts]


def check_logits(model, path):
    e = {k: v.long() if v.dtype == torch.int32 else v
         for k, v in load_file(os.path.join(path, "expected.safetensors")).items()}
    mask = lambda length, n: (torch.arange(n)[None, :] < length[:, None]).long()
    given = {}
    if "ids" in e:
        given = {"input_ids": e["ids"], "attention_mask": mask(e["length"], e["ids"].shape[1])}
        if "types" in e:
            given["token_type_ids"] = e["types"]
        if "decoder_ids" in e:
            given["decoder_input_ids"] = e["decoder_ids"]
    else:
        given = {"input_ids": e["decoder_ids"],
                 "attention_mask": mask(e["decoder_length"], e["decoder_ids"].shape[1])}
    with torch.no_grad():
        out = model(**given)
    got = out.logits if "logits" in out else torch.stack([out.start_logits, out.end_logits], -1)
    want = e["logits"]
    assert got.shape == want.shape, f"logits are {tuple(want.shape)}, not {tuple(got.shape)}"
    if got.dim() == 3:  # ignore rows of padding
        length = e.get("decoder_length", e.get("length"))
        keep = mask(length, got.shape[1]).bool()
        got, want = got[keep], want[keep]
    off = ((got - want).abs().max() / got.abs().max()).item()
    assert off <= LOGITS, f"logits are off by {off:.2g} of the largest"
    return off


def margin_at(model, ids, written, position):
    """The difference of the two best scores at the position where the two searches first differ."""
    if model.config.is_encoder_decoder:
        start = [model.config.decoder_start_token_id] + written[:position]
        given = {"input_ids": ids, "decoder_input_ids": torch.tensor([start])}
    else:
        given = {"input_ids": torch.cat([ids, torch.tensor([written[:position]], dtype=torch.long)], 1)}
    with torch.no_grad():
        logits = model(**given).logits[0, -1]
    if model.config.is_encoder_decoder:
        logits[model.config.pad_token_id] = -float("inf")
    best = logits.log_softmax(-1).topk(2).values
    return (best[0] - best[1]).item()


def check_ctranslate2(model, config, tokenizer, texts, path):
    import ctranslate2
    folder, whole = os.path.join(path, "ctranslate2"), path
    shutil.rmtree(folder, ignore_errors=True)
    if config.get("dtype", "float32") != "float32":
        # CTranslate2's converter computes the sinusoidal positions in the type of the weights. With 16-bit weights
        # the scores would be off by 4e-3, so it gets the same weights in f32.
        whole = os.path.join(path, "float32")
        shutil.copytree(path, whole, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.safetensors*", "float32"))
        model.save_pretrained(whole)
    ctranslate2.converters.TransformersConverter(whole).convert(folder)
    translator = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1, inter_threads=1)
    same = beamed = 0
    for text in texts:
        given = tokenizer(text, return_tensors="pt")
        tokens = tokenizer.convert_ids_to_tokens(given["input_ids"][0])
        for beams in (1, 4):
            with torch.no_grad():
                ids = model.generate(given["input_ids"], attention_mask=given["attention_mask"], num_beams=beams,
                                     max_length=24, length_penalty=1.0, early_stopping=False,
                                     forced_eos_token_id=None)[0].tolist()[1:]
            want = [i for i in ids if i not in (model.config.eos_token_id, model.config.pad_token_id)]
            out = translator.translate_batch([tokens], beam_size=beams, min_decoding_length=0, max_decoding_length=23,
                                             length_penalty=1.0)[0].hypotheses[0]
            got = tokenizer.convert_tokens_to_ids(out)
            # Only greedy search: the two libraries end beam search by different rules.
            beamed += beams > 1
            same += beams > 1 and got == want
            if got == want or beams > 1:
                continue
            first = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            margin = margin_at(model, given["input_ids"], want, first)
            assert margin < MARGIN, \
                f"{text!r}, greedy: CTranslate2 {got}, Transformers {want}, margin {margin:.2g}"
    return f"CTranslate2 agrees (beam 4 in {same} of {beamed})"


def check_search(model, path):
    """Compares greedy and beam search with the settings of generation_config.json."""
    with open(os.path.join(path, "texts.json")) as f:
        texts = json.load(f)
    seq2seq = model.config.is_encoder_decoder
    differ = 0
    for t in texts:
        ids = torch.tensor([t["ids"]])
        for name, beams in (("greedy", 1), ("beam4", 4)):
            with torch.no_grad():
                out = model.generate(ids, attention_mask=torch.ones_like(ids), num_beams=beams, do_sample=False,
                                     pad_token_id=model.config.pad_token_id)[0].tolist()
            want = out[1:] if seq2seq else out[ids.shape[1]:]
            if want == t[name]:
                continue
            first = next((i for i, (a, b) in enumerate(zip(t[name], want)) if a != b), min(len(t[name]), len(want)))
            margin = margin_at(model, ids, want, first)
            assert margin < MARGIN, f"{name} of {t['text']!r}: Hecate {t[name]}, Transformers {want}, margin {margin:.2g}"
            differ += 1
    return differ


def check(path):
    with open(os.path.join(path, "config.json")) as f:
        model_type = json.load(f)["model_type"]
    tokenizer, texts = check_tokenizer(path, model_type)
    if model_type == "hecate":
        try:
            transformers.AutoConfig.from_pretrained(path)
        except (ValueError, KeyError):
            return "Transformers refuses it, as expected"
        raise AssertionError("Transformers should refuse this model")
    model, config = load(path)
    name = os.path.basename(os.path.normpath(path))
    assert name.rpartition("-")[0] in ("", model_type), f"saved as {model_type}"
    off = check_logits(model, path)
    said = f"{config['architectures'][0]}, logits off by {off:.1e} of the largest"
    if model_type in ("marian", "gpt2"):
        check_search(model, path)
        said += ", greedy and beam 4 agree"
    if model_type == "marian":
        said += ", " + check_ctranslate2(model, config, tokenizer, texts, path)
    return said


def main():
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folders = []
    for folder in sys.argv[1:]:
        if os.path.exists(os.path.join(folder, "config.json")):
            folders.append(folder)
        else:
            folders += sorted(e.path for e in os.scandir(folder) if os.path.exists(os.path.join(e.path, "config.json")))
    passed = failed = 0
    for folder in folders:
        try:
            said = check(folder)
            passed += 1
            print(f"{folder}: {said}")
        except Exception as e:  # continue with the next folder
            failed += 1
            print(f"{folder}: FAILED: {type(e).__name__}: {e}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
