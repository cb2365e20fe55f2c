#!/usr/bin/env python3
"""Exact match and F1 of `hecate answer` on questions of SQuAD 1.1, by the rules of SQuAD: lower case, without punctuation
and articles, compared with the best of the reference answers.

    tools/recipes/squad_score.py HECATE DIR FILE.json [--most N]      N: only N paragraphs, spread over the file"""
import argparse
import collections
import json
import re
import string
import subprocess
import sys


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
    asked = [(q, p["context"]) for p in paragraphs for q in p["qas"]]
    # One line per question. Line ends in a text become spaces of the same length, so offsets do not change.
    plain = lambda text: re.sub(r"[\t\r\n]", " ", text)
    run = subprocess.run([a.hecate, "answer", "-m", a.folder, "--most", "30", "--json"], stdout=subprocess.PIPE, text=True,
                         input="".join(f"{plain(q['question'])}\t{plain(context)}\n" for q, context in asked))
    if run.returncode:
        sys.exit(run.returncode)
    found = [json.loads(line)["answer"] for line in run.stdout.rstrip("\n").split("\n")]
    if len(found) != len(asked):
        sys.exit(f"{len(found)} answers to {len(asked)} questions")
    exact, sum_f1, total = 0, 0.0, len(asked)
    for got, (q, _) in zip(found, asked):
        wanted = [x["text"] for x in q["answers"]]
        exact += max(words(got) == words(w) for w in wanted)
        sum_f1 += max(f1(got, w) for w in wanted)
    print(f"{total} questions: exact {100 * exact / total:.2f}, F1 {100 * sum_f1 / total:.2f}")


if __name__ == "__main__":
    main()
