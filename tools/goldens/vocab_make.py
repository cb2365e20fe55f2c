#!/usr/bin/env python3
"""Writes tests/golden/vocab: small vocabularies without tokenizer.json, and vocab.json with the results of the pinned
`sentencepiece` and Transformers for a few texts. tools/parity_spm.py makes the same comparison with larger vocabularies.

    build/peers/bin/python tools/goldens/vocab_make.py tests/golden/vocab"""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import parity_spm as spm  # noqa: E402
import parity_tokenizers as parity  # noqa: E402
import sentencepiece  # noqa: E402

TEXTS = [
    "", " ", "  ", "a", " a ", "The cat's on 12 mats, isn't it?", "Straße größer  ÜBER Äpfel", "don't  stop\tnow\u00a0ok",
    "你好 世界 abc", "नमस्ते", "👩\u200d👩 👍🏽", "ﬁ ① ½ x", "e\u0301 E\u0301", "ist über  x the <sep> bist", "▁ ▁▁ a▁", "aaaaaaaa aaaaaa",
    "thethethe is that it was for on are as with his they", "x\u0007y\u200bz ", "</s> the <unk> and <pad> of", "naïve café",
]
RULES = "FB01\t66 69\nBD\t31 2F 32\n7\t\n200B\t20\nA0\t20\n9\t20\n65 301\tE9\n45 301\tC9\n"

train = spm.train


def small(path, folder, **options):
    rules = os.path.join(folder, "rules.tsv")
    with open(rules, "w") as f:
        f.write(RULES)
    if options.pop("rules", True):
        options["normalization_rule_tsv"] = rules
    else:
        options["normalization_rule_name"] = "identity"
    train(path, 3, **{"vocab_size": 180, "character_coverage": 0.985, **options})
    os.remove(rules)


def main():
    out = sys.argv[1]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    parity.VOCAB = 300
    spm.TEXT[:] = parity.WORDS[:60]
    goldens = []
    for name, options in spm.VARIANTS.items():
        options = {k: v for k, v in options.items() if k != "normalization_rule_name"}
        path = os.path.join(out, name.replace(" ", "-") + ".model")
        if "bytes" in name:
            options["vocab_size"] = 420
        small(path, out, rules=name not in ("unigram identity", "bpe bytes"), **options)
        sp = sentencepiece.SentencePieceProcessor(model_file=path)
        controls = [sp.id_to_piece(i) for i in range(len(sp)) if sp.is_control(i) or sp.is_unknown(i)]
        cases = []
        for text in TEXTS:
            if not any(c in text for c in controls):
                ids, _, offsets = spm.spans(sp, text)
                cases.append({"text": text, "ids": ids, "spans": offsets, "decoded": sp.decode(ids)})
        goldens.append({"path": os.path.basename(path), "cases": cases})
    spm.train = lambda path, seed, **o: small(path, out, rules="normalization_rule_name" not in o,
                                              **{**{k: v for k, v in o.items() if k != "normalization_rule_name"},
                                                 "vocab_size": 420 if "byte_fallback" in o else 180})
    lines = spm.training_lines(3, 2000)
    made = parity.made
    parity.made = lambda model, some, vocab, **parts: made(model, some, 320, **parts)
    for name, path, cls in spm.families(out, lines, 3):
        theirs = cls.from_pretrained(path)
        cases = []
        for text in TEXTS:
            want = theirs(text, return_offsets_mapping=theirs.is_fast)
            case = {"text": text, "ids": want["input_ids"]}
            if theirs.is_fast:
                at = parity.byte_positions(text)
                case["offsets"] = [[at[b], at[e]] for b, e in want["offset_mapping"]]
            case["plain"] = theirs.decode(want["input_ids"], skip_special_tokens=True,
                                          clean_up_tokenization_spaces=False)
            cases.append(case)
        goldens.append({"path": name, "cases": cases})
    with open(os.path.join(out, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump({"made by": "sentencepiece " + sentencepiece.__version__, "vocabularies": goldens}, f,
                  ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
