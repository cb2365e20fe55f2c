"""Manual pages in roff as lists of blocks. po4a keeps the order of the blocks, so the blocks of a page and its
translation correspond. mdoc pages are skipped."""
import re

_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d+|\\[&/,:%|^)]|\\c")
_NAMED = {"aq": "'", "dq": '"', "lq": '"', "rq": '"', "oq": "'", "cq": "'", "en": "\u2013", "em": "\u2013",
          "bu": "\u2022", "co": "\u00a9", "mu": "\u00d7", "ti": "~", "ha": "^", "ga": "`", "rs": "\\",
          "Bq": "\u201e", "lB": "[", "rB": "]", "la": "<", "ra": ">", "ss": "\u00df", ":a": "\u00e4",
          ":o": "\u00f6", ":u": "\u00fc", ":A": "\u00c4", ":O": "\u00d6", ":U": "\u00dc", "Fo": "\u00ab",
          "Fc": "\u00bb", "->": "\u2192", "pl": "+", "mi": "-", "sc": "\u00a7", "de": "\u00b0", "at": "@"}
_SPECIAL = re.compile(r"\\\((..)|\\\[([^\]]*)\]|\\\*\((..)|\\\*(.)")
_BREAK = frozenset("P PP LP HP IP TP TQ RS RE SS SH br sp in ti nf fi EX EE".split())
_SKIP = {"TS": "TE", "nf": "fi", "EX": "EE", "de": ".", "SY": "YS", "PS": "PE"}
_FONTS = frozenset("B I SM SB".split())
_MIXED = frozenset("BR RB IR RI BI IB".split())
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|(\S+)')


def plain(text):
    """Text without roff escapes."""
    text = text.replace("\\-", "-").replace("\\~", " ").replace("\\ ", " ").replace("\\e", "\\")
    text = _FONT.sub("", text)
    text = _SPECIAL.sub(lambda m: _NAMED.get(m.group(1) or m.group(2) or m.group(3) or m.group(4), ""),
                        text)
    return re.sub(r'\\".*$', "", text).replace("\\(", "(")


def _words(rest):
    return [(a.replace('""', '"') if a else b) for a, b in _QUOTED.findall(rest)]


def blocks(page):
    """[(kind, text)], or None for a page that is not in the man macros."""
    out, text, kind, until, tag_next = [], [], "P", None, False

    def flush():
        joined = re.sub(r"\s+", " ", " ".join(text)).strip()
        if joined and kind not in ("SH", "SS"):
            out.append((kind, joined))
        text.clear()

    for line in page.split("\n"):
        if line.startswith(("'\\\"", ".\\\"", "'\\\" ")) or line.strip() in (".", "'"):
            if until != ".":
                continue
        if until:
            name = line[1:].split(None, 1)[0] if line[:1] == "." and line[1:].strip() else ""
            if name == until or (until == "." and line.strip() == ".."):
                until = None
            continue
        if not line.startswith((".", "'")):
            if not line.strip():
                flush()
                kind = "P"
                continue
            if tag_next and kind == "tag":
                flush()
                text.append(plain(line))
                flush()
                kind, tag_next = "body", False
                continue
            text.append(plain(line))
            continue
        name, _, rest = line[1:].strip().partition(" ")
        rest = rest.strip()
        if name in ("Dd", "Dt", "Sh"):
            return None
        if name in ("TH", "if", "ie", "el", "so"):
            continue
        if name in _SKIP:
            flush()
            kind, until = "P", _SKIP[name]
            continue
        if name in _BREAK:
            flush()
            kind, tag_next = "P", False
            if name in ("SH", "SS"):
                kind = name
                if rest:
                    text.append(plain(rest))
                    flush()
                    kind = "P"
            elif name in ("TP", "TQ"):
                kind, tag_next = "tag", True
            elif name == "IP":
                kind = "body"
            continue
        if name in _FONTS or name in _MIXED or name in ("UR", "MT", "UE", "ME"):
            words = _words(rest)
            joined = plain(("" if name in _MIXED else " ").join(words))
            if name in ("UR", "MT", "UE", "ME"):
                joined = ""
            if tag_next and kind == "tag":
                flush()
                if joined:
                    text.append(joined)
                flush()
                kind, tag_next = "body", False
                continue
            if kind in ("SH", "SS") and joined:
                text.append(joined)
                flush()
                kind = "P"
                continue
            if joined:
                text.append(joined)
    flush()
    return out
