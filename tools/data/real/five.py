"""five.py DATA PACKAGES TRANSLATION MANUALS: writes the corpora piglatin, sections and man into DATA

Each has train, valid and test files, which share no line. PACKAGES and TRANSLATION are package lists of Debian, MANUALS
is a folder with unpacked packages. The same input gives the same files.
"""
import gzip
import hashlib
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "en_de"))
import man  # noqa: E402
from synopses import pairs, split, stanzas  # noqa: E402


def write(folder, name, lines):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)


def pig_latin(word):
    """apple → appleway, string → ingstray."""
    start = re.match(r"[^aeiou]*", word).group()
    return word[len(start):] + start + ("ay" if start else "way")


def write_piglatin(folder, words):
    """Phrases of one to six words. No word of the test is in the training lines: the model must learn the rule."""
    draw = random.Random(1)
    words = sorted(words)
    draw.shuffle(words)
    held, known = words[:1500], words[1500:]
    for name, pool, n in [("train", known, 2000), ("valid", held[:500], 200), ("test", held[500:], 500)]:
        lines = []
        for _ in range(n):
            phrase = draw.choices(pool, k=draw.randint(1, 6))
            lines.append(" ".join(phrase) + "\t" + " ".join(map(pig_latin, phrase)))
        write(folder, name, lines)


def write_sections(folder, packages, found):
    """Section, tab, synopsis. Sections with fewer than 200 packages are left out."""
    section = {s["Package"]: s.get("Section", "").split("/")[-1] for s in stanzas(packages)}
    count = {}
    for _, package, *_ in found:
        count[section[package]] = count.get(section[package], 0) + 1
    for name, rows in split(found)[0].items():
        write(folder, name, [f"{section[package]}\t{synopsis}" for _, package, _, synopsis in rows
                             if section[package] and count[section[package]] >= 200])


def part(page):
    n = int(hashlib.sha256(page.encode()).hexdigest()[:8], 16) % 100
    return "test" if n < 4 else "valid" if n < 6 else "train"


def write_manuals(folder, root):
    """Manual pages as running text, an empty line between pages."""
    lines, seen = {"train": [], "valid": [], "test": []}, set()
    for path, _, names in sorted(os.walk(root)):
        if not re.search(r"/usr/share/man/man\d$", path):
            continue
        for name in sorted(names):
            try:
                with gzip.open(os.path.join(path, name), "rt", encoding="utf-8", errors="strict") as f:
                    page = man.blocks(f.read())
            except (OSError, UnicodeDecodeError):
                continue
            texts = [text for _, text in page or [] if text not in seen]
            seen.update(texts)
            if sum(map(len, texts)) > 500:
                lines[part(name.split(".")[0])] += texts + [""]
    for name, rows in lines.items():
        write(folder, name, rows)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    data, packages, translation, manuals = sys.argv[1:]
    with open(packages, encoding="utf-8") as f:
        packages = f.read().split("\n")
    with open(translation, encoding="utf-8") as f:
        found = pairs(packages, f)
    words = {w for _, _, text, _ in found for w in re.findall(r"\b[a-z]{3,10}\b", text)}
    write_piglatin(os.path.join(data, "piglatin"), {w for w in words if re.search("[aeiou]", w)})
    write_sections(os.path.join(data, "sections"), packages, found)
    write_manuals(os.path.join(data, "man"), manuals)


if __name__ == "__main__":
    main()
