"""Reads the unpacked packages, cleans the pairs, splits them by document, and writes the corpus and a table.

    python3 build.py UNPACKED OUT
"""
import hashlib
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import clean
from sources import SOURCES, open_source, packages_of, read_packages

# Pairs of each source in the validation set, 2,000 in total. The test set has as many.
HELD_OUT = {"dictionary": 400, "office-help": 350, "manual": 250, "documents": 250, "user-help": 250,
            "descriptions": 200, "stories": 150, "mozilla": 50, "office": 0, "programs": 100}
# The maximum number of German texts kept for one English text, and the other way round.
MOST_OF_ONE = 2
# A document with more pairs is not held out, because the training set would lose too much.
LARGEST_HELD_OUT = 900


def rank(*words):
    """A pseudorandom number that is the same on every machine."""
    return int.from_bytes(hashlib.sha256("\0".join(words).encode()).digest()[:8], "big")


def gather(source, root, packages):
    """Returns ({document: [(en, de)]} of clean pairs, the number of dropped pairs by reason)."""
    documents, dropped = {}, Counter()
    for name, pairs in open_source(source, root, packages):
        good = []
        for en, de in pairs:
            de = clean.same_case(en, de)
            reason = clean.why_not(en, de)
            if reason:
                dropped[source, reason] += 1
            else:
                good.append((en, de))
        if good:
            documents.setdefault(name, []).extend(good)
    return documents, dropped


def worth_testing(en, de):
    return clean.is_sentence(en) and clean.is_sentence(de)


