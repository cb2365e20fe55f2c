"""synopses.py PACKAGES TRANSLATION OUT: converts two package lists of Debian to train.tsv, valid.tsv, test.tsv

Also writes test.src, test.ref and test.first: descriptions, synopses, and the first sentence of each description as a
baseline."""
import hashlib
import os
import re
import sys

LONGEST = 1000  # characters of a description that are kept; later text rarely says what the package is


def stanzas(file):
    """Yields each paragraph of the list as {field: text}. Continuation lines keep their first space."""
    fields, name = {}, None
    for line in file:
        line = line.rstrip("\n")
        if not line:
            if fields:
                yield fields
            fields, name = {}, None
        elif line[0] in " \t":
            fields[name] += "\n" + line
        else:
            name, _, text = line.partition(":")
            fields[name] = text.strip()
    if fields:
        yield fields


def flat(lines):
    """A description as one line. A long one is cut at the end of a sentence."""
    text = " ".join(" ".join("" if line.strip() == "." else line for line in lines).split())
    if len(text) > LONGEST:
        ends = [m.end() for m in re.finditer(r"[.!?:](?= )", text[:LONGEST])]
        text = text[:ends[-1]] if ends else ""
    return text


def first_sentence(text):
    m = re.match(r".*?[.!?](?= [A-Z(\"']|$)", text)
    return m[0] if m else text


def same(text, package):
    """A key that is equal for near-duplicates: the words without digits and without the name of the package."""
    text = text.lower().replace(package.lower(), "")
    return " ".join(re.findall(r"[a-z]{2,}", text))


def stem(source):
    """The name of a source without its version: gcc-11 and gcc-12 give the same."""
    return re.sub(r"[-.]?\d[\d.]*", "", source)


class Groups:
    """Disjoint sets that can be joined (union-find)."""

    def __init__(self):
        self.parent = {}

    def find(self, x):
        self.parent.setdefault(x, x)
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def join(self, a, b):
        self.parent[self.find(a)] = self.find(b)


def pairs(packages, translation):
    """Returns [(source, package, description, synopsis)] without duplicate pairs."""
    sources, found, seen = {}, [], set()
    for s in stanzas(packages):
        sources[s["Package"]] = s.get("Source", s["Package"]).split()[0]
    for s in stanzas(translation):
        synopsis, *lines = s.get("Description-en", "").split("\n")
        name, text = s["Package"], flat(lines)
        synopsis = " ".join(synopsis.split())
        if name not in sources or len(text) < 60 or len(synopsis) < 8 or "\t" in text + synopsis:
            continue
        if re.search(r"transitional|dummy package", synopsis + text[:200], re.I):
            continue
        if (text, synopsis) not in seen:
            seen.add((text, synopsis))
            found.append((sources[name], name, text, synopsis))
    return found


def split(found):
    """Returns {part: pairs}. Sources with the same text form a group. The hash of its name assigns a group to a part."""
    groups = Groups()
    for source, name, text, _ in found:
        groups.join(("source", source), ("stem", stem(source)))
        groups.join(("source", source), ("text", same(text, name)[:160]))
    parts, sizes = {"train": [], "valid": [], "test": []}, {}
    least = {}
    for source, *_ in found:
        root = groups.find(("source", source))
        least[root] = min(least.get(root, source), source)
        sizes[root] = sizes.get(root, 0) + 1
    for pair in found:
        root = groups.find(("source", pair[0]))
        place = int(hashlib.sha256(least[root].encode()).hexdigest(), 16) % 100
        # A very large group of similar sources is only for training.
        part = "train" if place >= 6 or sizes[root] > 200 else "valid" if place < 2 else "test"
        parts[part].append(pair)
    return parts, sizes


def write(out, parts):
    os.makedirs(out, exist_ok=True)
    for name, part in parts.items():
        with open(os.path.join(out, name + ".tsv"), "w", encoding="utf-8") as f:
            f.write("".join(f"{text}\t{synopsis}\n" for _, _, text, synopsis in part))
    for ending, column in (("src", lambda p: p[2]), ("ref", lambda p: p[3]), ("first", lambda p: first_sentence(p[2]))):
        with open(os.path.join(out, "test." + ending), "w", encoding="utf-8") as f:
            f.write("".join(column(p) + "\n" for p in parts["test"]))


def self_test():
    packages = ["Package: gcc-11\n", "\n", "Package: libx1\n", "Source: x (1.2)\n", "\n", "Package: old\n", "\n"]
    text = "A compiler that turns programs into code for many machines. It is the one of GNU, version {}."
    translation = []
    for name, version in (("gcc-11", 11), ("libx1", 1)):
        translation += [f"Package: {name}\n", f"Description-en: compiler number {version}\n",
                        f" {text.format(version)}\n", " .\n", "  * and a list\n", "\n"]
    translation += ["Package: old\n", "Description-en: transitional package\n", f" {text}\n"]
    found = pairs(packages, translation)
    assert [(p[0], p[1], p[3]) for p in found] == [("gcc-11", "gcc-11", "compiler number 11"),
                                                   ("x", "libx1", "compiler number 1")], found
    assert found[0][2].endswith("version 11. * and a list"), found[0][2]
    assert first_sentence(found[0][2]) == "A compiler that turns programs into code for many machines."
    parts, _ = split(found)  # near-duplicates: on one side
    assert sorted(map(len, parts.values())) == [0, 0, 2], parts
    assert stem("gcc-11") == stem("gcc-12") == "gcc" and stem("libx") == "libx"
    assert len(flat(["word " * 100 + "end. " + "word " * 200])) == 504
    print("synopses: the parts work")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    packages, translation, out = sys.argv[1:]
    with open(packages, encoding="utf-8") as a, open(translation, encoding="utf-8") as b:
        found = pairs(a, b)
    parts, sizes = split(found)
    write(out, parts)
    for name, part in parts.items():
        print(f"{out}/{name}.tsv: {len(part)} pairs, {len({p[0] for p in part})} sources, "
              f"{sum(len(p[2]) for p in part) / len(part):.0f} → {sum(len(p[3]) for p in part) / len(part):.0f} characters")
    print(f"{len(sizes)} groups of sources that say the same; the largest has {max(sizes.values())} pairs")
    print("licence: descriptions are part of each package's packaging and under its licence (debian/copyright), "
          "all of them free by the Debian Free Software Guidelines")


if __name__ == "__main__":
    main()
