#!/usr/bin/env python3
"""Compares `hecate translate` with the installed Transformers on one model directory.

    tools/parity_decode.py HECATE DIR [--lines FILE] [--most N]

Both translate each line, greedily and with beam search with several options. The texts must be equal and the scores
within 1e-4. If they are not, the line fails, unless some decision of the reference had a margin below 1e-4: then the
line counts as undecided.
The last line is "N passed, N failed, N undecided"."""
import argparse
import json
import os
import subprocess
import sys
import warnings

import torch
import transformers
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens"))
from decode import Margin  # noqa: E402

LINES = """The file could not be opened.
Please enter your name and your password.
Where is the nearest station?
I would like a cup of coffee, please.
The weather is nice today, isn't it?
This option is not available on your system.
Click the button to save all changes.
He has been living in Berlin for three years.
The package contains programs that read and write images.
Do you really want to delete the selected files?
one two three
Twenty-one thousand and seven
If an error occurs, the program prints a message and exits.
The children are playing in the garden behind the house.
Shows the number of lines, words and characters in each file.
She said that she would come as soon as she could.
You cannot insert a table here.
Réservé, naïve, Ω, 猫 and 🦊.
a
The quick brown fox jumps over the lazy dog, while the slow grey cat sleeps under the old oak tree.""".split("\n")

WAYS = [("greedy", ["--beam", "1"], dict(num_beams=1)),
        ("beam 4", ["--beam", "4", "--nbest", "4"], dict(num_beams=4, num_return_sequences=4)),
        ("beam 4, length penalty 0.6", ["--beam", "4", "--length-penalty", "0.6"],
         dict(num_beams=4, length_penalty=0.6)),
        ("beam 5, at most 12 tokens", ["--beam", "5", "--nbest", "2", "--max-tokens", "12"],
         dict(num_beams=5, num_return_sequences=2, max_new_tokens=12))]


def reference(model, tokenizer, line, options):
    """[(text, score or None)], and the smallest margin of a decision."""
    ids = tokenizer(line, return_tensors="pt")
    ids.pop("token_type_ids", None)
    with Margin() as margin:
        out = model.generate(**ids, **options, do_sample=False, output_scores=True, return_dict_in_generate=True)
    texts = tokenizer.batch_decode(out.sequences, skip_special_tokens=True)
    scores = out.sequences_scores.tolist() if options["num_beams"] > 1 else [None] * len(texts)
    return list(zip(texts, scores)), margin.least


def ours(program, folder, words, lines):
    run = subprocess.run([program, "translate", "-m", folder, "--json", *words], input="\n".join(lines) + "\n",
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return [[(one["text"], one["score"]) for one in json.loads(line)["nbest"]]
            for line in run.stdout.splitlines()]


def differs(got, want):
    if [text for text, _ in got] != [text for text, _ in want]:
        return f"{got[0][0]!r} instead of {want[0][0]!r}"
    for (_, a), (_, b) in zip(got, want):
        if b is not None and abs(a - b) > 1e-4:
            return f"score {a} instead of {b}"
    return None


def main():
    words = argparse.ArgumentParser()
    words.add_argument("hecate")
    words.add_argument("folder")
    words.add_argument("--lines")
    words.add_argument("--most", type=int, default=100)
    words = words.parse_args()
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(words.folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(words.folder, dtype=torch.float32).eval()
    lines = LINES
    if words.lines:
        with open(words.lines) as f:
            lines = [line.rstrip("\n") for line in f if line.strip()][:words.most]
    passed = failed = undecided = 0
    for name, flags, options in WAYS:
        found = ours(words.hecate, words.folder, flags, lines)
        for line, got in zip(lines, found):
            want, margin = reference(model, tokenizer, line, options)
            wrong = differs(got, want)
            if not wrong:
                passed += 1
            elif margin < 1e-4:
                undecided += 1
            else:
                failed += 1
                print(f"{name}: {line!r}: {wrong} (margin {margin:.2g})")
    print(f"{passed} passed, {failed} failed, {undecided} undecided")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
