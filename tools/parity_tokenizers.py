#!/usr/bin/env python3
"""Compares `hecate tokenize` with the pinned `tokenizers` on lines of mixed scripts.

    tools/parity_tokenizers.py HECATE FOLDER [--seed N] [--lines N] [--model DIR]…

Hecate trains byte-level and Unicode vocabularies on the lines, and `tokenizers` writes every kind of component of
tokenizer.json. Then both encode the same lines. Ids, tokens, offsets (converted from characters to bytes) and decoded
texts must be equal. --model compares an existing folder or file. The last line counts the tokenizers."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders as D
from tokenizers import models as M
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import processors as X
from tokenizers import trainers as T

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "models", "real"))
from protocol_buffer import fields  # noqa: E402

RANGES = {
    "latin": (0x61, 0x7A), "latin1": (0xC0, 0xFF), "extended": (0x100, 0x24F),
    "greek": (0x391, 0x3C9), "cyrillic": (0x410, 0x44F), "hebrew": (0x5D0, 0x5EA),
    "arabic": (0x621, 0x64A), "hindi": (0x905, 0x94D), "thai": (0xE01, 0xE4E),
    "georgian": (0x10D0, 0x10F0), "hangul": (0xAC00, 0xAFFF), "kana": (0x3041, 0x30FE),
    "han": (0x4E00, 0x4FFF), "han2": (0x20000, 0x200FF), "marks": (0x300, 0x36F),
    "digits": (0x30, 0x39), "arabic digits": (0x660, 0x669), "numbers": (0x2150, 0x218B),
    "punctuation": (0x21, 0x2F), "general": (0x2010, 0x205E), "symbols": (0x2190, 0x25FF),
    "fullwidth": (0xFF01, 0xFF5E), "emoji": (0x1F300, 0x1F64F), "math": (0x1D400, 0x1D7FF),
    "control": (0x01, 0x1F), "c1": (0x80, 0x9F), "private": (0xE000, 0xE0FF),
    "any": (0x20, 0x2FFFF),
}
WORDS = """the of and to in a is that it was for on are as with his they at be this from I have or by
don't it's we'll they've I'm you'd O'Neil's naïve café Straße Größe über für Äpfel Übung daß weiß
nicht ist und der die das ein eine Zeichenkette Donaudampfschifffahrtsgesellschaft
привет мир Ελλάδα שלום مرحبا नमस्ते हिन्दी สวัสดี 你好 世界 こんにちは カタカナ 안녕하세요 e\u0301 ﬁ ﬀ Ǆ ǅ İ ı ẞ
http://example.org/a?b=c&d=e#f foo_bar fooBar FOO_BAR_2 x+=1; if(x<=0){return;} /* c */ #include <a.h>
123 3.14 1,000,000 0x7f 1e-9 ½ ² Ⅷ ٣٤ 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 … — “q” «q» ‹q› ▁ ▁▁ Ġ Ċ <0x41> [UNK] </s> <pad> <unk>
[CLS] [SEP] [MASK] ##ing ... !!! ?! -- $5.00 50% a@b.c ＡＢＣ １２３ ㍿ ﷺ ①""".split()
SPACES = [" "] * 30 + ["  ", "   ", "\t", "\u00a0", "\u2003", "\u3000", "\r", "\x0b", "\u2028", "\u200b", ""]


def character(r, name):
    low, high = RANGES[name]
    while True:
        c = r.randint(low, high)
        if not 0xD800 <= c <= 0xDFFF and c != 10:
            return chr(c)


def word(r):
    kind = r.random()
    if kind < 0.6:
        return r.choice(WORDS)
    if kind < 0.97:
        name = r.choice(list(RANGES))
        return "".join(character(r, name) for _ in range(r.randint(1, 8)))
    if kind < 0.99:
        return r.choice(WORDS) * r.randint(2, 6)
    return character(r, "latin") * r.randint(30, 3000)


def line(r):
    return "".join(x for _ in range(r.randint(0, 20)) for x in (word(r), r.choice(SPACES)))


