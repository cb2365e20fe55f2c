"""The Ding dictionary. A line is `German | more German :: English | more English`. The n-th parts between the bars
translate each other, and `;` separates alternatives. Many parts are phrases or whole sentences."""
import re

_NOTES = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|<[^<>]*>")
_WITH_SEPARATOR = re.compile(r"\{[^{}]*[;|][^{}]*\}|\([^()]*[;|][^()]*\)|\[[^\[\]]*[;|][^\[\]]*\]")
_PARENS = re.compile(r"\([^()]*\)")
# Dictionaries abbreviate words like somebody and something: write them out.
_PEOPLE_DE = {"jd.": "jemand", "jdn.": "jemanden", "jdm.": "jemandem", "jds.": "jemandes",
              "etw.": "etwas", "jdn./etw.": "etwas", "jdm./etw.": "etwas", "etw./jdn.": "etwas",
              "etw./jdm.": "etwas", "jd./etw.": "etwas"}
_PEOPLE_EN = {"sb.": "somebody", "sth.": "something", "sb.'s": "somebody's", "sb./sth.": "something",
              "sth./sb.": "something", "sb.’s": "somebody's"}
# These fields have many rare words.
_RARE = re.compile(r"\[(?:zool|bot|chem|geol|med|min|anat|techn|myc|biochem|astron|electr|ornith|naut|"
                   r"geogr|pharm|math|phys|hist|mil|textil|agr|constr|mach|biol|cook|mus|aviat|auto|"
                   r"obs|veraltet|archaic|Ös|Schw|sl|vulg|slang|Dt|Süddt|Norddt|Lw|sport|relig|statist|"
                   r"print|photo|telco|envir|art|arch|lit|ling|phil|humor|pej|pej|dated|rare|selten|"
                   r"veraltend|poet|poetisch|geh|formal|former name|alt|früher|Jägersprache|Mittelwest)\b")
_GENDER = re.compile(r"\{([mfn])\}")
_ARTICLES = {"m": ("der", "ein"), "f": ("die", "eine"), "n": ("das", "ein")}


def _expand(text, table):
    return " ".join(table.get(w, w) for w in text.split())


def _tidy(text, table):
    text = _PARENS.sub(" ", _PARENS.sub(" ", _NOTES.sub(" ", text)))
    text = _expand(text.replace("\u2019", "'"), table)
    return re.sub(r"\s+([,.!?])", r"\1", text).strip(" ,")


_EITHER = re.compile(r"(?<![/\w])([^\W\d_]{2,})(?:/[^\W\d_]{2,})+(?![/\w])")


def _first_of(text):
    """A sentence with `gut/schlecht` stands for two sentences: take the first one."""
    return _EITHER.sub(r"\1", text)


def _alternatives(part, table):
    out = []
    for raw in part.split(";"):
        text = _tidy(raw, table)
        if text:
            out.append((text, raw))
    return out


def _whole(text):
    return text[-1:] in ".!?" and len(text.split()) >= 2 and not text.endswith(("...", "\u2026"))


def _unusable(text):
    return "/" in text or "\u2026" in text or "..." in text or "~" in text or text.startswith("-") \
        or text.endswith("-") or " - " in text or "(" in text or ")" in text or "=" in text


def _noun(en, de, raw, number):
    """A noun alone or with its article, which shows the gender, in turn."""
    m = _GENDER.search(raw)
    if not m or len(de.split()) != 1 or not de[:1].isupper() or not en[:1].islower() or number % 3 == 0:
        return en, de
    definite, indefinite = _ARTICLES[m.group(1)]
    if number % 3 == 1 or en.endswith("s"):
        return "the " + en, definite + " " + de
    return ("an " if en[0] in "aeiou" else "a ") + en, indefinite + " " + de


def pairs_of_line(line, number=0):
    """Yields (is_sentence, en, de)."""
    if line.startswith("#") or line.count(" :: ") != 1:
        return
    line = _WITH_SEPARATOR.sub(" ", line)
    german, english = line.rstrip("\n").split(" :: ")
    german, english = german.split("|"), english.split("|")
    if len(german) != len(english):
        return
    rare = bool(_RARE.search(line))
    for position, (g, e) in enumerate(zip(german, english)):
        de, en = _alternatives(g, _PEOPLE_DE), _alternatives(e, _PEOPLE_EN)
        if not de or not en:
            continue
        if _whole(de[0][0]) and _whole(en[0][0]):
            if len(de) == len(en):
                found = list(zip(en, de))
            else:
                found = [(x, de[0]) for x in en]
            for (x, _), (y, _) in found[:4]:
                x, y = _first_of(x), _first_of(y)
                if _whole(x) and _whole(y) and not _unusable(x) and not _unusable(y):
                    yield True, x, y
            continue
        # Take only the first form of a verb or adjective. The plural of a noun makes a pair of its own.
        if len(en[0][0].split()) < 3 and (rare or (position and "{pl}" not in g)):
            continue
        for x, _ in en[:1 if rare else 2]:
            y, raw = de[0]
            if _unusable(x) or _unusable(y) or x[-1] in ".!?" or y[-1] in ".!?":
                continue
            yield (False, *_noun(x, y, raw, number))


def documents(path):
    """Yields documents. Each line of the dictionary is a document."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f):
            found = list(pairs_of_line(line, number))
            if found:
                yield f"line {number}", [(x, y) for _, x, y in found]
