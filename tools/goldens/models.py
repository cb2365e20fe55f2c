#!/usr/bin/env python3
"""Makes tests/golden/models: tiny random models of each family, saved by Hugging Face Transformers. Each has
expected.safetensors: its results for some ids, computed in float64. Sizes are odd, and every parameter differs from
its initial value, so that a parameter that is not used is noticed. Needs the pinned packages:
tools/venv DIR torch transformers safetensors; then DIR/bin/python tools/goldens/models.py [FOLDER].

--live --seed N: other sizes from the seed, for tools/parity."""
import argparse
import os
import random
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BartForQuestionAnswering,
    BartForSequenceClassification,
    BartModel,
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    DistilBertForTokenClassification,
    DistilBertModel,
    GPT2Config,
    GPT2ForQuestionAnswering,
    GPT2ForSequenceClassification,
    GPT2ForTokenClassification,
    GPT2LMHeadModel,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForQuestionAnswering,
    LlamaForSequenceClassification,
    LlamaForTokenClassification,
    LlamaModel,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartForQuestionAnswering,
    MBartForSequenceClassification,
    MistralConfig,
    MistralForCausalLM,
    MistralForQuestionAnswering,
    MistralForSequenceClassification,
    MistralForTokenClassification,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForQuestionAnswering,
    Qwen2ForSequenceClassification,
    Qwen2ForTokenClassification,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForQuestionAnswering,
    RobertaForSequenceClassification,
    RobertaForTokenClassification,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    T5ForQuestionAnswering,
    T5ForSequenceClassification,
    T5ForTokenClassification,
    WhisperConfig,
    WhisperForConditionalGeneration,
    WhisperModel,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
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


def distilbert(size, layers, **other):
    return DistilBertConfig(
        vocab_size=size["vocab"], dim=size["width"], n_layers=layers, n_heads=size["heads"],
        hidden_dim=size["hidden"], max_position_embeddings=size["positions"], **other)


def roberta(size, layers, kind=RobertaConfig, **other):
    return kind(
        vocab_size=size["vocab"], hidden_size=size["width"], num_hidden_layers=layers,
        num_attention_heads=size["heads"], intermediate_size=size["hidden"], layer_norm_eps=1e-5,
        max_position_embeddings=size["positions"] + 2, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        **{"type_vocab_size": 1, **other})


def llama(size, layers, kind=LlamaConfig, **other):
    return kind(
        vocab_size=size["vocab"], hidden_size=size["width"], num_hidden_layers=layers,
        num_attention_heads=size["heads"], num_key_value_heads=1, intermediate_size=size["hidden"],
        max_position_embeddings=size["positions"], bos_token_id=1, eos_token_id=2, **other)


def long_rope(size, original, **other):
    """Transformers uses the long list of factors for texts longer than the original length, Hecate if a setting says so."""
    pairs = size["width"] // size["heads"] // 2
    return {"rope_type": "longrope", "rope_theta": 100.0, "original_max_position_embeddings": original,
            "short_factor": [1 + 0.25 * i for i in range(pairs)], "long_factor": [3.0 + i for i in range(pairs)],
            **other}


def bart(size, kind=BartConfig, **other):
    return kind(
        vocab_size=size["vocab"], d_model=size["width"], encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=size["heads"], decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["hidden"], decoder_ffn_dim=size["hidden"] + 4,
        max_position_embeddings=size["positions"], decoder_start_token_id=2, **other)


def t5(size, **other):
    return T5Config(
        vocab_size=size["vocab"], d_model=size["width"], d_kv=size["width"] // size["heads"] + 2,
        d_ff=size["hidden"], num_layers=size["layers"], num_decoder_layers=1, num_heads=size["heads"],
        relative_attention_num_buckets=8, relative_attention_max_distance=10, decoder_start_token_id=0,
        **other)


def whisper(size, **other):
    return WhisperConfig(
        vocab_size=size["vocab"], d_model=max(size["width"], 4),  # its sinusoids are not defined for 2
        encoder_layers=size["layers"], decoder_layers=size["layers"],
        encoder_attention_heads=size["heads"], decoder_attention_heads=size["heads"],
        encoder_ffn_dim=size["hidden"], decoder_ffn_dim=size["hidden"] + 4, num_mel_bins=size["mel"],
        max_source_positions=size["frames"], max_target_positions=size["positions"], pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None, **other)


