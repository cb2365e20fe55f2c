#!/usr/bin/env python3
"""Compares patterns of libhecate with the pinned `tokenizers`: character classes, and splitting of texts.

    tools/parity_patterns.py LIBHECATE.so FOLDER [--seed N] [--part N]
    tools/parity_patterns.py --golden tests/golden/patterns.json

Each expression is matched against "a", a character, "b": does a match begin at the character? By default every 32nd
character is tested (--part 1: all, in half an hour). Then each expression of PARTING splits each of TEXTS. --golden
writes the results of `tokenizers` for characters that are new since Unicode 14, and for some others. The last line
counts the expressions."""
import argparse
import json
import os
import random
import sys
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402
from tokenizers import Regex, Tokenizer  # noqa: E402
from tokenizers.models import WordLevel  # noqa: E402
from tokenizers.pre_tokenizers import Split  # noqa: E402

NAMES = """L Lu Ll Lt Lm Lo LC M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn
Alphabetic Lowercase Uppercase Emoji Emoji_Presentation Ideographic White_Space Alnum Alpha Blank Cntrl
Digit Lower Punct Space Upper XDigit Word ASCII Han Latin Greek Cyrillic Arabic Devanagari Hiragana
Katakana Hangul Common Inherited Kawi Garay Kannada Myanmar Hani Letter uppercase_letter Other_Punctuation
Unassigned""".split()
EXPRESSIONS = [r"\p{%s}" % x for x in NAMES] + [r"\P{%s}" % x for x in ("L", "Mn", "Cn", "Han")] + [
    r"\w", r"\W", r"\d", r"\D", r"\s", r"\S",
    r"[\w]", r"[^\w]", r"[\d]", r"[\p{Word}]", r"[[\p{P}][\p{S}]]", r"[\p{L}-]",
    r"[^\p{P}\p{S}]", r"[^\s\p{L}\p{N}]", r"[\p{P}\p{S}]", r"(?<!\P{L})\P{N}"]

# Expressions that PCRE2 would read differently, and those of published tokenizers.
PARTING = r"""a{2}+ \p{N}{1,3}+ a{2,}+a a++a a*+a a?+a xa{2,2}? xa{2,3}? xa{2,}? xa{0} (?:ab){2}+ [:alpha:]+ (?=b)a?b
(?i)\p{Lu} (?i)[α-ω]+ (?i)\W (?i:'s|b)|a [a[bc-d]]+ [-ab-]+ [\d-]+ \s+$ ^a
\d{1,3}(?=(?:\d{3})*\b)""".split() + [r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\s+(?!\S)|\s+"]
TEXTS = ["", "aab", "Ab, (c|d) a'S b's", "xaaaaaab", "1234567", "aaaaa x", "abABcCaBAC", "aA1Éé\u0301\u0345ιΣσς", "aag1g{1}ggkk{n}", "abab ababb AA1",
         "a b#c a  bc", "aa{2} aa{,} a{ 2}", "]:x[alph", "a\nb\r\nab\n\f", "abcd bcd Ad BCd", "12 aa2 éÉÃ©", "aAbé a #"]


def theirs(expression, characters):
    pre = Split(Regex(expression), "removed", invert=True)
    found = (pre.pre_tokenize_str("a" + chr(c) + "b") for c in characters)
    return "".join("01"[any(begin == 1 for _, (begin, _) in x)] for x in found)


def new_characters():
    """Characters that are new or have changed since Unicode 14 (first and last of each kind), and random ones."""
    names = "Cc Cf Cn Co Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()
    points = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    now = {}
    for name in names:
        left = Split(Regex(r"\P{%s}+" % name), "removed").pre_tokenize_str("".join(map(chr, points)))
        now.update({ord(c): name for part, _ in left for c in part})
    kind = [(now.get(c), c < 0x110000 and unicodedata.category(chr(c))) for c in range(0x110001)]
    some = {c for c in points if kind[c][0] != kind[c][1] and (kind[c] != kind[c - 1] or kind[c] != kind[c + 1])}
    r = random.Random(14)
    for name in names:
        every = [c for c in points if now[c] == name]
        some.update(r.sample(every, min(len(every), 4)))
    # Those of the last line became letters or small letters in what they are besides.
    some |= {0xB2, 0xBE, 0x180E, 0x345, 0x3001, 0x3007, 0x30FC, 0x4E00, 0x2764, 0x1F600}
    return sorted(some - {0} | {0x363, 0xC04, 0xF82, 0x10FC, 0x1DE6, 0xA7F2, 0x11080})


def golden(path):
    assert unicodedata.unidata_version == "14.0.0", "this Python has another version of Unicode"
    characters = new_characters()
    found = [[x, theirs(x, characters)] for x in EXPRESSIONS]
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps({"made by": "tokenizers " + tokenizers.__version__, "characters": characters})[:-1])
        f.write(',\n"expressions": [\n' + ",\n".join(map(json.dumps, found)) + "]}\n")
    print(len(characters), "characters,", len(found), "expressions")
    return 0


