#!/usr/bin/env python3
"""Compares `hecate tokenize` on vocabularies without tokenizer.json with sentencepiece and Transformers, line by line.

    tools/parity_spm.py HECATE FOLDER [--seed N] [--lines N] [--model FILE]…

The script trains SentencePiece models (unigram and BPE; with and without byte fallback and symbols, spaces kept or
merged) and compares with `sentencepiece`. It compares folders with vocab.txt, vocab.json + merges.txt or a SentencePiece
model with the classes of Transformers. --model compares an existing SentencePiece file. Ids, tokens and offsets must be
equal. The last line counts the vocabularies."""
import argparse
import json
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.dirname(__file__))
import parity_tokenizers as parity  # noqa: E402
import sentencepiece  # noqa: E402

TEXT = parity.WORDS[:120]


def training_lines(seed, count):
    r = random.Random(seed)
    return [" ".join(r.choice(TEXT) for _ in range(r.randint(3, 14))) for _ in range(count)]


def train(path, seed, **options):
    options = {"vocab_size": 700, "minloglevel": 2, "hard_vocab_limit": False, "character_coverage": 0.995,
               **options}
    with open(path, "wb") as f:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(training_lines(seed, 3000)), model_writer=f, **options)


VARIANTS = {
    "unigram": {},
    "unigram bytes": {"byte_fallback": True},
    "unigram symbols": {"user_defined_symbols": ["<sep>", "ist", "über  x", "▁the▁"], "control_symbols": ["<ctl>"]},
    "unigram identity": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "unigram folded": {"normalization_rule_name": "nmt_nfkc_cf", "add_dummy_prefix": False},
    "unigram suffix": {"treat_whitespace_as_suffix": True},
    "unigram surface": {"unk_surface": " [?]"},
    "bpe": {"model_type": "bpe"},
    "bpe bytes": {"model_type": "bpe", "byte_fallback": True, "split_digits": True,
                  "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
                  "allow_whitespace_only_pieces": True},
    "bpe symbols": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "ist", "aa"], "split_by_whitespace": False},
    "bpe nfkc": {"model_type": "bpe", "normalization_rule_name": "nfkc", "add_dummy_prefix": False},
}


def spans(sp, text):
    """Ids, tokens, and their byte spans in the text. A part of a character has the span of the character."""
    proto = sp.encode(text, return_type="proto")
    pieces = list(proto.pieces)
    ids = [p.id for p in pieces]
    tokens = [sp.id_to_piece(i) for i in ids]
    offsets = [[p.begin, p.end] for p in pieces]
    return ids, tokens, offsets


def same_span(ours, theirs, partial):
    """Whether two spans agree. For a part of a character, sentencepiece's span may be empty or end before the character."""
    return ours == theirs or (partial and ours[0] == theirs[0] and ours[1] >= theirs[1])


def compare_spm(program, name, path, lines):
    sp = sentencepiece.SentencePieceProcessor(model_file=path)
    controls = [sp.id_to_piece(i) for i in range(len(sp)) if sp.is_control(i) or sp.is_unknown(i)]
    lines = [x for x in lines if not any(c in x for c in controls)]
    wrong = 0
    try:
        got = parity.hecate(program, path, lines)
    except RuntimeError as error:
        print("%-28s FAILED: %s" % (name, error))
        return len(lines)
    exact = 0
    for text, ours in zip(lines, got):
        ids, tokens, offsets = spans(sp, text)
        bad = None
        if ours["ids"] != ids:
            bad = ("ids", ours["ids"], ids)
        elif ours["tokens"] != tokens:
            bad = ("tokens", ours["tokens"], tokens)
        else:
            exact += ours["offsets"] == offsets
            at = set(parity.byte_positions(text))
            for k, (a, b) in enumerate(zip(ours["offsets"], offsets)):
                # If normalization makes several characters from one, sentencepiece ends the first one where it begins.
                partial = k + 1 < len(offsets) and offsets[k + 1][0] == b[1] or b[0] == b[1]
                if not same_span(a, b, partial) or a[0] not in at or a[1] not in at:
                    bad = ("offsets", ours["offsets"][k:], offsets[k:])
                    break
        if bad:
            wrong += 1
            if wrong <= 3:
                what, a, b = bad
                k = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print("  %s: %r: %s from %d: %r, not %r" % (name, text[:80], what, k, a[k:k + 6], b[k:k + 6]))
    texts = 0
    back = parity.hecate(program, path, [" ".join(map(str, y["ids"])) for y in got], "--decode")
    for text, ids, ours in zip(lines, (y["ids"] for y in got), back):
        want = sp.decode(ids)
        if ours["text"] != want:
            texts += 1
            if texts <= 3:
                print("  %s: %r decodes to %r, not %r" % (name, text[:60], ours["text"][:80], want[:80]))
    print("%-28s %d lines, %d differ, %d decode differently (%d with the very same offsets)" %
          (name, len(lines), wrong, texts, exact))
    return wrong + texts


