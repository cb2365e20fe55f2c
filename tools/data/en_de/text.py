"""Normalizes lines, splits paragraphs into sentences, and aligns the sentences of two languages."""
import html
import math
import re
import unicodedata

_SPACES = re.compile(r"\s+")
_SAME = str.maketrans({
    "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2007": " ", "\u2028": " ", "\u2029": " ",
    "\u00ad": None, "\u200b": None, "\u200c": None, "\u200d": None, "\u200e": None, "\u200f": None,
    "\ufeff": None, "\u2060": None, "\u2011": "-", "\u2010": "-", "\u2212": "-",
    "\u2018": "'", "\u2019": "'", "\u00b4": "'", "\u2014": "\u2013", "\u2015": "\u2013",
    "\u2026": "...",
})
_QUOTES_EN = str.maketrans({c: '"' for c in "\u201c\u201d\u201e\u201f\u00ab\u00bb"})
_DASHES = re.compile(r"(?<=\s)-{1,3}(?=\s)")
_BACKTICK = re.compile(r"`+([^`']*)'+")
_ESCAPED = re.compile(r"\\+([\"'])")


def _plain(text):
    text = unicodedata.normalize("NFC", text).translate(_SAME).replace("\u00b6", "")
    text = _ESCAPED.sub(r"\1", text)
    text = _BACKTICK.sub(r'"\1"', text)
    text = _SPACES.sub(" ", text).strip()
    text = _DASHES.sub("\u2013", text)
    return re.sub(r"\s+([,;:.!?])(?=\s|$)", r"\1", text)


def normal_en(text):
    """Normalizes English: straight quotes, one kind of dash, one kind of space."""
    return _plain(text.translate(_QUOTES_EN))


_WORD_QUOTED = re.compile(r"(?<![\w])'([^']{1,80}?)'(?![\w])")


def normal_de(text):
    """Normalizes German: every pair of quotes becomes „…“."""
    # ‚…‘ is a pair of quotes; a lone ’ is an apostrophe.
    text = re.sub("[\u201a\u203a]([^\u2018\u2019\u2039]{1,80})[\u2018\u2019\u2039]", r'"\1"', text)
    text = text.translate(_QUOTES_EN)
    text = _WORD_QUOTED.sub(r'"\1"', _plain(text))
    if text.count('"') % 2 == 0:
        out, opening = [], True
        for c in text:
            if c == '"':
                c = "\u201e" if opening else "\u201c"
                opening = not opening
            out.append(c)
        text = "".join(out)
    return text


_TAG = re.compile(r"<(?:/?[A-Za-z][\w:.-]*(?:\s+[^<>]*)?/?|!--.*?--)>", re.S)
_BREAK = re.compile(r"<\s*(?:br|p|/p|li|/li|nl|div|/div|tr|/tr|td|h\d|/h\d)\b[^<>]*>", re.I)


def strip_markup(text):
    """Removes tags and resolves entities. A tag that begins a new line becomes a line break."""
    if "<" in text and ">" in text:
        text = _BREAK.sub("\n\n", text)
        text = _TAG.sub("", text)
    if "&" in text and ";" in text:
        text = html.unescape(text)
    return text


_ENDS = re.compile(r"""(?<=[.!?])(["'»“”)\]]*)\s+(?=["'„»“(\[]*[A-ZÄÖÜ0-9])""")
_ABBREVIATIONS = frozenset("""
e.g. i.e. etc. vs. cf. no. fig. mr. mrs. ms. dr. st. prof. approx. resp. ca. vol. pp. p. sec. min. max.
jr. sr. inc. ltd. co. corp. dept. est. a.m. p.m. u.s. viz. al. op. ed.
z.b. d.h. u.a. u.ä. usw. bzw. ca. evtl. ggf. inkl. exkl. nr. abb. vgl. s. sog. bspw. z. b. d. h. u. a. o. ä.
i. v. m. str. tel. hr. fr. st. dr. prof. jh. mio. mrd. tsd. max. min. std. sek. allg. engl. dt. lat. ggü.
jan. feb. mar. apr. aug. sep. sept. oct. okt. nov. dec. dez. mrz. abs. art. kap. o.ä. o.a. s.o. s.u. i.d.r.
""".split())
_ORDINAL = re.compile(r"^[(\[\"„]?\d{1,3}\.$")


