#!/usr/bin/env python3
"""Makes tests/golden/generate.jsonl: the output of Hugging Face Transformers with the models of
tests/golden/models, greedily and with 4 beams. Each line: {"model", "prompt", "beams", "tokens", "ids", "score"}.
Cases with a margin below 1e-4 are skipped. Needs the pinned torch, transformers and safetensors.

    tools/goldens/generate.py [FOLDER]"""
import json
import os
import random
import sys
import warnings

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from parity_generate import draw, reference, writes  # noqa: E402

PINNED = "5.22.2"


def main():
    assert transformers.__version__ == PINNED, f"transformers {PINNED} is pinned"
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../tests/golden")
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    chance = random.Random(7)
    with open(os.path.join(root, "generate.jsonl"), "w") as out:
        for name in sorted(os.listdir(os.path.join(root, "models"))):
            folder = os.path.join(root, "models", name)
            kind = writes(folder)
            if not kind:
                continue
            model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
            for _ in range(2):
                prompt, tokens = draw(chance, folder)
                for beams in (1, 4):
                    ids, score, margin = reference(model, prompt, beams, tokens)
                    if margin >= 1e-4:
                        out.write(json.dumps({"model": name, "prompt": prompt, "beams": beams, "tokens": tokens,
                                              "ids": ids, "score": round(score, 7)}) + "\n")


if __name__ == "__main__":
    main()
