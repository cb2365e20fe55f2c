#!/usr/bin/env python3
"""Makes tests/golden/decode.txt: greedy and beam search of Hugging Face Transformers, with many options,
over a model that is one formula (tests/support/formula.c has the same one), and what its warpers leave
of a row of logits. Needs the pinned packages: tools/venv DIR torch transformers; then
DIR/bin/python tools/goldens/decode.py.

A line `search` holds one call: vocab, ends (a count, then ids), beams, nbest, length penalty, early
(0 false, 1 true, 2 never), min_tokens, max_tokens, no_repeat_ngram, repetition_penalty, suppressed (a
count, then ids), forced_bos, forced_eos, prompt (a count, then ids). nbest lines `result` follow: score,
count, ids. A line `warp`: temperature, top_k, top_p, min_p, prompt, vocab, then how many ids are left and
the ids."""
import os
import random
import sys

import numpy as np
import torch
import transformers
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.generation import logits_process
from transformers.modeling_outputs import CausalLMOutput

PINNED = "5.22.2"


def mix(h):
    """Spreads the bits of a 32-bit word."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def formula(ids, vocab, end):
    """Logits after ids: words of the first and the last two of them; the end grows likelier."""
    first, last = np.uint32(ids[0]), np.uint32(ids[-1])
    before = np.uint32(ids[-2]) if len(ids) > 1 else np.uint32(0)
    with np.errstate(over="ignore"):
        h = mix(np.uint32(first * np.uint32(31) + np.uint32(1)))
        h = mix(np.uint32(h + last * np.uint32(0x9E3779B1)))
        h = mix(np.uint32(h + (before % np.uint32(3)) * np.uint32(0x85EBCA77)))
        h = mix(h + np.arange(vocab, dtype=np.uint32) * np.uint32(0x27D4EB2F))
    x = (h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24) * np.float32(7)
    x[end] += np.float32(len(ids)) * np.float32(0.4) - np.float32(2)
    return x


class FormulaConfig(PretrainedConfig):
    model_type = "formula"

    def __init__(self, vocab_size=16, end=0, **rest):
        super().__init__(**rest)
        self.vocab_size, self.end = vocab_size, end


class Formula(PreTrainedModel, GenerationMixin):
    config_class = FormulaConfig
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__(config)
        self.dummy = torch.nn.Parameter(torch.zeros(1))
        self.post_init()

    def prepare_inputs_for_generation(self, input_ids, **rest):
        return {"input_ids": input_ids}

    def forward(self, input_ids, **rest):
        rows = [formula(row.tolist(), self.config.vocab_size, self.config.end) for row in input_ids]
        return CausalLMOutput(logits=torch.from_numpy(np.stack(rows))[:, None, :])


class Margin:
    """The least gap between scores that beam search put in an order, while it is entered."""

    def __enter__(self):
        self.topk, self.least = torch.topk, float("inf")

        def watched(x, k, **rest):
            values = self.topk(x, min(k + 1, x.shape[-1]), **rest)[0]
            gaps = values[..., :-1] - values[..., 1:]
            gaps = gaps[values[..., 1:] > -1e8]
            if gaps.numel():
                self.least = min(self.least, float(gaps.min()))
            return self.topk(x, k, **rest)
        torch.topk = watched
        return self

    def __exit__(self, *error):
        torch.topk = self.topk


def search(model, o, prompt):
    """One call of generate; [(score, ids written)]."""
    config = GenerationConfig(
        num_beams=o["beams"], num_return_sequences=o["nbest"], length_penalty=o["penalty"],
        early_stopping=[False, True, "never"][o["early"]], min_new_tokens=o["min"] or None,
        max_new_tokens=o["max"], no_repeat_ngram_size=o["ngram"], repetition_penalty=o["repetition"],
        suppress_tokens=o["suppress"] or None,
        forced_bos_token_id=None if o["bos"] < 0 else o["bos"],
        forced_eos_token_id=None if o["eos"] < 0 else o["eos"],
        eos_token_id=o["ends"], pad_token_id=o["ends"][0], use_cache=False, do_sample=False,
        return_dict_in_generate=True, output_scores=True, output_logits=True)
    out = model.generate(torch.tensor([prompt]), generation_config=config)
    results = []
    for k in range(o["nbest"]):
        ids = out.sequences[k].tolist()[len(prompt):]
        for i, token in enumerate(ids):
            if token in o["ends"]:
                ids = ids[:i + 1]
                break
        if o["beams"] > 1:
            score = float(out.sequences_scores[k])
        else:
            score = 0.0
            for i, token in enumerate(ids):
                forced = (o["bos"] >= 0 and len(prompt) + i == 1) or (o["eos"] >= 0 and i == o["max"] - 1)
                score += 0 if forced else float(torch.log_softmax(out.logits[i][0], -1)[token])
            score /= len(ids) ** o["penalty"]
        results.append((score, ids))
    return results


def draw_options(rng, vocab):
    beams = rng.choice([1, 2, 3, 4, 4, 5, 7])
    few = rng.random() < 0.15
    ends = rng.sample(range(vocab), 2 if few else 1)
    o = {"beams": beams, "nbest": rng.randint(1, beams), "penalty": rng.choice([1.0, 1.0, 0.0, 0.6, 2.0, -0.5]),
         "early": rng.randrange(3), "min": rng.choice([0, 0, 0, 4]), "max": rng.choice([1, 2, 9, 14, 14, 24]),
         "ngram": rng.choice([0, 0, 1, 2, 3]), "repetition": rng.choice([1.0, 1.0, 1.3, 0.8]),
         "suppress": rng.sample([i for i in range(vocab) if i not in ends], rng.choice([0, 0, 2])),
         "bos": -1, "eos": -1, "ends": ends}
    allowed = [i for i in range(vocab) if i not in o["suppress"] and i not in ends]
    if rng.random() < 0.2:
        o["bos"] = rng.choice(allowed)
    if rng.random() < 0.25:
        o["eos"] = ends[0]
    # A 1-gram that may not repeat must leave enough words, or only ties of nothing are left.
    if o["ngram"] == 1:
        o["max"] = min(o["max"], vocab - 8)
    return o


def write_searches(out, rng):
    for _ in range(700):
        vocab = rng.choice([23, 37, 64, 131, 200])
        o = draw_options(rng, vocab)
        prompt = [rng.randrange(vocab) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
        model = Formula(FormulaConfig(vocab_size=vocab, end=o["ends"][0]))
        with Margin() as margin:
            results = search(model, o, prompt)
        if margin.least < 1e-5:  # rounding may decide
            continue
        out.write("search %d %d %s %d %d %g %d %d %d %d %g %d %s%d %d %d %s\n" % (
            vocab, len(o["ends"]), " ".join(map(str, o["ends"])), o["beams"], o["nbest"], o["penalty"],
            o["early"], o["min"], o["max"], o["ngram"], o["repetition"], len(o["suppress"]),
            "".join("%d " % i for i in o["suppress"]), o["bos"], o["eos"], len(prompt),
            " ".join(map(str, prompt))))
        for score, ids in results:
            out.write("result %.7g %d %s\n" % (score, len(ids), " ".join(map(str, ids))))


def write_warps(out, rng):
    for _ in range(120):
        vocab = rng.choice([5, 23, 64, 131, 500])
        prompt = [rng.randrange(vocab) for _ in range(2)]
        temperature = rng.choice([1.0, 0.7, 1.5])
        top_k = rng.choice([0, 0, 1, 4, 20])
        top_p = rng.choice([0.0, 0.3, 0.9, 0.99])
        min_p = rng.choice([0.0, 0.0, 0.05, 0.5])
        x = torch.from_numpy(formula(prompt, vocab, 0))[None]
        if temperature != 1:
            x = logits_process.TemperatureLogitsWarper(temperature)(None, x)
        if top_k:
            x = logits_process.TopKLogitsWarper(top_k)(None, x)
        if top_p:
            x = logits_process.TopPLogitsWarper(top_p)(None, x)
        if min_p:
            x = logits_process.MinPLogitsWarper(min_p)(None, x)
        left = torch.isfinite(x[0]).nonzero()[:, 0].tolist()
        out.write("warp %g %d %g %g %d %d %d %d %s\n" % (
            temperature, top_k, top_p, min_p, prompt[0], prompt[1], vocab, len(left), " ".join(map(str, left))))


def main():
    if transformers.__version__ != PINNED:
        sys.exit(f"transformers {transformers.__version__} is not the pinned {PINNED}")
    transformers.logging.set_verbosity_error()
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../../tests/golden")
    rng = random.Random(4)
    with open(os.path.join(folder, "decode.txt"), "w") as out:
        write_searches(out, rng)
        write_warps(out, rng)


if __name__ == "__main__":
    main()
