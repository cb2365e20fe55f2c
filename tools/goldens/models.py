#!/usr/bin/env python3
"""Makes tests/golden/models: tiny random models of each family as Hugging Face Transformers saves them,
each with expected.safetensors: what it gives for some ids, computed in float64. Odd sizes, and every
parameter moved away from where it starts, so that each one is really used. Needs the pinned packages:
tools/venv DIR torch transformers safetensors; then DIR/bin/python tools/goldens/models.py [FOLDER].

--live --seed N: other sizes each time, for tools/parity."""
import argparse
import os
import random
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    MarianConfig,
    MarianMTModel,
)

PINNED = "5.22.2"


def marian(size, **other):
    vocab = size["vocab"]
    return MarianConfig(
        vocab_size=vocab, d_model=size["width"], encoder_layers=1, decoder_layers=size["layers"],
        encoder_attention_heads=size["heads"], decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["hidden"], decoder_ffn_dim=size["hidden"] + 4,
        max_position_embeddings=size["positions"], pad_token_id=vocab - 1,
        decoder_start_token_id=vocab - 1, eos_token_id=0, forced_eos_token_id=0, **other)


def gpt2(size, **other):
    return GPT2Config(
        vocab_size=size["vocab"], n_embd=size["width"], n_layer=size["layers"], n_head=size["heads"],
        n_positions=size["positions"], bos_token_id=1, eos_token_id=2, **other)


def bert(size, layers, **other):
    return BertConfig(
        vocab_size=size["vocab"], hidden_size=size["width"], num_hidden_layers=layers,
        num_attention_heads=size["heads"], intermediate_size=size["hidden"],
        max_position_embeddings=size["positions"], type_vocab_size=3, **other)


def cases(size):
    """name, class, configuration, how it is saved."""
    n = size["layers"]
    yield ("marian", MarianMTModel, marian(size, activation_function="relu", scale_embedding=True), {})
    yield ("marian_apart", MarianMTModel, marian(
        dict(size, layers=1), activation_function="swish", share_encoder_decoder_embeddings=False),
        {"dtype": torch.bfloat16, "shard": "20KB"})
    yield ("gpt2", GPT2LMHeadModel, gpt2(size, n_inner=size["hidden"]), {})
    yield ("gpt2_base", GPT2Model, gpt2(dict(size, layers=1), activation_function="relu"),
           {"dtype": torch.float16})
    yield ("bert", BertForMaskedLM, bert(size, n), {})
    yield ("bert_classify", BertForSequenceClassification, bert(size, 1, num_labels=3), {})
    yield ("bert_tokens", BertForTokenClassification, bert(size, 1, num_labels=5), {})
    yield ("bert_answer", BertForQuestionAnswering, bert(size, 1, hidden_act="gelu_new"), {})
    yield ("bert_base", BertModel, bert(size, 1), {"old": True})


def move(model, generator):
    """Every parameter, and the buffer that is one in all but name, away from its initial value."""
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + [
                b for b in model.named_buffers() if b[0] == "final_logits_bias"]:
            if "embed_positions" not in name:
                p.add_(torch.randn(p.shape, generator=generator) * 0.15)


def inputs(config, size, generator):
    def draw(high, *shape):
        return torch.randint(0, high, shape, generator=generator)
    length = torch.tensor([size["S"], max(1, size["S"] - 3)])
    ids = draw(size["vocab"], 2, size["S"])
    mask = (torch.arange(size["S"])[None, :] < length[:, None]).long()
    given = {"input_ids": ids, "attention_mask": mask}
    kept = {"ids": ids, "length": length}
    if config.model_type == "bert":
        kept["types"] = given["token_type_ids"] = draw(config.type_vocab_size, 2, size["S"])
    if config.model_type == "marian":
        kept["decoder_ids"] = given["decoder_input_ids"] = draw(size["vocab"], 2, size["T"])
    return given, kept


def old_names(path):
    """As BERT's first files had them: gamma and beta, without the name of the base model."""
    rename = lambda k: k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    tensors = {rename(k): v for k, v in load_file(path).items()}
    tensors["embeddings.position_ids"] = torch.arange(4)[None, :]
    save_file(tensors, path, {"format": "pt"})


def make(folder, name, kind, config, how, size, generator):
    model = kind(config).eval()
    move(model, generator)
    model = model.to(how.get("dtype", torch.float32))
    path = os.path.join(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    model.save_pretrained(path, max_shard_size=how.get("shard", "1GB"))
    given, kept = inputs(config, size, generator)
    model = kind.from_pretrained(path, dtype=torch.float64, attn_implementation="eager").eval()
    with torch.no_grad():
        out = model(**given)
    if "logits" in out:
        kept["logits"] = out.logits
    elif "start_logits" in out:
        kept["logits"] = torch.stack([out.start_logits, out.end_logits], -1)
    else:
        kept["hidden"] = out.last_hidden_state
    if "encoder_last_hidden_state" in out:
        kept["memory"] = out.encoder_last_hidden_state
    kept = {k: (v.to(torch.int32) if v.dtype == torch.int64 else v).contiguous() for k, v in kept.items()}
    save_file(kept, os.path.join(path, "expected.safetensors"))
    if how.get("old"):
        old_names(os.path.join(path, "model.safetensors"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="tests/golden/models")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if transformers.__version__ != PINNED:
        raise SystemExit(f"transformers is {transformers.__version__}, the files are made with {PINNED}")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    generator = torch.Generator().manual_seed(args.seed)
    torch.manual_seed(args.seed)
    size = {"vocab": 101, "width": 30, "heads": 3, "hidden": 34, "layers": 2, "positions": 24, "S": 7, "T": 5}
    if args.live:
        r = random.Random(args.seed)
        heads = r.choice([1, 2, 3, 5])
        size = {"vocab": r.randint(50, 400), "width": heads * r.choice([2, 6, 10, 16]), "heads": heads,
                "hidden": r.randint(5, 90), "layers": r.randint(1, 3), "positions": r.randint(12, 40),
                "S": r.randint(2, 12), "T": r.randint(1, 12)}
    os.makedirs(args.folder, exist_ok=True)
    for name, kind, config, how in cases(size):
        make(args.folder, name, kind, config, how, size, generator)


if __name__ == "__main__":
    main()
