#!/usr/bin/env python3
"""Makes tests/golden/classify_embed: the results of Transformers' pipelines for some texts with the tiny models
of tests/golden/models and a tokenizer of 101 ids, and the embeddings by the pooling methods of
sentence-transformers. Needs the pinned packages: tools/venv DIR torch transformers; then
DIR/bin/python tools/goldens/classify_embed.py [FOLDER]. MODELS=FOLDER: other models.

--live --seed N: other texts from the seed, for tools/parity."""
import argparse
import json
import os
import random

import torch
import transformers
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedTokenizerFast,
    T5EncoderModel,
    pipeline,
)

PINNED = "5.22.2"
VOCAB = 101
WORDS = ["the", "a", "is", "not", "good", "bad", "film", "cat", "##s", "##ing", "##ed", "was", "very",
         "it", "and", "ü", "好", "!", ".", ",", "'", "?", "-"]
TEXTS = ["The film is good.", "the cats, not bad!", "", "It was a very, very good cat and it jumped",
         "a", "Das ist übel: 好好", "(the) film's end?  ☃ cat"]
PAIRS = ["It is bad.", "!", "a cat", "yes", "The film was bad", "not good", "?"]


def make_tokenizer():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS + letters + ["##" + c for c in letters]
    tokens = list(dict.fromkeys(tokens))[:VOCAB]
    t = Tokenizer(WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return t


def fast(tokenizer, types):
    names = ["input_ids", "attention_mask"] + (["token_type_ids"] if types else [])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=names, pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def classify(models, tokenizer, name, problem, texts, pairs):
    model = AutoModelForSequenceClassification.from_pretrained(
        os.path.join(models, name), attn_implementation="eager", dtype=torch.float32)
    model.config.problem_type = problem
    pipe = pipeline("text-classification", model=model, tokenizer=fast(tokenizer, pairs is not None))
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    inputs = [{"text": t, "text_pair": p} for t, p in zip(texts, pairs)] if pairs else texts
    scores = []
    for one in inputs:
        got = {r["label"]: r["score"] for r in pipe(one, top_k=None)}
        scores.append([got[label] for label in labels])
    return {"model": name, "problem": problem, "texts": texts, "pairs": pairs, "labels": labels,
            "scores": scores}


def label_tokens(models, tokenizer, name, texts):
    model = AutoModelForTokenClassification.from_pretrained(
        os.path.join(models, name), attn_implementation="eager", dtype=torch.float32)
    pipe = pipeline("token-classification", model=model, tokenizer=fast(tokenizer, False), ignore_labels=[])
    tokens = []
    for text in texts:
        ids = tokenizer.encode(text).ids
        tokens.append([{
            "token": tokenizer.id_to_token(ids[e["index"]]), "label": e["entity"],
            "score": float(e["score"]), "index": e["index"],
            "begin": len(text[:e["start"]].encode()), "end": len(text[:e["end"]].encode()),
        } for e in (pipe(text) if len(ids) > 2 else [])])
    return {"model": name, "texts": texts, "tokens": tokens}


def pool(how, x):
    n = len(x)
    weights = torch.arange(1, n + 1, dtype=x.dtype)[:, None]
    return {"cls": lambda: x[0], "max": lambda: x.max(0).values, "mean": lambda: x.sum(0) / n,
            "mean_sqrt_len": lambda: x.sum(0) / n ** 0.5,
            "weightedmean": lambda: (x * weights).sum(0) / weights.sum(),
            "lasttoken": lambda: x[-1]}[how]()


def embed(models, tokenizer, name, poolings, normalize, texts):
    kind = T5EncoderModel if name.startswith("t5") else AutoModel
    model = kind.from_pretrained(os.path.join(models, name), attn_implementation="eager").double().eval()
    rows = []
    for text in texts:
        with torch.no_grad():
            x = model(input_ids=torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0]
        row = torch.cat([pool(how, x) for how in poolings])
        row = torch.nn.functional.normalize(row, dim=0) if normalize else row
        rows.append([float(f"{v:.9g}") for v in row])
    return {"model": name, "poolings": poolings, "normalize": normalize, "texts": texts, "rows": rows}


def random_texts(draw, n):
    alphabet = WORDS + ["The", "Film", "cats", "ü", "ß", "好", "é"]
    return [" ".join(draw.choice(alphabet) for _ in range(draw.randint(1, 8))).replace(" ##", "")
            for _ in range(n)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="tests/golden")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    assert transformers.__version__ == PINNED, transformers.__version__
    torch.set_num_threads(1)
    models = os.environ.get("MODELS", "tests/golden/models")
    texts, pairs = TEXTS, PAIRS
    if a.live:
        draw = random.Random(a.seed)
        texts, pairs = random_texts(draw, 12), random_texts(draw, 12)
        texts = [t[:14] for t in texts]
        pairs = [p[:7] for p in pairs]
    t = make_tokenizer()
    multi = "multi_label_classification"
    # mBART's padding id is [UNK] here. Transformers finds the last token by counting the tokens that are not padding.
    known = [x for x in texts if t.token_to_id("[UNK]") not in t.encode(x).ids]
    cases = {
        "classify": [classify(models, t, "bert_classify", None, texts, None),
                     classify(models, t, "bert_classify", multi, texts, pairs),
                     classify(models, t, "bert_classify", "regression", texts, None),
                     classify(models, t, "distilbert_classify", "single_label_classification", texts, None),
                     classify(models, t, "roberta_classify", None, texts, None),
                     classify(models, t, "gpt2_classify", None, texts, None),
                     classify(models, t, "llama_classify", multi, texts, None),
                     classify(models, t, "bart_classify", None, texts, None),
                     classify(models, t, "mbart_classify", None, known, None)],
        "tokens": [label_tokens(models, t, name, texts)
                   for name in ("bert_tokens", "roberta_tokens", "gpt2_tokens")],
        "embed": [embed(models, t, "bert_base", ["mean"], True, texts),
                  embed(models, t, "bert_base", ["cls", "max", "mean_sqrt_len"], False, texts),
                  embed(models, t, "roberta_base", ["cls"], True, texts),
                  embed(models, t, "distilbert_base", ["mean"], False, texts),
                  embed(models, t, "gpt2_base", ["weightedmean", "lasttoken"], False, texts),
                  embed(models, t, "t5_encoder", ["mean"], True, texts),
                  embed(models, t, "t5", ["mean"], False, texts)],
    }
    folder = os.path.join(a.folder, "classify_embed")
    os.makedirs(folder, exist_ok=True)
    t.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as f:
        json.dump(cases, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


main()
