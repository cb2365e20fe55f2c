#!/usr/bin/env python3
"""Exact matches and F1 of `hecate answer` on questions of SQuAD 1.1, by SQuAD's own rules: small letters, no
punctuation, no articles; the best of a question's answers counts.

    tools/recipes/squad_score.py HECATE DIR FILE.json [--most N]      N: of the paragraphs, spread over the file"""
import argparse
import collections
import json
import re
import string
import subprocess
import sys
import tempfile


def words(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def f1(got, want):
    a, b = words(got), words(want)
    shared = sum((collections.Counter(a) & collections.Counter(b)).values())
    return 2 * shared / (len(a) + len(b)) if shared else 0.0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("hecate")
    p.add_argument("folder")
    p.add_argument("file")
    p.add_argument("--most", type=int, default=0)
    a = p.parse_args()
    with open(a.file, encoding="utf-8") as f:
        paragraphs = [p for article in json.load(f)["data"] for p in article["paragraphs"] if p["qas"]]
    if a.most:
        paragraphs = paragraphs[::max(1, len(paragraphs) // a.most)][:a.most]
    exact = total = 0
    sum_f1 = 0.0
    for paragraph in paragraphs:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as context:
            context.write(paragraph["context"])
            context.flush()
            asked = [" ".join(q["question"].split()) for q in paragraph["qas"]]
            run = subprocess.run([a.hecate, "answer", "-m", a.folder, "--context", context.name, "--most", "30", "--json"],
                                 input="".join(q + "\n" for q in asked), capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        found = [json.loads(line)["answer"] for line in run.stdout.splitlines()]
        if len(found) != len(asked):
            sys.exit(f"{len(found)} answers to {len(asked)} questions")
        for got, q in zip(found, paragraph["qas"]):
            wanted = [x["text"] for x in q["answers"]]
            exact += max(words(got) == words(w) for w in wanted)
            sum_f1 += max(f1(got, w) for w in wanted)
            total += 1
    print(f"{total} questions: exact {100 * exact / total:.2f}, F1 {100 * sum_f1 / total:.2f}")


if __name__ == "__main__":
    main()
