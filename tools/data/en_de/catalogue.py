"""gettext catalogues: .mo files in either byte order. Accelerators and markup are removed from interface strings."""
import re
import struct

from text import strip_markup


def read_mo(data):
    """Yields (original, translation) as bytes. Skips entries that point outside the file."""
    if len(data) < 20:
        return
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(data[:4])
    if order is None:
        return
    _, count, originals, translations = struct.unpack(order + "4I", data[4:20])
    for i in range(count):
        at, to = originals + 8 * i, translations + 8 * i
        if max(at, to) + 8 > len(data):
            return
        la, oa = struct.unpack(order + "2I", data[at:at + 8])
        lb, ob = struct.unpack(order + "2I", data[to:to + 8])
        if oa + la <= len(data) and ob + lb <= len(data):
            yield data[oa:oa + la], data[ob:ob + lb]


def _no_accelerator(text):
    text = re.sub(r"\s*\([_&~]\w\)", "", text)
    for mark in "_&~":
        if text.count(mark) == 1:
            text = re.sub(re.escape(mark) + r"(?=\w)", "", text)
    return text


_LISTS = re.compile(r"^\s+|^[-*\u2022]\s|\t", re.M)


def _blocks(text):
    return [b for b in re.split(r"\n\s*\n", text.strip("\n")) if b.strip()]


# Freeciv and old KDE programs put the context into the text.
_CONTEXT = re.compile(r"^\?[\w ]+:|^_: [^\n]*\n")


def pairs_of_message(original, translation):
    """Pairs the blocks of a message with the blocks of its translation."""
    original = _CONTEXT.sub("", original.split("\x04", 1)[-1])
    singular, _, plural = original.partition("\0")
    forms = translation.split("\0")
    out = []
    for en, de in zip((singular, plural), forms):
        en, de = (_no_accelerator(strip_markup(t)) for t in (en, de))
        a, b = _blocks(en), _blocks(de)
        if len(a) != len(b):
            a, b = [en], [de]
        for x, y in zip(a, b):
            lines_x, lines_y = x.strip("\n").split("\n"), y.strip("\n").split("\n")
            if len(lines_x) == len(lines_y) and len(lines_x) > 1 and _LISTS.search(x):
                out += zip(lines_x, lines_y)
            else:
                out.append((" ".join(lines_x), " ".join(lines_y)))
    return [(x.strip(), y.strip()) for x, y in out if x.strip() and y.strip()]


def pairs(data):
    for original, translation in read_mo(data):
        if not original or not translation:
            continue
        try:
            yield from pairs_of_message(original.decode("utf-8"), translation.decode("utf-8"))
        except UnicodeDecodeError:
            continue
