#!/usr/bin/env python3
"""Writes src/text/unicode/newer_table.h: the characters that patterns of the pinned `tokenizers` classify differently
from the oldest supported PCRE2 (10.40 to 10.42, with Unicode 14). The script needs such a PCRE2.

    build/peers/bin/python tools/make_newer_table.py > src/text/unicode/newer_table.h
"""
import ctypes
import ctypes.util
import sys

import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

CATEGORIES = """Cc Cf Cn Co Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp
Zs""".split()
ALSO = [("a", "Alphabetic"), ("l", "Lowercase"), ("u", "Uppercase"), ("e", "Emoji"), ("i", "Ideographic")]
SCRIPTS = """arabic arab, balinese bali, common zyyy, cyrillic cyrl, devanagari deva, egyptianhieroglyphs egyp,
garay gara, gurungkhema gukh, han hani, hiragana hira, kannada knda, katakana kana, kawi kawi,
khitansmallscript kits, khojki khoj, kiratrai krai, lao laoo, latin latn, myanmar mymr, nagmundari nagm,
olonal onao, sunuwar sunu, todhri todr, tulutigalari tutg""".replace("\n", " ").split(", ")
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def members(name, points):
    """The points that \\p{name} matches in `tokenizers`: those that remain after removing all others."""
    left = Split(Regex(r"\P{%s}+" % name), "removed").pre_tokenize_str("".join(map(chr, points)))
    return {ord(c) for part, _ in left for c in part}


class Pcre2:
    """Like the function members(), with PCRE2."""
    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("pcre2-8"))
        version = ctypes.create_string_buffer(64)
        self.lib.pcre2_config_8(10, version)
        assert version.value == b"14.0.0", "this PCRE2 has another version of Unicode"
        for call in ("compile", "match_data_create", "get_ovector_pointer"):
            getattr(self.lib, "pcre2_%s_8" % call).restype = ctypes.c_void_p
        self.data = ctypes.c_void_p(self.lib.pcre2_match_data_create_8(1, None))
        at = ctypes.c_void_p(self.lib.pcre2_get_ovector_pointer_8(self.data))
        self.found = ctypes.cast(at, ctypes.POINTER(ctypes.c_size_t))

    def members(self, name, points):
        text, expression = "".join(map(chr, points)).encode(), (r"\p{%s}+" % name).encode()
        error, place, size = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t
        code = ctypes.c_void_p(self.lib.pcre2_compile_8(
            expression, size(len(expression)), 0x80000, ctypes.byref(error), ctypes.byref(place), None))
        all_found, at = set(), 0
        while self.lib.pcre2_match_8(code, text, size(len(text)), size(at), 0x40000000, self.data, None) > 0:
            at = self.found[1]
            all_found.update(map(ord, text[self.found[0]:at].decode()))
        return all_found


def main():
    pcre2 = Pcre2()
    was = {c: name for name in CATEGORIES for c in pcre2.members(name, POINTS)}
    now = {c: name for name in CATEGORIES for c in members(name, POINTS)}
    newer = {c for c in POINTS if now[c] != was[c]}
    also, script = dict.fromkeys(POINTS, ""), {}
    for letter, name in ALSO:
        there = members(name, POINTS)
        newer |= there - pcre2.members(name, POINTS)
        for c in there:
            also[c] += letter
    newer = sorted(newer)
    for names in SCRIPTS:
        long, short = names.split()
        found = members(long, newer)
        assert found == members(short, newer)
        for c in found:
            script[c] = names
    rows = []
    for c in newer:
        row = (was[c], now[c], also[c], script.get(c, "") if was[c] != now[c] else "")
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == row:
            rows[-1][1] = c
        else:
            rows.append([c, c, row])
    print("/* newer_table.h — written by tools/make_newer_table.py from tokenizers %s; do not edit. */"
          % tokenizers.__version__)
    print("/* The category of Unicode 14, the category, what they are besides (%s) and the script. */"
          % ", ".join("%s: %s" % x for x in ALSO))
    print("/* clang-format off */")
    print("static const struct newer {")
    print("\tuint32_t first, last;\n\tchar was[3], is[3], also[%d];\n\tconst char *script;\n} newer[] = {"
          % (len(ALSO) + 1))
    for first, last, row in rows:
        print('\t{0x%x, 0x%x, "%s", "%s", "%s", "%s"},' % (first, last, *row))
    print("};\n/* clang-format on */")
    return 0


if __name__ == "__main__":
    sys.exit(main())