def cases(size):
    """name, class, configuration, how it is saved. The sliding window is so wide that a query at the last padding
    token still sees a real token: Transformers computes NaN for a query that sees no key."""
    n = size["layers"]
    half = {"dtype": torch.bfloat16}
    yield ("distilbert", DistilBertForMaskedLM, distilbert(size, n), {})
    yield ("distilbert_classify", DistilBertForSequenceClassification, distilbert(size, 1, num_labels=3), half)
    yield ("distilbert_tokens", DistilBertForTokenClassification,
           distilbert(size, 1, num_labels=5, sinusoidal_pos_embds=True), half)
    yield ("distilbert_answer", DistilBertForQuestionAnswering, distilbert(size, 1, activation="relu"), half)
    yield ("distilbert_base", DistilBertModel, distilbert(size, 1), half)
    yield ("roberta", RobertaForMaskedLM, roberta(size, n), {})
    yield ("roberta_classify", RobertaForSequenceClassification, roberta(size, 1, num_labels=3), half)
    yield ("roberta_tokens", RobertaForTokenClassification, roberta(size, 1, num_labels=5, type_vocab_size=2), half)
    yield ("roberta_answer", RobertaForQuestionAnswering, roberta(size, 1, hidden_act="relu"), half)
    yield ("roberta_base", RobertaModel, roberta(size, 1), half)
    yield ("xlm-roberta", XLMRobertaForMaskedLM, roberta(size, 1, XLMRobertaConfig, tie_word_embeddings=False), half)
    yield ("llama", LlamaForCausalLM, llama(size, n), {})
    yield ("llama_three", LlamaForCausalLM, llama(
        size, 1, tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
        head_dim=size["width"] // size["heads"] + 4, rope_parameters={
            "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 16}), half)
    yield ("llama_linear", LlamaModel, llama(
        size, 1, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}), half)
    if size["width"] > 2 * size["heads"]:  # Transformers divides by (width of a head - 2)
        yield ("llama_dynamic", LlamaModel, llama(
            size, 1, rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}), half)
    yield ("llama_yarn", LlamaForCausalLM, llama(
        size, 1, rope_parameters={"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "beta_fast": 3.0,
                                  "beta_slow": 0.5, "original_max_position_embeddings": 20}), half)
    far = dict(size, positions=4 * size["positions"])
    yield ("llama_long", LlamaForCausalLM, llama(far, 1, rope_parameters=long_rope(size, size["positions"])), half)
    yield ("llama_longer", LlamaForCausalLM, llama(
        far, 1, rope_long=True, rope_parameters=long_rope(size, size["S"] - 1, attention_factor=1.3)), half)
    yield ("mistral", MistralForCausalLM, llama(size, n, MistralConfig, sliding_window=5), half)
    yield ("qwen2", Qwen2ForCausalLM, llama(
        size, n + 1, Qwen2Config, use_sliding_window=True, sliding_window=4, max_window_layers=1,
        tie_word_embeddings=True), half)
    yield ("bart", BartForConditionalGeneration, bart(size, scale_embedding=True), {})
    yield ("bart_apart", BartForConditionalGeneration, bart(size, tie_word_embeddings=False), half)
    yield ("bart_base", BartModel, bart(size, activation_function="relu"), half)
    yield ("mbart", MBartForConditionalGeneration, bart(size, MBartConfig), half)
    yield ("t5", T5ForConditionalGeneration, t5(size), {})
    yield ("t5_gated", T5ForConditionalGeneration, t5(
        size, feed_forward_proj="gated-gelu", tie_word_embeddings=False), half)
    yield ("t5_encoder", T5EncoderModel, t5(size), half)
    padded = {"pad_token_id": 0}
    yield ("gpt2_classify", GPT2ForSequenceClassification, gpt2(size, **padded, num_labels=3), half)
    yield ("gpt2_tokens", GPT2ForTokenClassification, gpt2(size, num_labels=5), half)
    yield ("gpt2_answer", GPT2ForQuestionAnswering, gpt2(size), half)
    yield ("llama_classify", LlamaForSequenceClassification, llama(size, 1, **padded, num_labels=3), half)
    yield ("llama_tokens", LlamaForTokenClassification, llama(size, 1, num_labels=5), half)
    yield ("llama_answer", LlamaForQuestionAnswering, llama(size, 1), half)
    yield ("mistral_classify", MistralForSequenceClassification, llama(
        size, 1, MistralConfig, **padded, num_labels=3), half)
    yield ("mistral_tokens", MistralForTokenClassification, llama(size, 1, MistralConfig, num_labels=5), half)
    yield ("mistral_answer", MistralForQuestionAnswering, llama(size, 1, MistralConfig), half)
    yield ("qwen2_classify", Qwen2ForSequenceClassification, llama(
        size, 1, Qwen2Config, **padded, num_labels=3), half)
    yield ("qwen2_tokens", Qwen2ForTokenClassification, llama(size, 1, Qwen2Config, num_labels=5), half)
    yield ("qwen2_answer", Qwen2ForQuestionAnswering, llama(size, 1, Qwen2Config), half)
    yield ("bart_classify", BartForSequenceClassification, bart(size, num_labels=4), half)
    yield ("bart_answer", BartForQuestionAnswering, bart(size), half)
    yield ("mbart_classify", MBartForSequenceClassification, bart(size, MBartConfig, num_labels=4), half)
    yield ("mbart_answer", MBartForQuestionAnswering, bart(size, MBartConfig), half)
    yield ("t5_classify", T5ForSequenceClassification, t5(size, num_labels=4), half)
    yield ("t5_tokens", T5ForTokenClassification, t5(size, num_labels=5), half)
    yield ("t5_answer", T5ForQuestionAnswering, t5(size), half)
    yield ("whisper", WhisperForConditionalGeneration, whisper(size), {})
    yield ("whisper_base", WhisperModel, whisper(dict(size, layers=1), activation_function="relu"), half)
    yield ("marian", MarianMTModel, marian(size, activation_function="relu", scale_embedding=True), {})
    yield ("marian_apart", MarianMTModel, marian(
        dict(size, layers=1), activation_function="swish", share_encoder_decoder_embeddings=False),
        {"dtype": torch.bfloat16, "shard": "20KB"})
    yield ("marian_three", MarianMTModel, marian(dict(size, layers=1), tie_word_embeddings=False), half)
    yield ("gpt2", GPT2LMHeadModel, gpt2(size, n_inner=size["hidden"]), {})
    yield ("gpt2_base", GPT2Model, gpt2(dict(size, layers=1), activation_function="relu"),
           {"dtype": torch.float16})
    yield ("bert", BertForMaskedLM, bert(size, n), {})
    yield ("bert_classify", BertForSequenceClassification, bert(size, 1, num_labels=3), {})
    yield ("bert_tokens", BertForTokenClassification, bert(size, 1, num_labels=5), {})
    yield ("bert_answer", BertForQuestionAnswering, bert(size, 1, hidden_act="gelu_new"), {})
    yield ("bert_base", BertModel, bert(size, 1), {"old": True})