def mixed_lines(seed, count):
    r = random.Random(seed)
    fixed = ["", " ", "  ", "a", " a", "a ", "▁", " ▁", "▁ ", "\u0301", "'s", "'", "don't've", "\x00", "a\x00b"]
    return fixed + [line(r) for _ in range(count - len(fixed))]


def byte_positions(text):
    at, out = 0, []
    for c in text:
        out.append(at)
        at += len(c.encode())
    return out + [at]


def hecate(program, model, lines, *options):
    data = "".join(line + "\r\n" for line in lines)  # \r\n, so that a text may end with \r
    done = subprocess.run([program, "tokenize", "-m", model, "--json", *options], input=data.encode(),
                          capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return [json.loads(x) for x in done.stdout.decode().split("\n")[:-1]]


def differ(name, text, say, parts):
    """Whether a part (what, ours, theirs) of a line differs. Prints the place if `say` is true."""
    for what, a, b in parts:
        if a != b:
            if say:
                k = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print("  %s: %r: %s from %d: %r, not %r" % (name, text[:80], what, k, a[k:k + 6], b[k:k + 6]))
            return True
    return False


def compare(program, name, path, lines, decoding=True):
    """Returns how many lines differ, and prints the first of them."""
    file = os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path
    theirs = Tokenizer.from_file(file)
    theirs.no_padding()
    theirs.no_truncation()
    wrong = 0
    all_ids = []
    try:
        ours_all = hecate(program, path, lines)
    except RuntimeError as error:
        print("%-28s FAILED: %s" % (name, error))
        return len(lines)
    encoded = theirs.encode_batch(lines)
    for text, ours, want in zip(lines, ours_all, encoded):
        at = byte_positions(text)
        offsets = [[at[b], at[e]] for b, e in want.offsets]
        all_ids.append(want.ids)
        # For an unknown token, a Unigram model returns the text itself. Compare with the vocabulary's token.
        tokens = [theirs.id_to_token(i) for i in want.ids]
        wrong += differ(name, text, wrong < 3,
                        (("ids", ours["ids"], want.ids), ("tokens", ours["tokens"], tokens),
                         ("offsets", ours["offsets"], offsets)))
    texts = 0
    if decoding:
        for skip in (False, True):
            got = hecate(program, path, [" ".join(map(str, x)) for x in all_ids], "--decode",
                         *(["--no-special"] if skip else []))
            for text, ours, ids in zip(lines, got, all_ids):
                want = theirs.decode(ids, skip_special_tokens=skip)
                if ours["text"] != want:
                    texts += 1
                    if texts <= 3:
                        print("  %s: %r decodes to %r, not %r" % (name, text[:60], ours["text"][:80], want[:80]))
    print("%-28s %d lines, %d differ, %d decode differently" % (name, len(lines), wrong, texts))
    return wrong + texts


def learned(program, folder, lines):
    """Vocabularies trained by Hecate."""
    text = os.path.join(folder, "lines.txt")
    with open(text, "wb") as f:
        f.write("\n".join(lines).encode())
    for name, options in (("bytes", []), ("unicode", ["--unicode"])):
        out = os.path.join(folder, "learned-" + name)
        shutil.rmtree(out, ignore_errors=True)  # hecate does not overwrite existing files
        subprocess.run([program, "tokenize", "--train", text, "--vocab", "4000", "--out", out, *options],
                       check=True, stdout=subprocess.DEVNULL)
        yield "learned " + name, out


SPECIALS = ["<unk>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "</s>"]
VOCAB = 3000  # the vocabulary size of models trained by `tokenizers`
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = "".join(r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]%s[\p{Ll}\p{Lm}\p{Lo}\p{M}]%s"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|" % few for few in (("*", "+"), ("+", "*")))
O200K += r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def made(model, lines, vocab=None, **parts):
    """A tokenizer with these components, trained by `tokenizers`."""
    vocab = vocab or VOCAB
    t = Tokenizer(model)
    for name, part in parts.items():
        setattr(t, name, part)
    kind = type(model).__name__
    common = dict(special_tokens=SPECIALS, show_progress=False)
    if kind == "BPE":
        for affix in ("end_of_word_suffix", "continuing_subword_prefix"):
            if getattr(model, affix):
                common[affix] = getattr(model, affix)
        trainer = T.BpeTrainer(vocab_size=vocab, initial_alphabet=P.ByteLevel.alphabet(),
                               limit_alphabet=800, **common)
    elif kind == "WordPiece":
        trainer = T.WordPieceTrainer(vocab_size=vocab, limit_alphabet=800, **common)
    elif kind == "Unigram":
        trainer = T.UnigramTrainer(vocab_size=max(VOCAB // 5, 220), unk_token="<unk>", **common)
    else:
        trainer = T.WordLevelTrainer(vocab_size=vocab, **common)
    if kind == "Unigram":  # every character needs a vocabulary entry: use fewer characters
        r = random.Random(5)
        lines = [" ".join(r.choice(WORDS) for _ in range(12)) for _ in lines]
    # Hecate's JSON reader does not accept U+0000 in a key.
    t.train_from_iterator([x[:400].replace("\0", "") for x in lines], trainer)
    return t


def with_bytes(t):
    """The same tokenizer with <0x00> … in the vocabulary and byte fallback enabled."""
    spec = json.loads(t.to_str())
    vocab = spec["model"]["vocab"]
    for i in range(256):
        name = "<0x%02X>" % i
        if isinstance(vocab, list):
            vocab.append([name, -20.0])
        else:
            vocab.setdefault(name, len(vocab))
    spec["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(spec))


def charsmap(name):
    """SentencePiece's normalization table, from a small model trained here."""
    import io
    import sentencepiece
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS)] * 20), model_writer=out, vocab_size=300,
        normalization_rule_name=name, minloglevel=2, hard_vocab_limit=False)
    spec = dict(fields(dict(fields(out.getvalue()))[3]))
    return spec[2]


