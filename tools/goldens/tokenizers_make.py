#!/usr/bin/env python3
"""Writes tests/golden/tokenizers.json: small tokenizers of every kind and the results of the pinned `tokenizers` for a
few texts. tools/parity_tokenizers.py makes the same comparison with large vocabularies and many lines.

`tokenizers` trains a different vocabulary from the same lines on each run, because the order of its hash tables breaks
ties. So this script keeps the vocabularies that the file already has. Delete the file to train all of them anew.

    build/peers/bin/python tools/goldens/tokenizers_make.py tests/golden/tokenizers.json"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import parity_tokenizers as parity  # noqa: E402
import tokenizers  # noqa: E402

TEXTS = [
    "", " ", "  ", "a", " a ", "The cat's on 12 mats, isn't it?", "Straße größer ÜBER Äpfel", "e\u0301 E\u0301 \u1e9b\u0323",
    "don't  stop\tnow\u00a0ok", "你好 世界 abc안녕하세요", "नमस्ते हिन्दी", "שלום مرحبا", "👩\u200d👩\u200d👧\u200d👦 👍🏽", "ﬁ ﷺ ① ½ Ⅷ １２３ ẞ İ",
    "x+=1; if(x<=0){return;}", "fooBar FOO_BAR_2 ist über bist", "[CLS] the </s> <mask>  [MASK] and", "▁ Ġ ##ing <0x41>",
    "the" * 30, "\u0301\u0301 \u200b \x07", "한국어 \u1112\u1161\u11ab", "100,000.50 ٣٤",
]


def words(count):
    r = random.Random(3)
    return [" ".join(r.choice(parity.WORDS[:70]) for _ in range(10)) for _ in range(count)]


def case(t, text, pair=None):
    e = t.encode(text, pair) if pair is not None else t.encode(text)
    at = {0: parity.byte_positions(text), 1: parity.byte_positions(pair or "")}
    offsets = []
    for i, (b, end) in enumerate(e.offsets):
        positions = at.get(e.sequence_ids[i] if pair else 0, at[0])
        offsets.append([positions[b], positions[end]])
    return {"text": text, "pair": pair, "ids": e.ids, "tokens": [t.id_to_token(i) for i in e.ids], "types": e.type_ids, "offsets": offsets,
            "decoded": t.decode(e.ids, skip_special_tokens=False),
            "plain": t.decode(e.ids, skip_special_tokens=True)}


def token(place, content, **more):
    return {"id": place, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **more}


def added():
    """Files whose added tokens have ids that contradict the model, ids with holes, or duplicate ids or contents."""
    dense, holes = {"u": 0, "a": 1, "b": 2}, {"u": 0, "a": 1, "b": 9, "c": 7}
    for name, vocab, tokens in [
            ("a hole", dense, [token(10, "X"), token(20, "Y", special=False)]),
            ("another order", dense, [token(5, "Y"), token(4, "X", special=False), token(3, "Z")]),
            ("the model's id", dense, [token(7, "a"), token(1, "X"), token(4294967295, "Y")]),
            ("one id twice", dense, [token(3, "X"), token(3, "Y", special=False)]),
            ("one token twice", dense, [token(3, "X"), token(4, "X", special=False, lstrip=True), token(5, "Y")]),
            ("holes in the vocabulary", holes, [token(10, "Y"), token(9, "b"), token(12, "X"), token(7, "c")]),
            ("an id that was taken", {"u": 0, "a": 1, "b": 3},
             [token(3, "b", lstrip=True), token(4, "X", special=False), token(5, "Y")]),
            ("an id that is taken later", {"u": 0, "a": 1, "b": 3},
             [token(4, "X", special=False), token(3, "b", lstrip=True), token(5, "Y")])]:
        yield "added: " + name, {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
            "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
            "decoder": None, "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "u"}}


def small(post=None, tokens=(), normalizer=None, model="BPE", **more):
    """A tokenizer.json with a few words, for testing one component."""
    vocab = {"<unk>": 0, "[CLS]": 1, "[SEP]": 2, "</s>": 3, "Ġ": 4, "h": 5, "i": 6, "Ġh": 7, "ĠĠ": 8, "hi": 9, "Ġhi": 10}
    models = {"BPE": {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": ["Ġ h", "Ġ Ġ", "h i", "Ġ hi"]},
              "Unigram": {"type": "Unigram", "unk_id": 0, "vocab": [[x, -float(i)] for x, i in vocab.items()]}}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": normalizer,
            "pre_tokenizer": None, "post_processor": post, "decoder": None, "model": {**models[model], **more}}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def template(single, pair):
    """A template processor. Items of `single` and `pair`: A, B or a special token, with its type if it is not 0."""
    ids = {"[CLS]": [1], "[SEP]": [2], "</s>": [3], "two": [3, 1], "none": []}

    def items(words):
        for word in words.split():
            name, _, kind = word.partition(":")
            yield {"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": int(kind or 0)}}
    return {"type": "TemplateProcessing", "single": list(items(single)), "pair": list(items(pair)),
            "special_tokens": {k: {"id": k, "ids": v, "tokens": [k] * len(v)} for k, v in ids.items()}}


def chained():
    """Chains of post-processors, and which tokens they trim."""
    bert = {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 3], "cls": ["[CLS]", 1], "trim_offsets": True,
               "add_prefix_space": False}
    begin, both = template("[CLS] A:1", "A:1 B:2"), template("A:2", "B:1 two:3 A")
    for name, parts in [
            ("roberta, template", [roberta, begin]), ("template, bert", [begin, bert]), ("bert, roberta", [bert, roberta]),
            ("bert twice", [bert, bert]), ("template twice", [begin, both]), ("two parts as a pair", [template("two none A", "A B"), bert]),
            ("trimmed twice", [BYTES, begin, {**BYTES, "add_prefix_space": True}]),
            ("within one another", [{"type": "Sequence", "processors": [both, bert]}, {"type": "Sequence", "processors": []}, BYTES])]:
        yield "chained: " + name, small({"type": "Sequence", "processors": parts}, [token(3, "</s>", lstrip=True)])
    yield "chained: unk found and given", small(BYTES, [token(0, "<unk>", lstrip=True, rstrip=True), token(7, "Ġh")])
    yield "chained: unk of Unigram", small(BYTES, [token(0, "<unk>", lstrip=True, rstrip=True)], {"type": "Lowercase"}, "Unigram")


def taken():
    """Tokens that strip white space which is itself a token."""
    mask, line, two = token(11, "<m>", rstrip=True), token(12, "\n", special=False), token(13, "  ", special=False)
    for name, tokens, more in [
            ("white space", [mask, line, two], {}),
            ("white space, trimmed", [mask, line, two], {"post": BYTES}),
            ("white space, written again", [mask, line, two], {"normalizer": {"type": "Replace", "pattern": {"String": "h"}, "content": "Ġh"}}),
            ("by both", [{**mask, "lstrip": True}, line, two], {}),
            ("by itself", [token(11, " ", rstrip=True)], {"post": BYTES}),
            ("in normalized text", [{**mask, "normalized": True, "special": False}, {**line, "normalized": True}],
             {"normalizer": {"type": "Lowercase"}})]:
        yield "taken: " + name, small(tokens=tokens, **more)


def odd():
    """Empty components, and special tokens whose content occurs only in normalized text."""
    yield "odd: no decoders", {**small(), "decoder": {"type": "Sequence", "decoders": []}}
    yield "odd: no suffix", {**small(), "decoder": {"type": "BPEDecoder", "suffix": ""}}
    yield "odd: nothing before", {**small(tokens=[token(3, "</s>")], normalizer={"type": "Prepend", "prepend": ""}),
                                  "pre_tokenizer": {"type": "Whitespace"}}
    yield "odd: a piece twice", small(template("[CLS] A", "A B"), [token(1, "[CLS]"), token(4, "</s>")], model="Unigram", vocab=[
        [x, -1.0] for x in ["<unk>", "[CLS]", "h", "i", "</s>", "hi", "[CLS]", "</s>"]])
    names = [token(11, "[USER]", normalized=True, special=False), token(12, "[Sys]", normalized=True, special=False, rstrip=True),
             token(3, "</S>"), token(9, "hi", normalized=True, special=False), token(14, "[low]", normalized=True)]
    yield "odd: normalized names", small(BYTES, names, {"type": "Lowercase"})
    yield "odd: longer names", small(BYTES, names[:2] + names[3:4], {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "Ġ"}, {"type": "Replace", "pattern": {"String": " "}, "content": "Ġ"}]})


def main():
    parity.VOCAB = 320
    out = {"made by": "tokenizers " + tokenizers.__version__, "tokenizers": []}
    kept = {}
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="utf-8") as f:
            kept = {x["name"]: x["tokenizer"] for x in json.load(f)["tokenizers"]}
    for name, t in parity.written(words(300)):
        if "nmt" in name:  # its table alone is 300 kB
            continue
        spec = kept.get(name) or json.loads(t.to_str())
        t = tokenizers.Tokenizer.from_str(json.dumps(spec))
        cases = [case(t, x) for x in TEXTS] + [case(t, TEXTS[5], TEXTS[6])]
        out["tokenizers"].append({"name": name, "tokenizer": spec, "cases": cases})
    for name, spec in added():
        t = tokenizers.Tokenizer.from_str(json.dumps(spec))
        cases = [case(t, x) for x in ["a X  b", "Y Z  X", "X Y Z a b c", "abXY"]]
        out["tokenizers"].append({"name": name, "tokenizer": spec, "cases": cases})
    for name, spec in chained():
        t = tokenizers.Tokenizer.from_str(json.dumps(spec))
        texts = ["", "hi", "  hiĠ h", " <unk> hx <unk>", "h  x i", "!Ġ\n X  Ġh", "ĠĠ</s>ĠĠhi  </s> h"]
        # After two templates, `tokenizers` no longer knows which text of a pair a token is from: use a pair of equal texts.
        cases = [case(t, x) for x in texts] + [case(t, texts[i], texts[i]) for i in (0, 2, 6)]
        out["tokenizers"].append({"name": name, "tokenizer": spec, "cases": cases})
    for name, spec in taken():
        t = tokenizers.Tokenizer.from_str(json.dumps(spec))
        texts = ["<m>\nhi", "<m>  hi", "   ", "h   i", "<m> \n  <m>   <M>\nh", " \n<m>", "<m> \n"]
        out["tokenizers"].append({"name": name, "tokenizer": spec, "cases": [case(t, x) for x in texts]})
    for name, spec in odd():
        t = tokenizers.Tokenizer.from_str(json.dumps(spec))
        texts = ["", "hi", "hi h </s> i", "éi</s>hé h", "[USER] hi[Sys]  [user][sys]", "[LOW]hi [low]", "</S>hi [USER]"]
        out["tokenizers"].append({"name": name, "tokenizer": spec, "cases": [case(t, x) for x in texts]})
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
