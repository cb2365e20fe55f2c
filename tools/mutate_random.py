"""Faults that chance makes. See tools/mutate.

A fault changes one line: an operator, a constant, a word, or it drops a call or a jump. Comments, texts, the
preprocessor and tables of data are left alone. Some of these faults change nothing (a bound that is never
met, a buffer larger than it need be): whoever reads the list of survivors decides.
"""
import random
import re

SWAPS = [
    (r"(?<= )<(?= )", "<="), (r"(?<= )<=(?= )", "<"), (r"(?<= )>(?= )", ">="), (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="), (r"(?<= )!=(?= )", "=="), (r"(?<= )&&(?= )", "||"), (r"(?<= )\|\|(?= )", "&&"),
    (r"(?<=[\w\])] )\+(?= )", "-"), (r"(?<=[\w\])] )-(?= )", "+"), (r"(?<=[\w\])] )\*(?= )", "+"),
    (r"(?<= )\+=(?= )", "="), (r"(?<= )-=(?= )", "+="),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bmin_i64\b", "max_i64"), (r"\bmax_i64\b", "min_i64"),
    (r"(?<=if \()!", ""), (r"(?<=&& )!", ""), (r"\b0\b(?!\.)", "1"), (r"\b1\b(?!\.)", "0"),
]
NUMBER = re.compile(r"(?<![\w.])([2-9]|[1-9]\d+)(?![\w.])")
DROPPED = re.compile(r"^\t+((HEC_TRY\()?[a-z]\w*\(.*\)\)?;|break;|continue;)\n$")


def code_lines(text):
    """Numbers of the lines inside functions, with comments and texts blanked out."""
    def blank(match):
        return re.sub(r"[^\n]", "~", match.group(0))

    text = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)
    inside = False
    for number, line in enumerate(text.splitlines(keepends=True)):
        if line.startswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        elif inside and line.startswith("\t") and not line.lstrip().startswith("#"):
            yield number, line


def line_faults(line):
    for pattern, new in SWAPS:
        for match in re.finditer(pattern, line):
            yield match.start(), match.end(), new
    for match in NUMBER.finditer(line):
        yield match.start(), match.end(), str(int(match.group(1)) + 1)
    if DROPPED.match(line):
        yield 0, len(line), None


def random_faults(tree, sources, count, seed):
    """Tuples (name, place, old lines, new lines); the old lines stand once in all sources."""
    draw = random.Random(seed)
    texts = {path: path.read_text() for path in sources}
    whole = "\n".join(texts.values())
    sites = [(path, number, fault) for path, text in texts.items() for number, line in code_lines(text)
             for fault in line_faults(line)]
    draw.shuffle(sites)
    made = 0
    for path, number, (start, end, new) in sites:
        if made == count:
            return
        lines = texts[path].splitlines(keepends=True)
        old = lines[number]
        changed = "" if new is None else old[:start] + new + old[end:]
        # Neighbours until the place is the only one of its kind.
        low, high = number, number + 1
        while whole.count("\n" + "".join(lines[low:high])) > 1 and (low > 0 or high < len(lines)):
            low, high = max(0, low - 1), min(len(lines), high + 1)
        before, after = "".join(lines[low:number]), "".join(lines[number + 1:high])
        made += 1
        yield (f"random-{seed}-{made}", f"{path.relative_to(tree)}:{number + 1}", before + old + after,
               before + changed + after)
