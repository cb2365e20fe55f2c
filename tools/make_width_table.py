#!/usr/bin/env python3
"""Writes src/base/width_table.h: the characters that take two columns of a terminal, and those that take none.

Two columns: East_Asian_Width W or F, and unassigned characters inside a block of ideographs (UAX #11). No column:
general category Mn, Me, Cf (but not the soft hyphen), and the vowels and final consonants of Hangul that join the
character before."""
import unicodedata

IDEOGRAPHS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD)]


def width(code):
    c = chr(code)
    if unicodedata.category(c) in ("Mn", "Me", "Cf") and code != 0xAD or 0x1160 <= code <= 0x11FF:
        return 0
    if any(a <= code <= b for a, b in IDEOGRAPHS):
        return 2
    assigned = unicodedata.category(c) != "Cn"  # unicodedata returns F for unassigned characters
    return 2 if assigned and unicodedata.east_asian_width(c) in "WF" else 1


def ranges(wanted):
    first = None
    for code in range(0x300, 0x110000):
        if width(code) == wanted:
            first = code if first is None else first
        elif first is not None:
            yield first, code - 1
            first = None


def table(name, wanted):
    cells = [f"{{0x{a:04X}, 0x{b:04X}}}" for a, b in ranges(wanted)]
    lines = [", ".join(cells[i:i + 4]) for i in range(0, len(cells), 4)]
    return f"static const range {name}[] = {{\n\t" + ",\n\t".join(lines) + "};\n"


with open("src/base/width_table.h", "w") as f:
    f.write("/* width_table.h — made by tools/make_width_table.py from Unicode "
            f"{unicodedata.unidata_version}: East_Asian_Width\n * W and F are wide; marks and "
            "formats take no column. Do not edit. */\n/* clang-format off */\n")
    f.write(table("wide", 2) + table("none", 0))
    f.write("/* clang-format on */\n")
