"""Reads protocol buffers without a schema."""


def fields(data):
    """Yields (number, value) of each field of a message. Messages and strings are bytes."""
    at = 0

    def whole():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = whole()
        if key & 7 == 0:
            yield key >> 3, whole()
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size = whole()
        at += size
        yield key >> 3, data[at - size:at]


def packed(data):
    """Reads packed integers."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0
