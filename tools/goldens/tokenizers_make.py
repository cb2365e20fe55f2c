#!/usr/bin/env python3
"""Writes tests/golden/tokenizers.json: small tokenizers of every kind and what the pinned `tokenizers`
makes of a few texts with them. The same comparison with large ones and many lines, live:
tools/parity_tokenizers.py.

`tokenizers` learns another vocabulary from the same lines each time (the order of its hash tables decides among
equals); so those that the file has already are kept, and the file comes out the same. Without it all are new.

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
        positions = at[e.sequence_ids[i] or 0]
        offsets.append([positions[b], positions[end]])
    return {"text": text, "pair": pair, "ids": e.ids, "types": e.type_ids, "offsets": offsets,
            "decoded": t.decode(e.ids, skip_special_tokens=False),
            "plain": t.decode(e.ids, skip_special_tokens=True)}


def token(place, content, **more):
    return {"id": place, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **more}


def added():
    """Files whose added tokens have ids that the model denies, ids with holes, or come twice."""
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
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
