#!/usr/bin/env python3
"""Compares BLEU, chrF and ROUGE-L of `hecate score` with the installed sacrebleu and rouge-score, on the special cases of
the golden file and on new random corpora.

    parity_score.py PROGRAM [--seed N] [--rounds N]
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "goldens"))
from score import ODD, random_corpus, scores  # noqa: E402

NEAR = 1e-9


def program_scores(program, folder, pairs):
    """Scores by the program. Corpora with newlines inside a text are tested with the golden file, through the library."""
    for name, side in (("hypotheses", 0), ("references", 1)):
        (folder / name).write_bytes("".join(p[side] + "\n" for p in pairs).encode("utf-8"))
    out = subprocess.run([program, "score", folder / "hypotheses", folder / "references", "--rouge", "--json"],
                         check=True, capture_output=True)
    found = json.loads(out.stdout)
    return found["bleu"], found["chrf"], found["rouge_l"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    corpora = [c for c in ODD.values() if not any("\n" in t for p in c for t in p)]
    corpora += [random_corpus(rng) for _ in range(arguments.rounds)]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for pairs in corpora:
            ours, theirs = program_scores(arguments.program, Path(folder), pairs), scores(pairs)
            for a, b in zip(ours, theirs):
                worst = max(worst, abs(a - b))
                if not abs(a - b) <= NEAR:
                    sys.exit(f"BLEU, chrF, ROUGE-L are {ours}, they say {theirs}, of {pairs!r}")
    print(f"{len(corpora)} corpora, the largest difference is {worst:.1e}")


if __name__ == "__main__":
    main()
