"""Reads the weights of a quantised ONNX model: the initialisers as arrays, and the nodes as (kind, name, inputs)."""
import numpy as np

from protocol_buffer import fields, packed

KINDS = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}  # TensorProto.DataType


def tensor(message):
    shape, kind, name, raw, values = [], None, None, None, []
    for number, value in fields(message):
        if number == 1:
            shape += [value] if isinstance(value, int) else list(packed(value))
        elif number == 2:
            kind = value
        elif number == 4:  # float_data
            values += np.frombuffer(value, "<f4").tolist()
        elif number == 5:  # int32_data
            values += [value] if isinstance(value, int) else list(packed(value))
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = value
    if kind not in KINDS:
        return name, None
    if raw is None:  # negative numbers are stored with 64 bits: keep only the lowest
        return name, np.array(values).astype(np.float32 if kind == 1 else np.int64).astype(KINDS[kind]).reshape(shape)
    return name, np.frombuffer(raw, KINDS[kind]).reshape(shape)


def load(data):
    graph = next(value for number, value in fields(memoryview(data)) if number == 7)
    arrays, nodes = {}, []
    for number, value in fields(graph):
        if number == 5:
            name, array = tensor(value)
            arrays[name] = array
        elif number == 1:
            node = {1: [], 3: [], 4: []}
            for n, v in fields(value):
                if n in node:
                    node[n].append(bytes(v).decode())
            nodes.append((node[4][0], node[3][0] if node[3] else "", node[1]))
    return arrays, nodes


def whole_again(arrays, stem):
    """Dequantizes stem_quantized with its scale and zero point, for the whole array or for each column."""
    zero = arrays[stem + "_zero_point"].astype(np.int32)
    return (arrays[stem + "_quantized"].astype(np.int32) - zero).astype(np.float32) * arrays[stem + "_scale"]