def written(lines):
    """Every kind of component that tokenizer.json can have, written by `tokenizers`."""
    some = lines[:3000]
    cls = [("[CLS]", 2), ("[SEP]", 3), ("</s>", 6)]
    bert = dict(normalizer=N.BertNormalizer(), pre_tokenizer=P.BertPreTokenizer(),
                decoder=D.WordPiece(), post_processor=X.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))
    gpt2 = dict(pre_tokenizer=P.ByteLevel(add_prefix_space=False), decoder=D.ByteLevel(),
                post_processor=X.ByteLevel(trim_offsets=True))
    yield "BPE gpt2", made(M.BPE(), some, **gpt2)
    t = made(M.BPE(), some, pre_tokenizer=P.ByteLevel(add_prefix_space=True), decoder=D.ByteLevel(),
             post_processor=X.RobertaProcessing(("</s>", 6), ("[CLS]", 2)))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    yield "BPE roberta", t
    t = made(M.BPE(ignore_merges=True), some,
             pre_tokenizer=P.Sequence([P.Split(Regex(LLAMA3), "isolated"),
                                       P.ByteLevel(add_prefix_space=False, use_regex=False)]),
             decoder=D.ByteLevel(),
             post_processor=X.Sequence([X.ByteLevel(trim_offsets=True), X.TemplateProcessing(
                 single="[CLS] $A", pair="[CLS] $A [CLS]:1 $B:1", special_tokens=cls)]))
    yield "BPE llama 3", t
    t = made(M.BPE(), some, decoder=D.ByteLevel(),
             pre_tokenizer=P.Sequence([P.Split(Regex(O200K), "isolated"),
                                       P.ByteLevel(add_prefix_space=False, use_regex=False)]))
    yield "BPE gpt 4o", t
    yield "BPE llama 2", with_bytes(made(
        M.BPE(unk_token="<unk>", fuse_unk=True), some,
        normalizer=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]),
        decoder=D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])))
    yield "BPE suffix, unk", made(
        M.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), some,
        normalizer=N.Sequence([N.NFC(), N.Lowercase()]), pre_tokenizer=P.Whitespace(),
        decoder=D.BPEDecoder("</w>"))
    yield "BPE prefix, fused unk", made(
        M.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True), some,
        pre_tokenizer=P.WhitespaceSplit())
    yield "WordPiece bert", made(M.WordPiece(unk_token="[UNK]"), some, **bert)
    bert["normalizer"] = N.BertNormalizer(lowercase=False, strip_accents=True)
    bert["post_processor"] = X.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=cls)
    yield "WordPiece cased", made(M.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20), some,
                                  **bert)
    for scheme in ("always", "first", "never"):
        t = made(M.Unigram(), some, pre_tokenizer=P.Metaspace(prepend_scheme=scheme),
                 decoder=D.Metaspace(prepend_scheme=scheme),
                 normalizer=N.Sequence([N.NFKC(), N.Replace(Regex(" {2,}"), " ")]))
        t.add_tokens([AddedToken("fooBar", normalized=True), AddedToken("ist", single_word=True),
                      AddedToken("über", lstrip=True, rstrip=True, normalized=False)])
        yield "Unigram " + scheme, t
    yield "Unigram bytes", with_bytes(made(M.Unigram(), some, pre_tokenizer=P.Metaspace(split=False),
                                           normalizer=N.NFKD(), decoder=D.Sequence(
                                               [D.ByteFallback(), D.Metaspace()])))
    for name in ("nmt_nfkc", "nmt_nfkc_cf"):
        yield "Unigram " + name, made(
            M.Unigram(), some, pre_tokenizer=P.Metaspace(),
            normalizer=N.Sequence([N.Nmt(), N.Precompiled(charsmap(name)), N.Replace(Regex(" {2,}"), " ")]))
    for name, normal, pre in (
            ("NFD, strip", N.Sequence([N.NFD(), N.StripAccents(), N.Strip()]), P.Whitespace()),
            ("digits", None, P.Sequence([P.WhitespaceSplit(), P.Digits(True), P.Punctuation()])),
            ("digits together", N.NFKD(), P.Sequence([P.Digits(False), P.Punctuation("contiguous")])),
            ("merged", N.NFC(), P.Sequence([P.Punctuation("merged_with_previous"), P.Split(" ", "removed")])),
            ("merged next", N.NFKC(), P.Split(Regex(r"\s"), "merged_with_next")),
            ("inverted", None, P.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True)),
            ("delimiter", N.Lowercase(), P.CharDelimiterSplit("e")),
            ("byte normalizer", N.ByteLevel(), None)):
        parts = {k: v for k, v in (("normalizer", normal), ("pre_tokenizer", pre)) if v is not None}
        yield "WordLevel " + name, made(M.WordLevel(unk_token="<unk>"), some, **parts)


