#!/usr/bin/env python3
"""Makes tests/golden/answer_fill: tiny random models with tokenizers, and the results of Transformers with them,
computed in float64.

answer.jsonl: the best answers to questions. Transformers 5 has no question-answering pipeline. Its function
select_starts_ends (pipelines/document_question_answering.py), which that pipeline used, computes the scores of one
window from the logits. For models that split words as BERT does, an answer is extended to whole words with
`tokenizers`. The windows are those of the tokenizer.
fill.jsonl: the results of the pipeline fill-mask.

Needs the pinned packages: tools/venv DIR torch transformers safetensors; then
DIR/bin/python tools/goldens/answer_fill.py [FOLDER].   --live --seed N: other cases from the seed, for tools/parity."""
import argparse
import json
import os
import random
import shutil
import sys
import unicodedata

import numpy as np
import tokenizers
import torch
import transformers
from transformers import (
    AutoTokenizer,
    BartForQuestionAnswering,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaForQuestionAnswering,
    pipeline,
)
from transformers.pipelines.document_question_answering import select_starts_ends

sys.path.insert(0, os.path.dirname(__file__))
import models  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
VOCAB = os.path.join(HERE, "../../tests/golden/vocab")
LONGEST = 15
WORDS = """the of and to in a is that it was for on are as with his they at be this from I have or by one had not but
what all were when we there can an your which their said if do will each about how up out them then she
many some so these would other into has more her two like him see time could no make than first been its
who now people my made over did down only way find use may water long little very after words called just
where most know""".split()
SCRIPTS = ["größer", "Äpfel", "über", "Straße", "naïve", "café", "你好", "世界", "नमस्ते", "£5", "Ελλάδα", "мир", "👍🏽", "don't", "3.14", "U.S."]


SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]


def finished(t, pre_tokenizer, decoder):
    """Completes a tokenizer like RoBERTa's or XLM-R's: special tokens and the template around a text."""
    t.pre_tokenizer, t.decoder = pre_tokenizer, decoder
    t.add_special_tokens(SPECIALS)
    t.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    t.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True)])
    return PreTrainedTokenizerFast(
        tokenizer_object=t, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", mask_token=tokenizers.AddedToken("<mask>", lstrip=True),
        model_input_names=["input_ids", "attention_mask"])


def tokenizer_of(name):
    pre, decoders = tokenizers.pre_tokenizers, tokenizers.decoders
    if name == "roberta":
        bytes_ = pre.ByteLevel(add_prefix_space=False)
        t = tokenizers.Tokenizer(tokenizers.models.BPE())
        t.pre_tokenizer = bytes_
        t.train_from_iterator([" ".join(WORDS + SCRIPTS)] * 3, tokenizers.trainers.BpeTrainer(
            vocab_size=400, show_progress=False, initial_alphabet=sorted(pre.ByteLevel.alphabet()),
            special_tokens=SPECIALS))
        return finished(t, bytes_, decoders.ByteLevel())
    if name == "xlm-roberta":
        letters = sorted(set("".join(WORDS + SCRIPTS) + "▁"))
        pieces = letters + ["▁" + w for w in WORDS[::3]] + [w[:2] for w in WORDS[1::4] if len(w) > 2]
        scores = [(p, -3.0 - 0.01 * i) for i, p in enumerate(dict.fromkeys(pieces))]
        t = tokenizers.Tokenizer(tokenizers.models.Unigram([(s, 0.0) for s in SPECIALS] + scores, unk_id=3))
        return finished(t, pre.Metaspace(), decoders.Metaspace())
    return AutoTokenizer.from_pretrained(os.path.join(VOCAB, name))


def cases(size):
    """name, class, configuration, tokenizer"""
    n = size["layers"]
    xlm = lambda **o: models.roberta(size, 1, XLMRobertaConfig, **o)
    yield ("bert_answer", models.BertForQuestionAnswering, models.bert(size, n), "bert")
    yield ("distilbert_answer", models.DistilBertForQuestionAnswering, models.distilbert(size, 1), "bert-cased")
    yield ("roberta_answer", models.RobertaForQuestionAnswering, models.roberta(size, 1), "roberta")
    yield ("xlm-roberta_answer", XLMRobertaForQuestionAnswering, xlm(), "xlm-roberta")
    yield ("bert_fill", models.BertForMaskedLM, models.bert(size, n), "bert")
    yield ("distilbert_fill", models.DistilBertForMaskedLM, models.distilbert(size, 1), "bert-cased")
    yield ("roberta_fill", models.RobertaForMaskedLM, models.roberta(size, 1), "roberta")
    yield ("xlm-roberta_fill", XLMRobertaForMaskedLM, xlm(), "xlm-roberta")
    yield ("bart_fill", models.BartForConditionalGeneration, models.bart(size), "roberta")
    yield ("bart_answer", BartForQuestionAnswering, models.bart(size), "roberta")


