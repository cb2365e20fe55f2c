#!/usr/bin/env python3
"""Writes tests/golden/limits.json: truncation, windows and padding by the pinned `tokenizers`, with the
vocabulary of tests/golden/vocab/bert.

    build/peers/bin/python tools/goldens/limits_make.py tests/golden/limits.json"""
import json
import os
import sys

import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertTokenizer

TEXTS = ["", "the", "The cat's on 12 mats, isn't it?", "Straße größer 你好 of and to in", "a b c d e f g h i j k"]
SIDES = {False: "right", True: "left"}


def encode(t, text, pair, special):
    return t.encode(text, pair, add_special_tokens=special) if pair is not None else t.encode(text, add_special_tokens=special)


def row(e, texts):
    offsets = []
    for s, (b, end) in zip(e.sequence_ids, e.offsets):
        text = texts[s or 0] or ""
        offsets.append([len(text[:b].encode()), len(text[:end].encode())] if s is not None else [0, 0])
    return {"ids": e.ids, "types": e.type_ids, "mask": e.attention_mask, "offsets": offsets}


def trimming():
    """Post-processors that trim spaces from the offsets, at every position in a chain with those that add tokens."""
    close, cls = ("</s>", 1), ("<s>", 0)
    around = processors.BertProcessing(close, cls)
    template = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A $B </s>", special_tokens=[cls, close])
    for prefix in (False, True):
        byte_level = processors.ByteLevel(add_prefix_space=prefix, trim_offsets=True)
        roberta = processors.RobertaProcessing(close, cls, trim_offsets=True, add_prefix_space=prefix)
        yield byte_level
        yield roberta
        for order in ([around, byte_level], [byte_level, around], [template, byte_level], [byte_level, template],
                      [byte_level, around, byte_level]):
            yield processors.Sequence(order)


def trimmed():
    vocab = {x: i for i, x in enumerate(["<s>", "</s>", "Ġ", "a", "b", "Ã", "©", "ĉ", "Ġa", "Ġb", "ĠĠ"])}
    t = Tokenizer(models.BPE(vocab=vocab, merges=[("Ġ", "a"), ("Ġ", "b"), ("Ġ", "Ġ")]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    every = []
    for p in trimming():
        t.no_truncation()
        t.post_processor = p
        cases = []
        every.append({"tokenizer": t.to_str(), "cases": cases})
        for text in ("a b a b a b a b a b", " a  b é\ta b é a  b b", "  b   a é  b a b a  "):
            for pair in (None,) if "TemplateProcessing" in t.to_str() else (None, "a b"):
                for left in (False, True):
                    for special in (False, True):
                        t.enable_truncation(8, stride=1, direction=SIDES[left])
                        e = encode(t, text, pair, special)
                        # after a template, sequence_ids counts the parts of the template
                        texts = (text, pair) if pair else (text,) * 4
                        cases.append({"text": text, "pair": pair, "strategy": "longest_first", "max": 8, "stride": 1,
                                      "left": left, "special": special, "windows":
                                      [row(x, texts) for x in [e] + (e.overflowing if pair is None else [])]})
    return every


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    t = BertTokenizer.from_pretrained(os.path.join(here, "../../tests/golden/vocab/bert"))._tokenizer
    cut, filled = [], []
    for text in TEXTS:
        for pair in (None, TEXTS[2], TEXTS[4]):
            for strategy in ("longest_first", "only_first", "only_second"):
                for most in (3, 5, 8, 13, 100):
                    for stride in (0, 1, 3):
                        for left in (False, True):
                            special = most != 8
                            t.no_padding()
                            try:
                                t.enable_truncation(most, stride=stride, strategy=strategy, direction=SIDES[left])
                                e = encode(t, text, pair, special)
                            except BaseException:
                                e = None
                            if (most * 7 + stride * 5 + len(text)) % 3 or (pair is None and strategy == "only_second"):
                                continue
                            case = {"text": text, "pair": pair, "strategy": strategy, "max": most, "stride": stride,
                                    "left": left, "special": special}
                            if e is None:
                                case["fails"] = True
                            else:
                                case["windows"] = [row(x, (text, pair)) for x in [e] + (e.overflowing if pair is None else [])]
                            cut.append(case)
    t.no_truncation()
    for length in (None, 6):
        for multiple in (None, 4):
            for left in (False, True):
                t.enable_padding(direction=SIDES[left], pad_id=t.token_to_id("[PAD]"), pad_type_id=1, pad_token="[PAD]",
                                 length=length, pad_to_multiple_of=multiple)
                rows = [row(e, (x, None)) for x, e in zip(TEXTS, t.encode_batch(TEXTS))]
                filled.append({"texts": TEXTS, "length": length or 0, "multiple": multiple or 0, "left": left, "rows": rows})
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump({"made by": "tokenizers " + tokenizers.__version__, "pad": t.token_to_id("[PAD]"), "cut": cut,
                   "filled": filled, "trimmed": trimmed()}, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