def live(library, folder, seed, part):
    """Each line holds many characters, each between a and b. Compares where matches begin."""
    from parity_vocabularies import Hecate
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "pattern.json")
    r = random.Random(seed)
    points = [c for c in range(1, 0x110000) if not 0xD800 <= c <= 0xDFFF and r.randrange(part) == 0]
    lines, wrong = [], 0
    for first in range(0, len(points), 8192):
        some = points[first:first + 8192]
        text = "".join("a" + chr(c) + "b" for c in some)
        starts, at = [], 0
        for c in some:
            starts.append(at + 1)
            at += 2 + len(chr(c).encode())
        lines.append((some, text, text.encode(), starts))
    for x in EXPRESSIONS:
        t = Tokenizer(WordLevel({"u": 0}, unk_token="u"))
        t.pre_tokenizer = Split(Regex(x), "removed", invert=True)
        t.save(path)
        ours, different = Hecate(library, path), []
        for some, text, data, starts in lines:
            mine = set(ours.encode(data)[1][::2])
            them = {begin for _, (begin, _) in t.pre_tokenizer.pre_tokenize_str(text)}
            different += [c for i, c in enumerate(some) if (starts[i] in mine) != (3 * i + 1 in them)]
        if different:
            print("  %s: %d characters, first %s" % (x, len(different), ["U+%04X" % c for c in different[:6]]))
        wrong += len(different)
    wrong += parting(library, path)
    print("tokenizers %s, seed %d: %d expressions, %d characters; %d expressions, %d texts; %d differences"
          % (tokenizers.__version__, seed, len(EXPRESSIONS), len(points), len(PARTING), len(TEXTS), wrong))
    return wrong != 0


def parting(library, path):
    """Compares where the pieces of each text begin and end, in bytes."""
    from parity_vocabularies import Hecate
    wrong = 0
    for x in PARTING:
        for invert in False, True:  # True: keep only the matches
            t = Tokenizer(WordLevel({"u": 0}, unk_token="u"))
            t.pre_tokenizer = Split(Regex(x), "removed" if invert else "isolated", invert=invert)
            t.save(path)
            ours = Hecate(library, path)
            for text in TEXTS:
                mine = ours.encode(text.encode())[1]
                them = [len(text[:i].encode()) for _, at in t.pre_tokenizer.pre_tokenize_str(text) for i in at]
                if mine != them:
                    print("  %s: %r parts at %s, not %s" % (x, text, mine, them))
                    wrong += 1
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("library", nargs="?")
    p.add_argument("folder", nargs="?")
    p.add_argument("--golden")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--part", type=int, default=32)
    a = p.parse_args()
    if not a.golden and not a.folder:
        p.error("LIBHECATE.so and FOLDER are missing")
    return golden(a.golden) if a.golden else live(a.library, a.folder, a.seed, a.part)


if __name__ == "__main__":
    sys.exit(main())
