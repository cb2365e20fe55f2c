#!/usr/bin/env python3
"""Runs `hecate forward` on folders that tools/goldens/models.py made and compares every tensor with that of
Transformers for the same ids and mask: hidden states, logits, attention weights.

    tools/parity_forward.py HECATE FOLDER

Prints for each model the largest difference, relative to the largest absolute value in its tensor; 1e-5 is allowed.
The last line counts the models."""
import os
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file

ALLOWED = 1e-5
TYPES = ("<f4", "<f8")  # the types in which NumPy saves features


def row(numbers):
    return ",".join(str(int(n)) for n in numbers)


def compare(program, folder):
    want = load_file(os.path.join(folder, "expected.safetensors"))
    worst, where, count = 0.0, "", 0
    source = want.get("features", want.get("ids"))
    for b in range(len(source)):
        features = tempfile.NamedTemporaryFile(suffix=".npy")
        if "features" in want:
            numpy.save(features, source[b:b + 1].astype(TYPES[b % len(TYPES)]))
            features.flush()
            words = ["--features", features.name]
        else:
            words = ["--ids", row(source[b]), "--mask", row(numpy.arange(len(source[b])) < want["length"][b])]
        for option, name in (("--type-ids", "types"), ("--decoder-ids", "decoder_ids")):
            if name in want:
                words += [option, row(want[name][b])]
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as out:
            subprocess.run([program, "forward", "-m", folder, *words, "--out", out.name], check=True)
            got = load_file(out.name)
        pairs = {"last_hidden_state": want.get("hidden"), "logits": want.get("logits"),
                 "pooler_output": want.get("pooled"), "encoder_last_hidden_state": want.get("memory")}
        if "start_logits" in got:
            pairs = {"start_logits": want["logits"][..., 0], "end_logits": want["logits"][..., 1]}
        pairs.update({k: v for k, v in want.items() if "attentions." in k})
        for name, value in pairs.items():
            if value is None:
                continue
            value = value[b:b + 1]
            assert got[name].shape == value.shape, f"{name} is {got[name].shape}, not {value.shape}"
            off = numpy.abs(got[name] - value).max() / numpy.abs(value).max()
            assert off <= ALLOWED, f"{name} is off by {off:.2g} of the largest"
            count += 1
            if off > worst:
                worst, where = off, name
    return f"{count} tensors, off by at most {worst:.1e} of the largest ({where})"


def main():
    program, folder = sys.argv[1:]
    passed = failed = 0
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        try:
            print(f"{entry.name}: {compare(program, entry.path)}")
            passed += 1
        except Exception as e:  # continue with the next model
            print(f"{entry.name}: FAILED: {type(e).__name__}: {e}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
