"""Reads a GGUF file (version 2 or 3): its metadata, and its tensors as float32 arrays in row-major order."""
import struct

import numpy as np

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
ROW = {F32: (1, 4), F16: (1, 2), Q4_1: (32, 20), Q8_0: (32, 34)}  # values per block, bytes per block


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, kind):
        value, = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def text(self):
        size = self.number("Q")
        self.at += size
        return bytes(self.data[self.at - size:self.at]).decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            of, count = self.number("I"), self.number("Q")
            return [self.value(of) for _ in range(count)]
        return self.number(NUMBERS[kind])


def floats(data, kind, count):
    """Dequantizes blocks to floats."""
    values, size = ROW[kind]
    blocks = np.frombuffer(data[:count // values * size], np.uint8).reshape(-1, size)
    half = lambda first: blocks[:, first:first + 2].copy().view("<f2").astype(np.float32)
    if kind == F32:
        return blocks.copy().view("<f4").reshape(-1)
    if kind == F16:
        return half(0).reshape(-1)
    if kind == Q8_0:
        return (half(0) * blocks[:, 2:].view(np.int8)).reshape(-1)
    # Q4_1: scale, minimum, 16 bytes. The low 4 bits are the first 16 values, the high 4 bits the other 16.
    nibbles = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], 1)
    return (half(0) * nibbles + half(2)).reshape(-1)


def load(data):
    r = Reader(memoryview(data))
    if bytes(r.data[:4]) != b"GGUF":
        raise SystemExit("not a GGUF file")
    r.at = 4
    version, tensors, facts = r.number("I"), r.number("Q"), r.number("Q")
    if version not in (2, 3):
        raise SystemExit(f"GGUF version {version}, not 2 or 3")
    known = {}
    for _ in range(facts):
        name = r.text()
        known[name] = r.value(r.number("I"))
    listed = []
    for _ in range(tensors):
        name = r.text()
        shape = [r.number("Q") for _ in range(r.number("I"))][::-1]
        kind, offset = r.number("I"), r.number("Q")
        if kind not in ROW:
            raise SystemExit(f"{name} has type {kind}, which is not supported")
        listed.append((name, shape, kind, offset))
    step = known.get("general.alignment", 32)
    start = -(-r.at // step) * step
    return known, {name: floats(r.data[start + offset:], kind, int(np.prod(shape))).reshape(shape)
                   for name, shape, kind, offset in listed}