def sharpen(model):
    """Scales the weights up, so that some predictions have high probabilities."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "qa_outputs.weight" in name:
                p.mul_(6)
            elif name in ("cls.predictions.transform.LayerNorm.weight", "vocab_layer_norm.weight",
                          "lm_head.layer_norm.weight", "model.decoder.layers.0.final_layer_norm.weight"):
                p.mul_(2)


def make(folder, name, kind, config, vocabulary, generator):
    path = os.path.join(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    tokenizer = tokenizer_of(vocabulary)
    config.vocab_size = len(tokenizer)
    config.pad_token_id = tokenizer.pad_token_id
    model = kind(config).eval()
    models.move(model, generator)
    sharpen(model)
    model.to(torch.bfloat16).save_pretrained(path)
    os.chmod(os.path.join(path, "model.safetensors"), 0o644)
    tokenizer.save_pretrained(path)
    model = kind.from_pretrained(path, dtype=torch.float64, attn_implementation="eager").eval()
    return model, tokenizer


# ---- answers ----

def byte_offsets(text):
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return at


def window_spans(model, encoded, i, context, longest, words, types):
    """Every span of window i with its score, and the score of no answer."""
    ids = torch.tensor([encoded["input_ids"][i]])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if types:
        given["token_type_ids"] = torch.tensor([encoded["token_type_ids"][i]])
    with torch.no_grad():
        out = model(**given)
    n = ids.shape[1]
    mask = np.array([[0 if s == 1 or t == 0 else 1 for t, s in enumerate(encoded.sequence_ids(i))]])
    starts, ends, scores, none = select_starts_ends(
        out.start_logits.numpy(), out.end_logits.numpy(), mask, np.ones((1, n), dtype=int),
        top_k=n * n, handle_impossible_answer=True, max_answer_len=longest)
    encoding, spans = encoded[i], {}
    for s, e, score in zip(starts.tolist(), ends.tolist(), scores.tolist()):
        if e < s or e >= s + longest or s == 0:
            continue
        begin, end = encoding.offsets[s][0], encoding.offsets[e][1]
        if words:
            begin = encoding.word_to_chars(encoding.token_to_word(s), 1)[0]
            end = encoding.word_to_chars(encoding.token_to_word(e), 1)[1]
            while end < len(context) and unicodedata.category(context[end])[0] == "M":
                end += 1  # an accent that BERT strips still belongs to its word
        if begin >= end:
            continue  # skip a token of only white space: an answer is never empty
        spans[begin, end] = max(score, spans.get((begin, end), 0))
    return spans, none


def answers(model, tokenizer, question, context, window, stride, longest, words, top):
    encoded = tokenizer(
        question, context, truncation="only_second", max_length=window, stride=stride,
        return_overflowing_tokens=True, return_offsets_mapping=True, return_token_type_ids=True)
    best, nones, where = {}, [], {}
    types = getattr(model.config, "type_vocab_size", 0) > 1
    for i in range(len(encoded["input_ids"])):
        spans, none = window_spans(model, encoded, i, context, longest, words, types)
        nones.append(none)
        for span, score in spans.items():
            where.setdefault(span, []).append(i)
            best[span] = max(score, best.get(span, 0))
    at = byte_offsets(context)
    order = sorted(best, key=lambda s: (-best[s], s))
    # Also the gap between the last requested answer and the next one.
    close = any(best[a] - best[b] < 1e-6 for a, b in zip(order[:top], order[1:]))
    order = order[:top]
    return {
        "windows": len(nones), "none": min(nones),
        "answers": [{"answer": context[b:e], "score": best[b, e], "begin": at[b], "end": at[e]} for b, e in order],
    }, where[order[0]] if order else [], close


def text(r, n):
    word = lambda: r.choice(SCRIPTS) if r.random() < 0.15 else r.choice(WORDS)
    mark = lambda: r.choice(["", "", "", "", ",", ".", " (", "-", "!"])
    return " ".join(word() + mark() for _ in range(n)).strip()


def answer_cases(name, model, tokenizer, size, r, count, live):
    """Texts of one and of several windows. The best answer is in the first window, in the last, or in two of them."""
    words, places = name.startswith(("bert", "distilbert")), {"first": 0, "last": 0, "two": 0}
    tries = 0
    while count > 0 or (not live and min(places.values()) == 0 and tries < 300):
        tries += 1
        n = r.choice([3, 8, 30, 60])
        question, context = text(r, r.randint(1, 4)), text(r, n)
        window = r.choice([size["positions"], size["positions"] - 7])
        # An empty second text counts as no second text.
        taken = len(tokenizer(question, "a")["input_ids"]) - len(tokenizer("a", add_special_tokens=False)["input_ids"])
        stride = min(128, window // 2, (window - taken) // 2)
        if window - taken < 8:
            continue
        longest, top = r.choice([LONGEST, 3]), r.choice([1, 2, 7])
        got, where, close = answers(model, tokenizer, question, context, window, stride, longest, words, top)
        if len(got["answers"]) < top or close:
            continue  # the scores are too close
        place = None
        if got["windows"] > 2:
            place = "two" if len(where) > 1 else "first" if where == [0] else "last" if where == [got["windows"] - 1] else None
        if place and places[place] == 0:
            places[place] += 1
        elif count > 0:
            count -= 1
        else:
            continue
        yield {"model": name, "question": question, "context": context, "window": window, "most": longest,
               "top": top, "part_words": not words, "place": place or "", **got}
    assert live or min(places.values()) > 0, f"{name}: no answer in {places}"


# ---- masks ----

def fill_cases(name, model, tokenizer, r, count):
    fill = pipeline("fill-mask", model=model, tokenizer=tokenizer)
    at_most = tokenizer.model_max_length
    for i in range(count):
        masks = r.choice([1, 1, 2, 3])
        words = text(r, r.randint(2, 6)).split()
        for _ in range(masks):
            words.insert(r.randint(0, len(words)), tokenizer.mask_token)
        line = " ".join(words)
        if len(tokenizer(line)["input_ids"]) > min(at_most, 30):
            line = f"the {tokenizer.mask_token} of"
        given = {"top_k": r.choice([1, 3, 5])}
        targets = None
        if i % 3 == 2:
            plain = [t for t in tokenizer.get_vocab() if t not in tokenizer.all_special_tokens and t.isascii()]
            targets = sorted(r.sample(sorted(plain), 3))
            given["targets"] = targets
        rows = fill(line, **given)
        rows = [rows] if isinstance(rows[0], dict) else rows
        yield {"model": name, "text": line, "top": given["top_k"], "targets": targets,
               "masks": [[{"token": p["token_str"], "score": p["score"], "id": p["token"], "text": p["sequence"]}
                          for p in row] for row in rows]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="tests/golden/answer_fill")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if transformers.__version__ != models.PINNED:
        raise SystemExit(f"transformers is {transformers.__version__}, the files are made with {models.PINNED}")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    r = random.Random(args.seed)
    size = {"vocab": 0, "width": 18, "heads": 3, "hidden": 22, "layers": 2, "positions": 44}
    if args.live:
        heads = r.choice([1, 2, 3, 5])
        size.update(width=heads * r.choice([2, 6, 10]), heads=heads, hidden=r.randint(5, 60), layers=r.randint(1, 3),
                    positions=r.randint(40, 90))
    os.makedirs(args.folder, exist_ok=True)
    written = {"answer": [], "fill": []}
    for name, kind, config, vocabulary in cases({**size, "vocab": 400}):
        torch.manual_seed(args.seed)
        model, tokenizer = make(args.folder, name, kind, config, vocabulary, torch.Generator().manual_seed(args.seed))
        if name.endswith("_answer"):
            written["answer"] += answer_cases(name, model, tokenizer, size, r, 12 if args.live else 5, args.live)
        else:
            written["fill"] += fill_cases(name, model, tokenizer, r, 20 if args.live else 6)
    for what, lines in written.items():
        with open(os.path.join(args.folder, what + ".jsonl"), "w") as f:
            f.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


if __name__ == "__main__":
    main()