def move(model, generator):
    """Moves every parameter, and the buffer that is used like one, away from its initial value."""
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + [
                b for b in model.named_buffers() if b[0] == "final_logits_bias"]:
            if "embed_positions" not in name or model.config.model_type == "whisper":
                p.add_(torch.randn(p.shape, generator=generator) * 0.15)


def inputs(kind, config, size, generator):
    def draw(high, *shape):
        return torch.randint(0, high, shape, generator=generator)
    if config.model_type == "whisper":
        features = torch.randn((2, config.num_mel_bins, 2 * config.max_source_positions), generator=generator)
        decoder = draw(size["vocab"], 2, size["T"])
        return ({"input_features": features.double(), "decoder_input_ids": decoder},
                {"features": features, "decoder_ids": decoder})
    length = torch.tensor([size["S"], max(1, size["S"] - 3)])
    ids = draw(size["vocab"], 2, size["S"])
    mask = (torch.arange(size["S"])[None, :] < length[:, None]).long()
    given = {"input_ids": ids, "attention_mask": mask}
    kept = {"ids": ids, "length": length}
    if getattr(config, "type_vocab_size", 1) > 1:
        kept["types"] = given["token_type_ids"] = draw(config.type_vocab_size, 2, size["S"])
    both = config.is_encoder_decoder and kind not in (T5EncoderModel, T5ForTokenClassification)
    if kind.__name__.endswith("ForSequenceClassification") and (both or config.model_type in DECODERS):
        mark_ends(ids, length, config, both)
        if both:  # the row of the decoder is at the position of the end of text in the encoder
            kept["decoder_ids"] = given["decoder_input_ids"] = draw(size["vocab"], 2, size["S"])
    elif both:
        kept["decoder_ids"] = given["decoder_input_ids"] = draw(size["vocab"], 2, size["T"])
    return given, kept


