"""The texts that a model was trained on (sources.txt), their licences, and what these licences allow."""
import sys
from collections import Counter

# Terms that allow to distribute a work based on the text under version 3 of the GPL.
TO_GPL_3 = {"GPL", "GPL-1+", "GPL-2+", "GPL-3", "GPL-3+", "LGPL-2", "LGPL-2+", "LGPL-2.1", "LGPL-2.1+", "LGPL-3",
            "LGPL-3+", "MPL-2.0", "Apache-2.0", "BSD", "MIT", "ISC", "CC0", "public-domain"}
# Terms that do not allow it.
OTHERS = {"GPL-2", "GFDL-1.1+", "GFDL-1.2+", "GFDL-1.3+", "CC-BY-SA-3.0", "CC-BY-3.0", "man-copyleft",
          "verbatim-copyleft", "as-the-package"}
TITLE = "training pairs by package"


def read(path):
    """[(source, package, pairs, licence)]"""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        sys.exit(f"en-de: {error}")
    if TITLE not in lines:
        sys.exit(f"en-de: {path} has no '{TITLE}': make the corpus again with tools/data/en-de")
    rows = []
    for line in lines[lines.index(TITLE) + 1:]:
        fields = line.split()
        if len(fields) != 4:
            break
        rows.append((fields[0], fields[1], int(fields[2]), fields[3]))
        kind(fields[3])
    return rows


def kind(licence):
    """Returns "all" if all texts may be distributed under GPL-3, "parts" if some may, or "none"."""
    may = []
    for part in licence.split(","):
        choices = set(part.split("|"))
        unknown = choices - TO_GPL_3 - OTHERS
        if unknown:
            sys.exit(f"en-de: unknown licence {', '.join(unknown)}: add it to tools/models/en_de/licences.py")
        may.append(bool(choices & TO_GPL_3))
    return "all" if all(may) else "parts" if any(may) else "none"


def shares(rows):
    """{"all" | "parts" | "none": pairs}"""
    count = Counter()
    for _, _, n, licence in rows:
        count[kind(licence)] += n
    return count


def outside(rows):
    """{term that does not lead to GPL-3: pairs of packages in which it is met}, the most first."""
    count = Counter()
    for _, _, n, licence in rows:
        for part in licence.split(","):
            choices = set(part.split("|"))
            if not choices & TO_GPL_3:
                count[part] += n
    return count.most_common()


def by_source(rows):
    """{source: [(licence, [packages], pairs)]}"""
    found = {}
    for source, package, n, licence in rows:
        entry = found.setdefault(source, {}).setdefault(licence, [[], 0])
        entry[0].append(package)
        entry[1] += n
    return {s: sorted(((l, p, n) for l, (p, n) in of.items()), key=lambda e: -e[2]) for s, of in found.items()}