def drawn_template(r, parts):
    """A random template for `parts` parts, and the number of parts that it makes."""
    names = ["[CLS]", "[SEP]", "</s>", "two"]

    def items(words):
        return [{"Sequence" if x in "AB" else "SpecialToken": {"id": x, "type_id": r.randint(0, 2)}} for x in words]
    one = r.choice([["A"], [r.choice(names), "A"], ["A", r.choice(names)], [r.choice(names), "A", r.choice(names)], ["A", "A"]])
    two = r.choice([["A", "B"], ["B", r.choice(names), "A"], ["B"], ["A", "B", "B"]])
    return len(one if parts == 1 else two), {
        "type": "TemplateProcessing", "single": items(one), "pair": items(two),
        "special_tokens": {x: {"id": x, "ids": i, "tokens": [x] * len(i)} for x, i in
                           (("[CLS]", [2]), ("[SEP]", [3]), ("</s>", [6]), ("two", [2, 3]))}}


def drawn_post(r):
    """A random chain of post-processors. A template cannot follow a processor that makes more than two parts."""
    members, parts, wrapped = [], 1, False
    for _ in range(r.randint(1, 4)):
        kind = r.choice(["TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"])
        trim = {"trim_offsets": r.random() < 0.7, "add_prefix_space": not wrapped and r.random() < 0.5}
        around = {"cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}
        if kind == "TemplateProcessing" and parts <= 2:
            parts, member = drawn_template(r, parts)
            members.append(member)
        elif kind == "BertProcessing":
            members.append({"type": kind, **around})
        elif kind == "RobertaProcessing":
            members.append({"type": kind, **around, **trim})
        else:
            members.append({"type": "ByteLevel", "use_regex": True, **trim})
        wrapped = wrapped or kind in ("BertProcessing", "RobertaProcessing")
    if r.random() < 0.3:
        members = [{"type": "Sequence", "processors": members[:1]}] + members[1:]
    return {"type": "Sequence", "processors": members}


def drawn_tokens(r, vocab):
    """Random added tokens: words and white space. Some strip the white space beside them, and some words match in
    normalized text. (Two cases are left out: `tokenizers` panics on a white-space token with lstrip, and it does not
    treat special tokens in normalized text as special.)"""
    for name in r.sample(["<pad>", "[MASK]", "fooBar", "FOO_BAR_2", "Straße", "naïve", "ＡＢＣ", "ﬁ", "the", "the of", "x+=1;", "aaa",
                          " ", "  ", "   ", "\t", "\u00a0", "\u3000", " a"], 9):
        word = not name[0].isspace()
        special = r.random() < 0.3
        yield {"id": vocab.get(name, len(vocab)), "content": name, "single_word": r.random() < 0.2, "lstrip": word and r.random() < 0.4,
               "rstrip": r.random() < 0.5, "normalized": word and not special and r.random() < 0.6, "special": special}


def drawn(lines, seed, count):
    """tokenizer.json files with random added tokens, normalizers and chains of post-processors."""
    r = random.Random(seed)
    some = lines[:1000]
    models = [
        made(M.BPE(unk_token="<unk>"), some, pre_tokenizer=P.ByteLevel(add_prefix_space=True), decoder=D.ByteLevel()),
        made(M.BPE(unk_token="<unk>", fuse_unk=True), some, pre_tokenizer=P.WhitespaceSplit()),
        made(M.WordPiece(unk_token="[UNK]"), some, pre_tokenizer=P.BertPreTokenizer(), decoder=D.WordPiece()),
        made(M.Unigram(), some, pre_tokenizer=P.Metaspace(split=False), decoder=D.Metaspace()),
        made(M.WordLevel(unk_token="<unk>"), some)]
    for i in range(count):
        t = r.choice(models)
        spec = json.loads(t.to_str())
        spec["normalizer"] = r.choice([None, {"type": "Lowercase"}, {"type": "NFKC"}, {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}])
        spec["post_processor"] = drawn_post(r)
        spec["added_tokens"] += drawn_tokens(r, t.get_vocab())
        yield "drawn %d" % i, Tokenizer.from_str(json.dumps(spec))


def every_character():
    """Each character between combining marks of the highest and of a low class: this also tests how it is reordered."""
    points = [c for c in range(0xA0, 0x32400) if not 0xD800 <= c <= 0xDFFF and c not in (0x2028, 0x2029)]
    return ["".join("a\u0345" + chr(c) + "\u0334" for c in points[i:i + 64]) for i in range(0, len(points), 64)]


def forms():
    """Tokenizers with the Unicode normal forms and byte-level tokens, which show the exact bytes."""
    letters = {c: i for i, c in enumerate(sorted(P.ByteLevel.alphabet()))}
    for form in (N.NFC(), N.NFD(), N.NFKC(), N.NFKD(), N.Lowercase(), N.StripAccents(), N.BertNormalizer()):
        t = Tokenizer(M.BPE(vocab=letters, merges=[]))
        t.normalizer, t.decoder = form, D.ByteLevel()
        t.pre_tokenizer = P.ByteLevel(add_prefix_space=False, use_regex=False)
        yield "every character, " + type(form).__name__, t


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lines", type=int, default=10000)
    p.add_argument("--model", action="append", default=[])
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    lines = mixed_lines(a.seed, a.lines)
    cases = [(m, m) for m in a.model]
    if not a.model:
        cases = list(learned(a.program, a.folder, lines))
        for name, t in [*written(lines), *drawn(lines, a.seed, 40)]:
            path = os.path.join(a.folder, name.replace(" ", "-").replace(",", "") + ".json")
            t.save(path)
            cases.append((name, path))
    # The many tokenizers of written() and drawn() get a part of the lines; vocabularies of Hecate get all.
    few = {"drawn": 300, "learned": len(lines)}
    wrong = sum(compare(a.program, name, path, lines if a.model else lines[:few.get(name.split()[0], 2500)])
                for name, path in cases)
    print("tokenizers %s, seed %d: %d differences" % (tokenizers.__version__, a.seed, wrong))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
