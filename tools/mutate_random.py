"""Random faults. See tools/mutate.

A fault changes one line: it replaces an operator, a constant or a word, or drops a call or a jump. It never
changes comments, strings, preprocessor lines or data tables. Some faults do not change the behaviour (a bound
that is never reached, a buffer that is larger than needed): a person must judge the survivors.
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
    """(number, line) of each line inside a function. Comments and strings are blanked out."""
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
    """Tuples (name, place, old lines, new lines). The old lines occur once in all sources."""
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
        # Add the lines around it until the old lines occur only once.
        low, high = number, number + 1
        while whole.count("\n" + "".join(lines[low:high])) > 1 and (low > 0 or high < len(lines)):
            low, high = max(0, low - 1), min(len(lines), high + 1)
        before, after = "".join(lines[low:number]), "".join(lines[number + 1:high])
        made += 1
        yield (f"random-{seed}-{made}", f"{path.relative_to(tree)}:{number + 1}", before + old + after,
               before + changed + after)
