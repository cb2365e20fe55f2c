"""Compares hecate with Transformers on whole models: prints the table, runs the program, compares tensors and searches.

The tensors of `hecate forward` are compared with Transformers in float64 with eager attention. The allowed error is
2e-5 of the largest number in each tensor, or twice the error of Transformers in float32, but at most 1e-4 (see
docs/numerics.md). Searches are compared with Transformers in float32: tokens may first differ only at a decision of
the reference with a margin below 1e-4."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "goldens"), os.path.join(HERE, "models", "real")]
from decode import Margin  # noqa: E402

NUMBERS = 2e-5
MARGIN = 1e-4


class Wrong(Exception):
    pass


class Table:
    """Prints the rows as they are done. The last row counts them."""

    def __init__(self):
        self.passed = self.failed = 0
        self.row("model", "task", "compared", "largest difference", "")

    @staticmethod
    def row(*cells):
        print("{:<22}  {:<12}  {:<58}  {:<24}  {}".format(*cells), flush=True)

    def check(self, model, task, work):
        since = time.monotonic()
        try:
            compared, largest = work()
            self.passed += 1
            self.row(model, task, compared, largest, f"ok, {time.monotonic() - since:.0f} s")
        except Wrong as error:
            self.failed += 1
            self.row(model, task, " ".join(str(error).split()), "", "FAILED")
        except Exception as error:  # continue with the next row
            self.failed += 1
            self.row(model, task, f"{type(error).__name__}: {error}", "", "FAILED")


class Hecate:
    def __init__(self, program):
        self.program = program

    def __call__(self, command, *words, lines=None):
        """Runs a command and returns its output. A missing command and a failing command give different errors."""
        if subprocess.run([self.program, command, "--help"], capture_output=True).returncode:
            raise Wrong(f"hecate has no command {command}")
        run = subprocess.run([self.program, command, *map(str, words)], capture_output=True, text=True,
                             input=None if lines is None else "".join(line + "\n" for line in lines),
                             stdin=subprocess.DEVNULL if lines is None else None)
        if run.returncode:
            raise Wrong(f"hecate {command} failed: {run.stderr.strip()[:300]}")
        return run.stdout

    def json_lines(self, command, *words, lines):
        got = [json.loads(x) for x in self(command, *words, "--json", lines=lines).splitlines()]
        if len(got) != len(lines):
            raise Wrong(f"hecate {command} wrote {len(got)} lines for {len(lines)}")
        return got

    def forward(self, folder, **given):
        words = [w for name, ids in given.items() if isinstance(ids, list)
                 for w in ("--" + name.replace("_", "-"), ",".join(map(str, ids)))]
        with tempfile.TemporaryDirectory() as at:
            if "features" in given:
                np.save(os.path.join(at, "features.npy"), given["features"])
                words += ["--features", os.path.join(at, "features.npy")]
            out = os.path.join(at, "out.safetensors")
            self("forward", "-m", folder, *words, "--out", out)
            return load_file(out)


# ---- comparisons ----


def tensors(out):
    """The tensors of Transformers, by their names in `hecate forward`."""
    out = dict(out)
    states = out.get("decoder_hidden_states", out.get("hidden_states"))
    out.setdefault("last_hidden_state", states[-1])
    if "encoder_attentions" in out:
        out["attentions"] = out["encoder_attentions"]
    flat = {}
    for name, value in out.items():
        if isinstance(value, (tuple, list)):
            flat |= {f"{name}.{i}": v.double().numpy() for i, v in enumerate(value) if isinstance(v, torch.Tensor)}
        elif isinstance(value, torch.Tensor):
            flat[name] = value.double().numpy()
    return flat


def distance(got, want):
    """The largest difference, relative to the largest number in its tensor, and the name of the tensor."""
    worst, where = 0.0, ""
    for name, value in got.items():
        if name not in want:
            raise Wrong(f"Transformers gives no {name}")
        if value.shape != want[name].shape:
            raise Wrong(f"{name} is {value.shape}, not {want[name].shape}")
        off = float(np.abs(value - want[name]).max() / np.abs(want[name]).max())
        if not off <= worst:
            worst, where = off, name
    return worst, where


def all_numbers(hecate, folder, model, inputs):
    """Compares `hecate forward` for each input: (inputs of hecate, keyword arguments of Transformers)."""
    worst, where, seen, single = 0.0, "", 0, 0.0
    for ours, theirs in inputs:
        got, found = hecate.forward(folder, **ours), []
        for to in (torch.float32, torch.float64):
            given = {k: v.to(to) if v.is_floating_point() else v for k, v in theirs.items()}
            with torch.no_grad():
                found.append(tensors(model.to(to)(**given, output_attentions=True, output_hidden_states=True)))
        for name in got:
            off = distance({name: got[name]}, found[1])[0]
            theirs_off = distance({name: found[0][name]}, found[1])[0]
            if not off <= min(MARGIN, max(NUMBERS, 2 * theirs_off)):
                raise Wrong(f"{name} is off by {off:.2g} of the largest, PyTorch in f32 by {theirs_off:.2g}")
            seen, single = seen + 1, max(single, theirs_off)
            if off >= worst:
                worst, where = off, name
    model.float()
    if not seen:
        raise Wrong("hecate forward gives no number")
    return f"{seen} tensors of {len(inputs)} inputs ({where} the worst)", f"{worst:.1e}; PyTorch f32 {single:.1e}"


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def searches(texts, ours, theirs):
    """Compares searches. theirs(text) → (output, score or None, smallest margin of a decision)."""
    equal = undecided = 0
    largest = 0.0
    for text, (got, score) in zip(texts, ours):
        want, want_score, margin = theirs(text)
        if got != want:
            if margin >= MARGIN:
                at = first_difference(got, want)
                raise Wrong(f"{text[:60]!r}: {got[at:at + 3]} instead of {want[at:at + 3]} at {at}, "
                            f"margin {margin:.2g}")
            undecided += 1
            continue
        equal += 1
        if want_score is not None and score is not None:
            largest = max(largest, abs(score - want_score))
    if largest > MARGIN:
        raise Wrong(f"a score is off by {largest:.2g}")
    return f"{equal} equal, {undecided} undecided", f"{largest:.1e} (score)" if largest else "none"


def written(model, tokenizer, inputs, **options):
    """Runs the search of Transformers: returns the ids, the score and the smallest margin."""
    with torch.no_grad(), Margin() as margin:
        out = model.generate(**inputs, do_sample=False, output_scores=True, return_dict_in_generate=True, **options)
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    ids = out.sequences[0].tolist()[start:]
    score = out.sequences_scores[0].item() if options.get("num_beams", 1) > 1 else None
    return ids, score, margin.least


# ---- encoder-decoder models ----


def encoder_decoder(hecate, folder, table, lines, few, words, most, what, command="translate"):
    """Compares the tensors of a few lines (decoder input: words), then searches of at most `most` tokens for all lines."""
    name = os.path.basename(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()

    def forward():
        given = [tokenizer(x, return_tensors="pt").input_ids for x in lines[:few]]
        target = [model.config.decoder_start_token_id, *words]
        return all_numbers(hecate, folder, model,
                           [({"ids": g[0].tolist(), "decoder_ids": target},
                             {"input_ids": g, "decoder_input_ids": torch.tensor([target])}) for g in given])

    def search(beams):
        got = hecate.json_lines(command, "-m", folder, "--beam", beams, "--max-tokens", most, lines=lines)

        def theirs(text):
            ids, score, margin = written(model, tokenizer, tokenizer(text, return_tensors="pt"),
                                         num_beams=beams, max_new_tokens=most)
            return tokenizer.convert_ids_to_tokens(ids), score, margin
        said, largest = searches(lines, [(x["tokens"], x["score"]) for x in got], theirs)
        return f"tokens of {what}: {said}", largest
    table.check(name, "forward", forward)
    for row, beams in (("greedy", 1), ("beam 4", 4)):
        table.check(name, row, lambda: search(beams))
