"""Repeats a training run of Hecate in PyTorch, with the same initial weights, batches and schedule, and compares losses.

    tools/twin/twin.py DIR [--threads N] [--within 0.001] [--double] [--device cuda] [--follow]

tools/twin/run makes DIR. It contains run/ from `hecate train --task translate` (or seq2seq) without dropout, the
batches.jsonl that this run wrote with --dump-batches, and first/ with the initial weights (its only step had a learning
rate of zero). The model below follows the formulas in plain PyTorch: autograd computes the gradients,
torch.optim.AdamW the updates. For each line of the log, prints both losses and their relative difference; fails if a
difference is above --within. --double: PyTorch computes in f64, which shows the effect of rounding alone. --follow:
after each report PyTorch copies Hecate's weights from the checkpoint of that step (but keeps its own moments), so that
rounding errors grow only during the steps of one report."""
import argparse
import json
import math
import sys

import torch
from safetensors.torch import load_file
from torch.nn import functional as F


class Twin:
    """Marian: post-norm, ReLU, one table for all embeddings, sinusoidal positions with sines in the first half."""

    def __init__(self, folder, dtype):
        with open(f"{folder}/config.json") as f:
            self.config = c = json.load(f)
        assert c["model_type"] == "marian" and c["activation_function"] == "relu", c
        self.C, self.pad = c["d_model"], c["pad_token_id"]
        self.w = {name: t.to(torch.get_default_device(), dtype)
                  for name, t in load_file(f"{folder}/model.safetensors").items()}
        self.table = next(n for n in ["model.shared.weight", "model.encoder.embed_tokens.weight"]
                          if n in self.w)
        # Position tables are not trained. The copies of the shared table are one parameter.
        self.learned = {n: t.requires_grad_() for n, t in self.w.items()
                        if "embed_positions" not in n
                        and (n == self.table or not n.endswith(("embed_tokens.weight", "lm_head.weight")))}

    def linear(self, name, x):
        return F.linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def norm(self, name, x):
        return F.layer_norm(x, (self.C,), self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def attention(self, name, H, x, memory, seen):
        B, T, C = x.shape
        q, k, v = (self.linear(f"{name}.{part}_proj", of).view(B, -1, H, C // H).transpose(1, 2)
                   for part, of in [("q", x), ("k", memory), ("v", memory)])
        scores = q @ k.transpose(2, 3) / math.sqrt(C // H)
        y = scores.masked_fill(~seen, -math.inf).softmax(-1) @ v
        return self.linear(f"{name}.out_proj", y.transpose(1, 2).reshape(B, T, C))

    def feed_forward(self, name, x):
        return self.linear(f"{name}.fc2", self.linear(f"{name}.fc1", x).relu())

    def embed(self, ids):
        half = torch.arange(self.C // 2, dtype=torch.float64)
        angle = torch.arange(ids.shape[1])[:, None] / 10000 ** (2 * half / self.C)
        return (F.embedding(ids, self.w[self.table]) * math.sqrt(self.C)
                + torch.cat([angle.sin(), angle.cos()], 1).to(self.w[self.table].dtype))

    def loss(self, batch, smoothing):
        """The summed loss to learn from, the same without smoothing, and the number of targets that are not ignored."""
        c = self.config
        source, given, wanted = (torch.tensor(batch[k]) for k in ["ids", "decoder_ids", "targets"])
        real = (source != self.pad)[:, None, None, :]
        x = self.embed(source)
        for i in range(c["encoder_layers"]):
            at, H = f"model.encoder.layers.{i}", c["encoder_attention_heads"]
            x = self.norm(f"{at}.self_attn_layer_norm",
                          x + self.attention(f"{at}.self_attn", H, x, x, real))
            x = self.norm(f"{at}.final_layer_norm", x + self.feed_forward(at, x))
        y, T = self.embed(given), given.shape[1]
        before = torch.ones(T, T, dtype=torch.bool).tril()
        for i in range(c["decoder_layers"]):
            at, H = f"model.decoder.layers.{i}", c["decoder_attention_heads"]
            y = self.norm(f"{at}.self_attn_layer_norm",
                          y + self.attention(f"{at}.self_attn", H, y, y, before))
            y = self.norm(f"{at}.encoder_attn_layer_norm",
                          y + self.attention(f"{at}.encoder_attn", H, y, x, real))
            y = self.norm(f"{at}.final_layer_norm", y + self.feed_forward(at, y))
        logits = F.linear(y, self.w[self.table], self.w["final_logits_bias"].view(-1))
        return cross_entropy(logits.flatten(0, 1), wanted.flatten(), smoothing)


    def take(self, folder):
        """Copies the weights of the checkpoint in folder."""
        with torch.no_grad():
            for name, t in load_file(f"{folder}/model.safetensors").items():
                self.w[name].copy_(t)


def cross_entropy(logits, wanted, smoothing):
    """The summed loss to learn from, the same without label smoothing (what Hecate reports), the number of targets."""
    def loss(label_smoothing):
        return F.cross_entropy(logits, wanted, ignore_index=-100, reduction="sum", label_smoothing=label_smoothing)
    learned = loss(smoothing)
    return learned, (loss(0.0) if smoothing else learned).item(), int((wanted != -100).sum())


def rate(s, width, step):
    """The learning rate of a step, from 1. See include/hecate/trainer.h."""
    lr, end, warmup, kind = s["lr"], s["lr_end"], max(s["warmup"], 1), s["schedule"]
    if kind == "noam":
        return lr * width ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)
    if step < warmup:
        return lr * step / warmup
    way = min((step - warmup) / max(s["steps"] + 1 - warmup, 1), 1)
    return {"inverse-sqrt": lr * math.sqrt(warmup / step), "constant": lr,
            "linear": lr + (end - lr) * way,
            "cosine": end + (lr - end) * 0.5 * (1 + math.cos(math.pi * way))}[kind]


def optimizer_of(twin, s):
    """Weight decay applies to matrices only. Marian stores the output bias as a matrix of one row: it does not decay."""
    matrices = [t for n, t in twin.learned.items() if t.dim() > 1 and n != "final_logits_bias"]
    rest = [t for n, t in twin.learned.items() if t.dim() < 2 or n == "final_logits_bias"]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": s["weight_decay"]},
                              {"params": rest, "weight_decay": 0.0}], lr=0.0,
                             betas=(s["beta1"], s["beta2"]), eps=s["eps"])


def learn(twin, s, batches):
    """Runs a training step. Returns (sum of the losses without smoothing, as Hecate reports them; targets)."""
    total, count = 0.0, 0
    for batch in batches:
        loss, plain, n = twin.loss(batch, s["label_smoothing"])
        loss.backward()
        total, count = total + plain, count + n
    twin.w[twin.table].grad[twin.pad] = 0  # this row stays zero: decoding starts with it
    grads = [t.grad for t in twin.learned.values()]
    norm = math.sqrt(sum(g.double().square().sum().item() for g in grads)) / count
    scale = min(1.0, s["clip"] / norm) / count if s["clip"] > 0 else 1.0 / count
    for g in grads:
        g.mul_(scale)
    return total, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--within", type=float, default=0.001)
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--device", default="cpu", help="where PyTorch computes")
    parser.add_argument("--follow", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_default_device(args.device)
    with open(f"{args.dir}/run/train.json") as f:
        s = json.load(f)
    for name in ["dropout", "attention_dropout", "activation_dropout"]:
        assert s[name] == 0, f"{name} is {s[name]}: random numbers are not the same"
    with open(f"{args.dir}/run/log.jsonl") as f:
        reports = [json.loads(line) for line in f]
    assert reports and reports[-1]["skipped"] == 0, "no report, or a step that was not finite"
    twin = Twin(f"{args.dir}/first/checkpoint/step-00000001", torch.float64 if args.double else torch.float32)
    optimizer = optimizer_of(twin, s)
    worst, step, lines = 0.0, 0, open(f"{args.dir}/batches.jsonl")
    print(f"{'step':>6} {'Hecate':>10} {'PyTorch':>10} {'difference':>11}")
    for report in reports:
        total, count = 0.0, 0
        while step < report["step"]:
            step += 1
            batches = [json.loads(lines.readline()) for _ in range(s["accumulate"])]
            assert all(b["step"] == step for b in batches), f"batches.jsonl does not go on with {step}"
            part, n = learn(twin, s, batches)
            total, count = total + part, count + n
            for group in optimizer.param_groups:
                group["lr"] = rate(s, twin.C, step)
            optimizer.step()
            optimizer.zero_grad()
        assert count == report["targets"], f"{count} targets, Hecate counted {report['targets']}"
        ours, theirs = report["loss"], total / count
        difference = abs(ours - theirs) / theirs
        worst = max(worst, difference)
        print(f"{step:6} {ours:10.6f} {theirs:10.6f} {100 * difference:9.5f} %", flush=True)
        if args.follow:
            twin.take(f"{args.dir}/run/checkpoint/step-{step:08}")
    print(f"{len(reports)} reports, {step} steps: at most {100 * worst:.5f} % apart, "
          f"{100 * args.within:g} % allowed")
    sys.exit(0 if worst <= args.within else 1)


if __name__ == "__main__":
    main()