def write(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def families(folder, lines, seed):
    """Makes folders without tokenizer.json; yields each with the Transformers class that opens it."""
    from transformers import (BertTokenizer, GPT2Tokenizer, LlamaTokenizer, MarianTokenizer, Qwen2Tokenizer,
                              RobertaTokenizer, T5Tokenizer, WhisperTokenizer, XLMRobertaTokenizer)
    from tokenizers import models as M
    from tokenizers import pre_tokenizers as P

    def fresh(name):
        path = os.path.join(folder, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    some = lines[:2000]
    words = json.loads(parity.made(M.WordPiece(unk_token="[UNK]"), some, 2000,
                                   pre_tokenizer=P.BertPreTokenizer()).to_str())["model"]["vocab"]
    listed = "\n".join(sorted(words, key=words.get)) + "\n"
    for name, config in (("bert", {"do_lower_case": True}), ("bert-cased", {"do_lower_case": False}),
                         ("bert-accents", {"do_lower_case": True, "strip_accents": False,
                                           "tokenize_chinese_chars": False})):
        path = fresh(name)
        write(path, "vocab.txt", listed)
        write(path, "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", **config})
        if name == "bert-cased":
            write(path, "special_tokens_map.json", {"mask_token": {"content": "[MASK]", "lstrip": True,
                                                                   "rstrip": False, "normalized": False,
                                                                   "single_word": False}})
        yield name, path, BertTokenizer
    model = json.loads(parity.made(M.BPE(), some, 1500, pre_tokenizer=P.ByteLevel(add_prefix_space=False))
                       .to_str())["model"]
    vocab = {k: v for k, v in model["vocab"].items()}
    for token in ("<s>", "<pad>", "<mask>", "<|endoftext|>"):
        vocab.setdefault(token, len(vocab))
    merges = "#version: 0.2\n" + "\n".join(m if isinstance(m, str) else " ".join(m) for m in model["merges"]) + "\n"
    for name, cls, config in (
            ("gpt2", GPT2Tokenizer, {}), ("gpt2-bos", GPT2Tokenizer, {"add_bos_token": True, "add_prefix_space": True}),
            ("roberta", RobertaTokenizer, {"mask_token": {"content": "<mask>", "lstrip": True, "rstrip": False,
                                                          "normalized": False, "single_word": False,
                                                          "__type": "AddedToken"}}),
            ("qwen2", Qwen2Tokenizer, {"added_tokens_decoder": {str(len(vocab)): {
                "content": "<|im_start|>", "lstrip": False, "rstrip": False, "normalized": False,
                "single_word": False, "special": True}}}),
            ("whisper", WhisperTokenizer, {})):
        path = fresh(name)
        write(path, "vocab.json", vocab)
        write(path, "merges.txt", merges)
        write(path, "tokenizer_config.json", {"tokenizer_class": cls.__name__, **config})
        if name == "whisper":
            write(path, "added_tokens.json", {"<|startoftranscript|>": len(vocab), "<|notimestamps|>": len(vocab) + 1,
                                              "<|0.00|>": len(vocab) + 2})
        yield name, path, cls
    for name, cls, file, options, config in (
            ("t5", T5Tokenizer, "spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}, {}),
            ("xlm-roberta", XLMRobertaTokenizer, "sentencepiece.bpe.model", {}, {}),
            ("llama", LlamaTokenizer, "tokenizer.model", VARIANTS["bpe bytes"], {"add_bos_token": True}),
            ("llama-legacy", LlamaTokenizer, "tokenizer.model", VARIANTS["bpe bytes"],
             {"legacy": True, "add_eos_token": True})):
        path = fresh(name)
        train(os.path.join(path, file), seed, **options)
        write(path, "tokenizer_config.json", {"tokenizer_class": cls.__name__, **config})
        yield name, path, cls
    path = fresh("marian")
    train(os.path.join(path, "source.spm"), seed)
    train(os.path.join(path, "target.spm"), seed + 1, vocab_size=500)
    r = random.Random(seed)
    pieces = set()
    for file in ("source.spm", "target.spm"):
        sp = sentencepiece.SentencePieceProcessor(model_file=os.path.join(path, file))
        pieces |= {sp.id_to_piece(i) for i in range(3, len(sp)) if r.random() < 0.97}
    tokens = ["</s>", "<unk>"] + sorted(pieces) + ["猫", ">>fra<<", "<pad>"]
    write(path, "vocab.json", {t: i for i, t in enumerate(tokens)})
    write(path, "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"})
    yield "marian", path, MarianTokenizer


def compare_family(program, name, path, cls, lines):
    theirs = cls.from_pretrained(path)
    wrong = 0
    try:
        got = parity.hecate(program, path, lines)
    except RuntimeError as error:
        print("%-28s FAILED: %s" % (name, error))
        return len(lines)
    fast = theirs.is_fast
    for text, ours in zip(lines, got):
        want = theirs(text, return_offsets_mapping=fast)
        ids = want["input_ids"]
        bad = None
        if ours["ids"] != ids:
            bad = ("ids", ours["ids"], ids)
        elif fast:
            at = parity.byte_positions(text)
            offsets = [[at[b], at[e]] for b, e in want["offset_mapping"]]
            if ours["offsets"] != offsets:
                bad = ("offsets", ours["offsets"], offsets)
        if bad:
            wrong += 1
            if wrong <= 3:
                what, a, b = bad
                k = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print("  %s: %r: %s from %d: %r, not %r" % (name, text[:80], what, k, a[k:k + 6], b[k:k + 6]))
    print("%-28s %d lines, %d differ" % (name, len(lines), wrong))
    return wrong


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lines", type=int, default=10000)
    p.add_argument("--model", action="append", default=[])
    p.add_argument("--only", default="")
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    lines = parity.mixed_lines(a.seed, a.lines)
    wrong = sum(compare_spm(a.program, m, m, lines) for m in a.model)
    if not a.model:
        for name, options in VARIANTS.items():
            if a.only in name:
                path = os.path.join(a.folder, name.replace(" ", "-") + ".model")
                train(path, a.seed, **options)
                wrong += compare_spm(a.program, name, path, lines)
        for name, path, cls in families(a.folder, lines, a.seed):
            if a.only in name:
                wrong += compare_family(a.program, name, path, cls, lines)
    print("sentencepiece %s, seed %d: %d differences" % (sentencepiece.__version__, a.seed, wrong))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