DECODERS = ("gpt2", "llama", "mistral", "qwen2")
WRITERS = ("LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "MTModel")


def mark_ends(ids, length, config, both):
    """Ids for classification. Transformers finds the row by the ids: there is one end of text, or no padding after it."""
    for row, n in zip(ids, length):
        if both:
            row[row == config.eos_token_id] += 1
            row[n - 1] = config.eos_token_id
        else:
            row[row == config.pad_token_id] += 1
            row[n:] = config.pad_token_id


def greedy(model, kept, size):
    """Greedy continuation of the first sequence (or of its first id in the decoder), without a cache. It ends where two
    logits are too close."""
    if "features" in kept:
        source = {"input_features": kept["features"][:1].double()}
    else:
        source = {"input_ids": kept["ids"][:1]}
    written = kept["decoder_ids"][:1, :1] if "decoder_ids" in kept else kept["ids"][:1]
    found = []
    for _ in range(min(8, size["positions"] - written.shape[1])):
        given = dict(source, decoder_input_ids=written) if "decoder_ids" in kept else {"input_ids": written}
        with torch.no_grad():
            best = model(**given, use_cache=False).logits[0, -1].topk(2)
        if best.values[0] - best.values[1] < 1e-3:
            break
        found.append(best.indices[0])
        written = torch.cat([written, best.indices[:1, None]], 1)
    return torch.stack(found) if found else torch.zeros(0, dtype=torch.int64)


def searched(model, kept, size):
    """Beam search after a prompt of several tokens: the new ids and the score."""
    prompt = kept["decoder_ids"][:, :min(3, size["positions"] - 1)]
    out = transformers.GenerationMixin.generate(
        model, input_features=kept["features"].double(), decoder_input_ids=prompt, num_beams=4,
        max_new_tokens=min(7, size["positions"] - prompt.shape[1]), return_dict_in_generate=True, output_scores=True,
        do_sample=False)
    return {"prompt": prompt, "beam": out.sequences[:, prompt.shape[1]:], "beam_score": out.sequences_scores}


def old_names(path):
    """Parameter names of the first BERT checkpoints: gamma and beta, without the name of the base model."""
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
    given, kept = inputs(kind, config, size, generator)
    model = kind.from_pretrained(path, dtype=torch.float64, attn_implementation="eager").eval()
    with torch.no_grad():
        out = model(**given, output_attentions=True)
    names = {"encoder_attentions": "attentions", "attentions": "attentions",
             "decoder_attentions": "decoder_attentions", "cross_attentions": "cross_attentions"}
    for theirs, name in names.items():
        for i, weights in enumerate(out.get(theirs) or []):
            kept[f"{name}.{i}"] = weights.float()
    if "logits" in out:
        kept["logits"] = out.logits
    elif "start_logits" in out:
        kept["logits"] = torch.stack([out.start_logits, out.end_logits], -1)
    else:
        kept["hidden"] = out.last_hidden_state
    if "encoder_last_hidden_state" in out:
        kept["memory"] = out.encoder_last_hidden_state
    if "pooler_output" in out:
        kept["pooled"] = out.pooler_output
    if kind.__name__.endswith(WRITERS):
        kept["greedy"] = greedy(model, kept, size)
    if "logits" in out and "features" in kept:
        kept.update(searched(model, kept, size))
    kept = {k: (v.to(torch.int32) if v.dtype == torch.int64 else v).contiguous() for k, v in kept.items()}
    save_file(kept, os.path.join(path, "expected.safetensors"))
    if how.get("old"):
        old_names(os.path.join(path, "model.safetensors"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="tests/golden/models")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="models whose names begin so; each has numbers of its own")
    args = parser.parse_args()
    if transformers.__version__ != PINNED:
        raise SystemExit(f"transformers is {transformers.__version__}, the files are made with {PINNED}")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    size = {"vocab": 101, "width": 30, "heads": 3, "hidden": 34, "layers": 2, "positions": 24, "S": 7, "T": 5,
            "mel": 7, "frames": 15}
    if args.live:
        r = random.Random(args.seed)
        heads = r.choice([1, 2, 3, 5])
        size = {"vocab": r.randint(50, 400), "width": heads * r.choice([2, 6, 10, 16]), "heads": heads,
                "hidden": r.randint(5, 90), "layers": r.randint(1, 3), "positions": r.randint(12, 40),
                "S": r.randint(2, 12), "T": r.randint(1, 12), "mel": r.randint(1, 20), "frames": r.randint(1, 40)}
    os.makedirs(args.folder, exist_ok=True)
    for name, kind, config, how in cases(size):
        if not name.startswith(args.only):
            continue
        torch.manual_seed(args.seed)
        generator = torch.Generator().manual_seed(args.seed)
        make(args.folder, name, kind, config, how, size, generator)


if __name__ == "__main__":
    main()
