#!/usr/bin/env python3
"""Writes src/text/unicode/class_table.h: the classes of each character in the pinned `tokenizers`.

The library `tokenizers` uses three versions of Unicode (in a regular-expression engine, the Rust standard library and
a table of categories). So no version of the standard gives the right classes. Instead, this script passes each
character to each component of `tokenizers` and records the result.

    build/peers/bin/python tools/make_class_table.py > src/text/unicode/class_table.h
"""
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import BertNormalizer, StripAccents
from tokenizers.pre_tokenizers import Digits, Punctuation, Split, WhitespaceSplit

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def removed(pre):
    return lambda c: not pre.pre_tokenize_str(chr(c))


def matches(pattern):
    return removed(Split(Regex(pattern), "removed"))


def digits():
    pre = Digits(individual_digits=False)
    return lambda c: len(pre.pre_tokenize_str("a" + chr(c) + "a")) == 3


def vanishes(normalizer):
    return lambda c: normalizer.normalize_str("a" + chr(c) + "b") == "ab"


def joins_a_word():
    t = Tokenizer(WordLevel({"u": 0}, unk_token="u"))
    t.add_tokens([AddedToken("q", single_word=True)])
    return lambda c: t.encode("q" + chr(c)).ids == [0]


CLASSES = [  # name, what it is, probe
    ("LETTER", r"\p{L} of patterns", matches(r"\p{L}")),
    ("NUMBER", r"\p{N} of patterns", matches(r"\p{N}")),
    ("SPACE", r"\s of patterns", matches(r"\s")),
    ("WORD", r"\w of Whitespace and of added tokens that are single words", joins_a_word()),
    ("PUNCTUATION", "of the pre-tokenizer Punctuation", removed(Punctuation("removed"))),
    ("DIGIT", "of the pre-tokenizer Digits", digits()),
    ("ACCENT", "what StripAccents takes out", vanishes(StripAccents())),
    ("CONTROL", "what BertNormalizer takes out as control characters",
     vanishes(BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False,
                             lowercase=False))),
    ("MARK", r"\p{M} of patterns", matches(r"\p{M}")),
    ("NONSPACING", "what BertNormalizer takes out as accents",
     vanishes(BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True,
                             lowercase=False))),
    ("UPPER", r"\p{Lu} of patterns", matches(r"\p{Lu}")),
    ("LOWER", r"\p{Ll} of patterns", matches(r"\p{Ll}")),
    ("TITLE", r"\p{Lt} of patterns", matches(r"\p{Lt}")),
    ("MODIFIER", r"\p{Lm} of patterns", matches(r"\p{Lm}")),
]


def main():
    spaces = removed(WhitespaceSplit())
    space = CLASSES[2][2]
    assert all(spaces(c) == space(c) for c in POINTS), "the two ideas of white space differ"
    of = [0] * 0x110000
    for bit, (_, _, probe) in enumerate(CLASSES):
        for c in POINTS:
            if probe(c):
                of[c] |= 1 << bit
    runs = [(c, of[c]) for c in range(0x110000) if c == 0 or of[c] != of[c - 1]]
    print("/* class_table.h — written by tools/make_class_table.py from tokenizers %s; do not edit. */"
          % tokenizers.__version__)
    print("/* Where a run of characters of the same classes begins, and its classes by the bits of classes.h:")
    print(" * %s from bit 0 up. */" % ", ".join(name.lower() for name, _, _ in CLASSES))
    print("/* clang-format off */")
    print("static const struct { uint32_t first; uint16_t classes; } class_runs[] = {")
    line = "\t"
    for first, classes in runs:
        item = "{0x%x, 0x%x}," % (first, classes)
        if len(line) + len(item) > 118:
            print(line.rstrip())
            line = "\t"
        line += item + " "
    print(line.rstrip() + "\n};\n/* clang-format on */")
    return 0


if __name__ == "__main__":
    sys.exit(main())