def sentences(text, german):
    """Splits at . ! ? before a capital, but not after abbreviations or, in German, ordinals."""
    parts, begin = [], 0
    for m in _ENDS.finditer(text):
        last = text[begin:m.start() + len(m.group(1))].rsplit(None, 1)[-1:]
        word = last[0].lower().lstrip("([\"'„“") if last else ""
        if word in _ABBREVIATIONS or re.fullmatch(r"[a-zäöü]\.(?:[a-zäöü]\.)*", word):
            continue
        if german and last and _ORDINAL.match(last[0]):
            continue
        if not german and word in ("1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9."):
            continue
        parts.append(text[begin:m.end()].strip())
        begin = m.end()
    parts.append(text[begin:].strip())
    return [p for p in parts if p]


# German is about 10 % longer than English. The standard deviation grows with the root of the length.
_GROWTH, _SPREAD = 1.12, 6.8


def _length_cost(a, b):
    mean = (a + b / _GROWTH) / 2
    if mean == 0:
        return 0.0
    return min(((b - a * _GROWTH) / math.sqrt(_SPREAD * mean)) ** 2 / 2, 40.0)


_BEADS = ((1, 1, 0.0), (1, 2, 4.5), (2, 1, 4.5), (1, 0, 9.0), (0, 1, 9.0))


def match_sentences(en, de):
    """The cheapest alignment of two lists with steps of 1–1, 1–2 and 2–1 sentences (Gale and Church)."""
    n, m = len(en), len(de)
    if n > 60 or m > 60:
        return []
    a, b = [len(s) for s in en], [len(s) for s in de]
    best = [[math.inf] * (m + 1) for _ in range(n + 1)]
    came = [[None] * (m + 1) for _ in range(n + 1)]
    best[0][0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            if best[i][j] == math.inf:
                continue
            for x, y, price in _BEADS:
                if i + x > n or j + y > m:
                    continue
                cost = best[i][j] + price
                if x and y:
                    cost += _length_cost(sum(a[i:i + x]), sum(b[j:j + y]))
                if cost < best[i + x][j + y]:
                    best[i + x][j + y] = cost
                    came[i + x][j + y] = (x, y)
    out, i, j = [], n, m
    while i or j:
        x, y = came[i][j]
        if x and y:
            out.append((" ".join(en[i - x:i]), " ".join(de[j - y:j])))
        i, j = i - x, j - y
    return out[::-1]


# A block of at most this size is kept whole if its sentences cannot be aligned.
_WHOLE_WORDS = 45


def _likely(en, de):
    return _length_cost(len(en), len(de)) < 6


def pairs_of_block(en, de):
    """The sentence pairs of two paragraphs that translate each other. A translator may join, split and reorder
    sentences. If the counts or lengths show that, a short block is kept whole."""
    en, de = normal_en(en), normal_de(de)
    if not en or not de:
        return []
    a, b = sentences(en, False), sentences(de, True)
    if len(a) == 1 and len(b) == 1:
        return [(en, de)]
    if len(a) == len(b) and all(map(_likely, a, b)):
        return list(zip(a, b))
    if max(len(en.split()), len(de.split())) <= _WHOLE_WORDS:
        return [(en, de)] if _likely(en, de) else []
    if len(a) == 1 or len(b) == 1:
        return []
    return [(x, y) for x, y in match_sentences(a, b) if _length_cost(len(x), len(y)) < 3]


def match_blocks(en, de):
    """Aligns two lists of (kind, text). Only blocks of the same kind are paired."""
    if [k for k, _ in en] == [k for k, _ in de]:
        return [(x[1], y[1]) for x, y in zip(en, de)]
    n, m = len(en), len(de)
    if n * m > 4_000_000:
        return []
    gap, band = 3.0, abs(n - m) + 60
    best = [[math.inf] * (m + 1) for _ in range(n + 1)]
    came = [bytearray(m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        row, above, steps = best[i], best[i - 1] if i else None, came[i]
        for j in range(max(0, i - band), min(m, i + band) + 1):
            if i == 0 and j == 0:
                row[0] = 0.0
                continue
            cost, step = math.inf, 0
            if i and j and en[i - 1][0] == de[j - 1][0]:
                x, y = en[i - 1][1], de[j - 1][1]
                c = above[j - 1] + min(_length_cost(len(x), len(y)), 5.9) + (0 if x != y else -1)
                if c < cost:
                    cost, step = c, 1
            if i and above[j] + gap < cost:
                cost, step = above[j] + gap, 2
            if j and row[j - 1] + gap < cost:
                cost, step = row[j - 1] + gap, 3
            row[j], steps[j] = cost, step
    out, i, j = [], n, m
    if best[n][m] == math.inf:
        return []
    while i or j:
        step = came[i][j]
        if step == 1:
            if _length_cost(len(en[i - 1][1]), len(de[j - 1][1])) < 5:
                out.append((en[i - 1][1], de[j - 1][1]))
            i, j = i - 1, j - 1
        elif step == 2:
            i -= 1
        else:
            j -= 1
    return out[::-1]