def hold_out(source, documents):
    """Assigns whole documents in shuffled order to valid and test in turn, until each has enough pairs."""
    wanted = HELD_OUT[source]
    chosen = {"valid": [], "test": []}
    count = {"valid": 0, "test": 0}
    # A line of the dictionary is a small document. A few extra lines cost nothing and make up for duplicates.
    enough = wanted * 2.5
    for name in sorted(documents, key=lambda n: rank(source, n)):
        split = min(count, key=lambda s: (count[s], s))
        if count[split] >= enough:
            break
        pairs = documents[name]
        good = sum(worth_testing(*p) for p in pairs)
        if good == 0 or len(pairs) > LARGEST_HELD_OUT:
            continue
        # One large document must not fill the share of a source.
        good = min(good, max(20, wanted // 4))
        chosen[split].append(name)
        count[split] += good
    return chosen


class Repeats:
    """Refuses a pair that was added before, or a text that already has too many translations."""

    def __init__(self):
        self.pairs, self.en, self.de = set(), Counter(), Counter()

    def add(self, a, b):
        if (a, b) in self.pairs or self.en[a] >= MOST_OF_ONE or self.de[b] >= MOST_OF_ONE:
            return False
        self.pairs.add((a, b))
        self.en[a] += 1
        self.de[b] += 1
        return True

    def knows_a_side(self, a, b):
        return a in self.en or b in self.de


_SMALL = frozenset("to the a an something somebody of in be".split())
COMMON = 4


def drop_rare_words(sources, dropped):
    """Keeps only those words and phrases of the dictionary that occur in the sentences of the sources."""
    count = Counter()
    for documents in sources.values():
        for pairs in documents.values():
            for en, de in pairs:
                if worth_testing(en, de):
                    count.update(set(clean.words(en)))
    documents = sources["dictionary"]
    for name, pairs in list(documents.items()):
        good = []
        for en, de in pairs:
            content = [w for w in clean.words(en) if w not in _SMALL]
            if clean.is_sentence(en) or all(count[w] >= COMMON for w in content):
                good.append((en, de))
        dropped["dictionary", "rare words"] += len(pairs) - len(good)
        if good:
            documents[name] = good
        else:
            del documents[name]


def split(sources, dropped):
    """Returns {"train" | "valid" | "test": [(source, en, de, document)]}. No text of valid and test, in either
    language, occurs in train."""
    out = {"train": [], "valid": [], "test": []}
    held = {source: hold_out(source, documents) for source, documents in sources.items()}
    repeats = Repeats()
    for source, documents in sources.items():
        away = set(held[source]["valid"]) | set(held[source]["test"])
        for name in documents:
            if name in away:
                continue
            for en, de in documents[name]:
                if repeats.add(clean.key(en), clean.key(de)):
                    out["train"].append((source, en, de, name))
                else:
                    dropped[source, "repeated"] += 1
    for part in ("valid", "test"):
        for source, documents in sources.items():
            fresh = []
            for name in held[source][part]:
                of_this = []
                for en, de in documents[name]:
                    a, b = clean.key(en), clean.key(de)
                    if not worth_testing(en, de) or repeats.knows_a_side(a, b):
                        continue
                    repeats.add(a, b)
                    of_this.append((source, en, de, name))
                of_this.sort(key=lambda p: rank("pick", p[1], p[2]))
                fresh += of_this[:max(20, HELD_OUT[source] // 4)]
            fresh.sort(key=lambda p: rank("pick", p[1], p[2]))
            out[part] += fresh[:HELD_OUT[source]]
    for part, pairs in out.items():
        pairs.sort(key=lambda p: rank("order", part, p[1], p[2]))
    return out, held


DESCRIPTIONS = "as-the-package"


def by_package(sources, parts, packages, root):
    """Lines of source, package, number of training pairs, licence."""
    homes = {source: packages_of(source, documents, root) for source, documents in sources.items()}
    count = Counter((source, homes[source][name]) for source, _, _, name in parts["train"])
    lines = []
    for (source, package), n in sorted(count.items(), key=lambda c: (list(SOURCES).index(c[0][0]), -c[1], c[0])):
        of_source = dict(packages.get(package, []))
        # The manual page of a package that is listed as a program has the licence of that package.
        licence = of_source.get(source) or ",".join(of_source.values()) or DESCRIPTIONS
        lines.append(f"{source} {package} {n} {licence}\n")
    return "".join(lines)


def table(sources, parts, packages):
    licences = {}
    for uses in packages.values():
        for source, licence in uses:
            licences.setdefault(source, set()).update(licence.split(","))
    licences["descriptions"] = {DESCRIPTIONS}
    lines = [f"{'source':<13} {'documents':>9} {'train':>8} {'sentences':>9} {'valid':>6} {'test':>6} "
             f"{'words en':>9} {'words de':>9}  licence"]
    total = Counter()
    for source, documents in sources.items():
        row = Counter(documents=len(documents))
        for part, pairs in parts.items():
            for s, en, de, _ in pairs:
                if s != source:
                    continue
                row[part] += 1
                if part == "train":
                    row["sentences"] += worth_testing(en, de)
                    row["en"] += len(en.split())
                    row["de"] += len(de.split())
        total += row
        lines.append(_row(source, row, ", ".join(sorted(licences.get(source, {"?"})))))
    lines.append(_row("all", total, ""))
    return "\n".join(lines) + "\n"


def _row(name, row, licence):
    return (f"{name:<13} {row['documents']:>9,} {row['train']:>8,} {row['sentences']:>9,} {row['valid']:>6,} "
            f"{row['test']:>6,} {row['en']:>9,} {row['de']:>9,}  {licence}").rstrip()


def versions(root, packages):
    debs = sorted((root.parent / "debs").glob("*.deb"))
    return "".join(f"{d.name[:-4]}\n" for d in debs if d.name.split("_")[0] in packages)


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    packages = read_packages(Path(__file__).parent / "packages.txt")
    dropped, sources = Counter(), {}
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        # The longest first.
        jobs = {s: pool.submit(gather, s, root, packages) for s in reversed(SOURCES)}
        found = {s: jobs[s].result() for s in SOURCES}
    for source, (documents, of_source) in found.items():
        sources[source] = documents
        dropped += of_source
        kept = sum(map(len, sources[source].values()))
        print(f"en-de: {source}: {len(sources[source]):,} documents, {kept:,} pairs", file=sys.stderr)
        if not kept:
            sys.exit(f"en-de: no pairs from {source}: is the cache complete?")
    drop_rare_words(sources, dropped)
    parts, held = split(sources, dropped)
    out.mkdir(parents=True, exist_ok=True)
    for part, pairs in parts.items():
        for i, language in ((1, "en"), (2, "de")):
            (out / f"{part}.{language}").write_text("".join(p[i] + "\n" for p in pairs), "utf-8")
        (out / f"{part}.source").write_text("".join(p[0] + "\n" for p in pairs), "utf-8")
    text = table(sources, parts, packages)
    why = Counter()
    for (_, reason), n in dropped.items():
        why[reason] += n
    text += "left out: " + ", ".join(f"{r} {n:,}" for r, n in sorted(why.items())) + "\n"
    names = "".join(f"{part} {source}: {name}\n" for source in held if source != "dictionary"
                    for part in ("valid", "test") for name in held[source][part])
    (out / "sources.txt").write_text(text + "\nheld-out documents\n" + names
                                     + "\ntraining pairs by package\n" + by_package(sources, parts, packages, root)
                                     + "\npackages\n" + versions(root, packages), "utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
