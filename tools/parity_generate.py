#!/usr/bin/env python3
"""Compares `hecate generate --ids` with the installed Transformers on every generating model in a folder that
tools/goldens/models.py made.

    tools/parity_generate.py HECATE FOLDER [--seed N] [--prompts N]

Both continue each prompt, greedily and with 4 beams. The ids must be equal, and the scores within 1e-4: Transformers'
sequences_scores for beam search, the mean log probability for greedy search. If the ids are not equal, the prompt
fails, unless some decision of the reference had a margin below 1e-4: then the prompt counts as undecided.
The last line is "N passed, N failed, N undecided"."""
import argparse
import json
import os
import random
import subprocess
import sys
import warnings

import torch
import transformers
from transformers import AutoConfig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens"))
from decode import Margin  # noqa: E402


def writes(folder):
    """The Transformers class of the model, or None if it does not generate text."""
    path = os.path.join(folder, "config.json")
    if not os.path.exists(path):
        return None
    with open(path) as f:
        name = (json.load(f).get("architectures") or [""])[0]
    ok = name.endswith(("LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "MTModel"))
    return getattr(transformers, name) if ok and not name.startswith("Whisper") else None


def draw(chance, folder):
    """A random prompt, and the maximum number of new tokens."""
    config = AutoConfig.from_pretrained(folder)
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", 64)
    rotary, least = getattr(config, "rope_parameters", None) or {}, 1
    if rotary.get("rope_type") == "longrope":  # Transformers chooses the list of factors by the length, Hecate by a setting
        original = rotary["original_max_position_embeddings"]
        positions, least = (positions, original + 1) if getattr(config, "rope_long", False) else (original, 1)
    n = chance.randint(least, max(least, min(12, positions // 3)))
    return ([chance.randrange(3, config.vocab_size - 1) for _ in range(n)],
            chance.randint(2, max(2, min(16, positions - n - 1))))


def reference(model, ids, beams, tokens):
    """ids, score, margin."""
    with Margin() as margin:
        out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                             num_beams=beams, do_sample=False, max_new_tokens=tokens, output_scores=True,
                             output_logits=True, return_dict_in_generate=True)
    begin = 1 if model.config.is_encoder_decoder else len(ids)
    new = out.sequences[0, begin:].tolist()
    if beams > 1:
        return new, out.sequences_scores[0].item(), margin.least
    # A forced token has score 0: it is the only one whose score is not −inf.
    total = 0.0
    for logits, score, token in zip(out.logits, out.scores, new):
        if torch.isfinite(score[0]).sum() > 1:
            total += torch.log_softmax(logits[0].float(), -1)[token].item()
    return new, total / len(new), margin.least


def ours(program, folder, ids, beams, tokens):
    run = subprocess.run([program, "generate", "-m", folder, "--ids", ",".join(map(str, ids)), "--beam", str(beams),
                          "--max-tokens", str(tokens), "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    found = json.loads(run.stdout)
    return found["ids"], found["score"]


def main():
    words = argparse.ArgumentParser()
    words.add_argument("hecate")
    words.add_argument("folder")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--prompts", type=int, default=4)
    words = words.parse_args()
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    chance = random.Random(words.seed)
    passed = failed = undecided = models = 0
    largest = 0.0
    for name in sorted(os.listdir(words.folder)):
        folder = os.path.join(words.folder, name)
        kind = writes(folder)
        if not kind:
            continue
        models += 1
        model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        for _ in range(words.prompts):
            ids, tokens = draw(chance, folder)
            for beams in (1, 4):
                got, score = ours(words.hecate, folder, ids, beams, tokens)
                want, best, margin = reference(model, ids, beams, tokens)
                if got == want:
                    largest = max(largest, abs(score - best))
                if got == want and abs(score - best) <= 1e-4:
                    passed += 1
                elif margin < 1e-4:
                    undecided += 1
                else:
                    failed += 1
                    print(f"{name}, beams {beams}, {ids}, {tokens} tokens: {got} {score} instead of {want} {best}"
                          f" (margin {margin:.2g})")
    print(f"{models} models, scores differ by at most {largest:.2g}")
    print(f"{passed} passed, {failed} failed, {undecided} undecided")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
