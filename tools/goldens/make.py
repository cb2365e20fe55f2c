#!/usr/bin/env python3
"""Makes the golden files of tests/test_golden.c: results of PyTorch in float64.

    tools/goldens/make.py FOLDER [--seed N] [--live]

Needs the torch pinned in tools/peers.txt. Without --live: makes the committed files of tests/golden, the same on every
run except for the last bits of float64. With --live: makes other sizes and more cases from the seed, for tools/parity.

A file is a line "hecate golden 1", then for each tensor a line "NAME TYPE SIZE..." and its numbers, little-endian, row
by row. Inputs are rounded to float32 (type f32), so that every precision starts from the same numbers. Results are f64.
"""
import argparse
import math
import os
import sys

import torch
import torch.nn.functional as F

PINNED = "2.13.0"
TYPES = {torch.float32: "f32", torch.float64: "f64", torch.int32: "i32", torch.int8: "i8"}


class Golden:
    def __init__(self, path):
        self.path, self.parts = path, [b"hecate golden 1\n"]

    def put(self, name, tensor):
        tensor = tensor.detach().contiguous()
        sizes = " ".join(str(n) for n in tensor.shape)
        self.parts.append(f"{name} {TYPES[tensor.dtype]} {sizes}\n".encode())
        self.parts.append(tensor.numpy().tobytes())

    def given(self, name, tensor):
        """An input: its values are exact in float32."""
        self.put(name, tensor.to(torch.float32))

    def numbers(self, name, values):
        self.put(name, torch.tensor(values, dtype=torch.float64))

    def integers(self, name, values):
        self.put(name, torch.tensor(values, dtype=torch.int32))

    def save(self):
        with open(self.path, "wb") as f:
            f.write(b"".join(self.parts))


def rounded(tensor):
    return tensor.to(torch.float32).to(torch.float64)


def random(*shape):
    return rounded(torch.randn(*shape, dtype=torch.float64))


# ---- layers ----

def attention_names(theirs, ours, fused):
    names = {}
    for kind, short in (("weight", "w"), ("bias", "b")):
        whole = f"{theirs}.in_proj_{kind}"
        if fused:
            names[whole] = [(f"{ours}.qkv.{short}", 0, 1)]
        else:
            names[whole] = [(f"{ours}.{part}.{short}", i, 3) for i, part in enumerate("qkv")]
        names[f"{theirs}.out_proj.{kind}"] = [(f"{ours}.out.{short}", 0, 1)]
    return names


def layer_names(decoder, fused):
    """PyTorch's parameter name -> (Hecate's name, index and number of the parts of a joined parameter)."""
    names = attention_names("self_attn", "self" if decoder else "attention", fused)
    if decoder:
        names.update(attention_names("multihead_attn", "cross", fused))
    for theirs, ours in (("linear1", "feed_forward.up"), ("linear2", "feed_forward.down")):
        names[f"{theirs}.weight"] = [(f"{ours}.w", 0, 1)]
        names[f"{theirs}.bias"] = [(f"{ours}.b", 0, 1)]
    for i in range(1, 4 if decoder else 3):
        names[f"norm{i}.weight"] = [(f"norm{i}.gamma", 0, 1)]
        names[f"norm{i}.bias"] = [(f"norm{i}.beta", 0, 1)]
    return names


def put_parameters(golden, prefix, names, tensors, put):
    for theirs, tensor in tensors:
        for ours, i, parts in names[theirs]:
            put(prefix + ours, tensor.detach().chunk(parts)[i])


def layer(folder, name, decoder, norm_first, activation, fused, B, T, S, C, H, F_):
    golden = Golden(os.path.join(folder, name + ".golden"))
    golden.integers("config", [C, H, F_, norm_first, activation == "gelu", fused])
    kind = torch.nn.TransformerDecoderLayer if decoder else torch.nn.TransformerEncoderLayer
    module = kind(C, H, F_, dropout=0.0, activation=activation, batch_first=True,
                  norm_first=norm_first, dtype=torch.float64)
    module.train()
    with torch.no_grad():
        for p in module.parameters():
            # Move biases and norms away from zero and one, so that an error in them has an effect.
            p.copy_(rounded(p + 0.1 * torch.randn_like(p)))
    names = layer_names(decoder, fused)
    put_parameters(golden, "param.", names, module.named_parameters(), golden.given)

    x, target = random(B, T, C).requires_grad_(), random(B, T, C)
    golden.given("x", x)
    golden.given("target", target)
    if decoder:
        memory = random(B, S, C).requires_grad_()
        golden.given("memory", memory)
        lengths = [S] + [min(S, max(1, S // 2 + i)) for i in range(B - 1)]
        padding = torch.tensor([[s >= n for s in range(S)] for n in lengths])
        causal = torch.ones(T, T, dtype=torch.bool).triu(1)
        run = lambda: module(x, memory, tgt_mask=causal, memory_key_padding_mask=padding)
    else:
        lengths = [T] + [min(T, max(1, T // 2 + i)) for i in range(B - 1)]
        padding = torch.tensor([[s >= n for s in range(T)] for n in lengths])
        run = lambda: module(x, src_key_padding_mask=padding)
    golden.integers("lengths", lengths)

    # Ten steps of AdamW on the squared error. An error d of a gradient changes a step by about lr*d/eps. A large eps
    # keeps the effect of float32 rounding small, so that a wrong step is visible.
    options = dict(lr=1e-2, betas=(0.9, 0.95), eps=1e-2, weight_decay=0.05)
    adamw = torch.optim.AdamW(module.parameters(), **options)
    golden.numbers("adamw", [options["lr"], *options["betas"], options["eps"],
                             options["weight_decay"]])
    losses = []
    for step in range(10):
        adamw.zero_grad()
        y = run()
        loss = 0.5 * ((y - target) ** 2).sum()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            golden.put("y", y)
            golden.put("dx", x.grad)
            if decoder:
                golden.put("dmemory", memory.grad)
            grads = [(n, p.grad) for n, p in module.named_parameters()]
            put_parameters(golden, "grad.", names, grads, golden.put)
        adamw.step()
    golden.numbers("losses", losses)
    put_parameters(golden, "after.", names, module.named_parameters(), golden.put)
    golden.save()


# ---- attention ----

def attention(folder, name, B, T, S, H, G, K, D, causal):
    golden = Golden(os.path.join(folder, name + ".golden"))
    q, k, v = (random(B, n, h, d).requires_grad_() for n, h, d in ((T, H, K), (S, G, K), (S, G, D)))
    bias, dout = random(1, H, T, S).requires_grad_(), random(B, T, H, D)
    visible = torch.rand(B, 1, T, S) < 0.7
    visible[..., 0] = True  # a row without a visible key is NaN in PyTorch, but zero in Hecate
    golden.integers("config", [causal])
    for n, t in (("q", q), ("k", k), ("v", v), ("bias", bias), ("dout", dout)):
        golden.given(n, t)
    golden.put("visible", visible.to(torch.int8))
    seen = visible
    if causal:
        seen = seen & torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scores = bias.expand(B, H, T, S).masked_fill(~seen, -math.inf)
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                         attn_mask=scores, enable_gqa=True).transpose(1, 2)
    out.backward(dout)
    heads = k.detach().repeat_interleave(H // G, 2)
    full = torch.einsum("bthk,bshk->bhts", q.detach(), heads) / math.sqrt(K) + scores.detach()
    golden.put("out", out)
    golden.put("lse", full.logsumexp(-1))
    golden.put("weights", full.softmax(-1))
    for n, t in (("dq", q), ("dk", k), ("dv", v), ("dbias", bias)):
        golden.put(n, t.grad)
    golden.save()


# ---- smaller operations ----

def cross_entropy(folder, N, V, smoothing):
    golden = Golden(os.path.join(folder, f"cross_entropy_{int(100 * smoothing)}.golden"))
    logits = rounded(3 * random(N, V)).requires_grad_()
    targets = torch.randint(0, V, (N,))
    targets[1] = targets[N - 1] = -100
    losses = F.cross_entropy(logits, targets, reduction="none", label_smoothing=smoothing)
    F.cross_entropy(logits, targets, label_smoothing=smoothing).backward()
    golden.numbers("config", [smoothing])
    golden.given("logits", logits)
    golden.put("targets", targets.to(torch.int32))
    golden.put("losses", losses)
    golden.put("dlogits", logits.grad)
    golden.save()


def norms(folder, N, C):
    golden = Golden(os.path.join(folder, "norms.golden"))
    x, gamma, beta, dy = random(N, C), random(C), random(C), random(N, C)
    for n, t in (("x", x), ("gamma", gamma), ("beta", beta), ("dy", dy)):
        golden.given(n, t)
    golden.numbers("config", [1e-5])
    for kind in ("layer", "rms"):
        a, g, b = (t.clone().requires_grad_() for t in (x, gamma, beta))
        if kind == "layer":
            y = F.layer_norm(a, (C,), g, b, 1e-5)
        else:
            y = F.rms_norm(a, (C,), g, 1e-5)
        y.backward(dy)
        golden.put(kind + ".y", y)
        golden.put(kind + ".dx", a.grad)
        golden.put(kind + ".dgamma", g.grad)
        if kind == "layer":
            golden.put(kind + ".dbeta", b.grad)
    golden.save()


def activations(folder, N):
    golden = Golden(os.path.join(folder, "activations.golden"))
    x = rounded(torch.cat([torch.linspace(-12, 12, N, dtype=torch.float64), random(N)]))[None]
    up, dy = random(1, 2 * N), random(1, 2 * N)
    golden.given("x", x)
    golden.given("up", up)
    golden.given("dy", dy)
    curves = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu,
              "gelu_tanh": lambda t: F.gelu(t, approximate="tanh")}
    for name, f in curves.items():
        a = x.clone().requires_grad_()
        y = f(a)
        y.backward(dy)
        golden.put(name + ".y", y)
        golden.put(name + ".dx", a.grad)
        a, b = x.clone().requires_grad_(), up.clone().requires_grad_()
        y = f(a) * b
        y.backward(dy)
        golden.put(name + ".gated", y)
        golden.put(name + ".dgate", a.grad)
        golden.put(name + ".dup", b.grad)
    golden.save()


def embedding(folder, V, C, N):
    golden = Golden(os.path.join(folder, "embedding.golden"))
    table, dy = random(V, C).requires_grad_(), random(N, C)
    ids = torch.randint(0, V, (N,))
    ids[:3] = 1
    y = F.embedding(ids, table, padding_idx=1) * math.sqrt(C)
    y.backward(dy)
    golden.given("table", table)
    golden.given("dy", dy)
    golden.put("ids", ids.to(torch.int32))
    golden.put("y", y)
    golden.put("dtable", table.grad)
    golden.save()


def positions(folder, T, C):
    golden = Golden(os.path.join(folder, "positions.golden"))
    t = torch.arange(T, dtype=torch.float64)[:, None]
    angle = t / 10000 ** (2 * torch.arange((C + 1) // 2, dtype=torch.float64) / C)
    interleaved = torch.zeros(T, C, dtype=torch.float64)
    interleaved[:, 0::2], interleaved[:, 1::2] = angle.sin(), angle[:, : C // 2].cos()
    golden.put("interleaved", interleaved)
    golden.put("halves", torch.cat([angle.sin(), angle[:, : C // 2].cos()], 1))
    # Rotary: pairs as in Llama of Transformers (rotate_half), and as in RoFormer (adjacent).
    B, H, K = 2, 3, 8
    x = random(B, T, H, K)
    golden.given("x", x)
    angle = (t * 10000 ** (-torch.arange(0, K, 2, dtype=torch.float64) / K))[None, :, None]
    c, s = angle.cos(), angle.sin()
    a, b = x[..., : K // 2], x[..., K // 2:]
    golden.put("rotary.halves", torch.cat([a * c - b * s, b * c + a * s], -1))
    a, b = x[..., 0::2], x[..., 1::2]
    golden.put("rotary.interleaved", torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2))
    golden.save()


def t5_buckets(folder):
    """The rule of Transformers' T5Attention._relative_position_bucket, computed in float32 as there."""
    golden = Golden(os.path.join(folder, "t5_buckets.golden"))
    distance = torch.arange(-300, 301)
    cases = [(32, 128, True), (32, 128, False), (8, 20, True), (16, 64, False)]
    golden.put("distance", distance.to(torch.int32))
    golden.integers("config", [n for case in cases for n in case])
    for i, (buckets, far, both) in enumerate(cases):
        result = torch.zeros_like(distance)
        if both:
            buckets //= 2
            result += (distance > 0).long() * buckets
            d = distance.abs()
        else:
            d = (-distance).clamp(min=0)
        exact = buckets // 2
        large = torch.log(d.float() / exact) / math.log(far / exact) * (buckets - exact)
        large = (exact + large.clamp(min=-1000).to(torch.long)).clamp(max=buckets - 1)
        result += torch.where(d < exact, d, large)
        golden.put(f"bucket{i}", result.to(torch.int32))
    golden.save()


def committed(folder):
    small = dict(B=2, T=5, S=7, C=12, H=3, F_=20)
    layer(folder, "encoder_post_relu", False, False, "relu", True, **small)
    layer(folder, "encoder_post_gelu", False, False, "gelu", False, **small)
    layer(folder, "encoder_pre_relu", False, True, "relu", False, **small)
    layer(folder, "encoder_pre_gelu", False, True, "gelu", True, **small)
    layer(folder, "decoder_post_relu", True, False, "relu", True, **small)
    layer(folder, "decoder_pre_gelu", True, True, "gelu", False, **small)
    attention(folder, "attention", 2, 4, 6, 4, 2, 3, 5, False)
    attention(folder, "attention_causal", 1, 5, 7, 2, 2, 4, 4, True)
    cross_entropy(folder, 7, 11, 0.0)
    cross_entropy(folder, 7, 11, 0.1)
    norms(folder, 5, 13)
    activations(folder, 49)
    embedding(folder, 6, 5, 11)
    positions(folder, 9, 7)
    t5_buckets(folder)


def live(folder):
    def size(low, high):
        return int(torch.randint(low, high + 1, ()))

    n = 0
    for decoder in (False, True):
        for norm_first in (False, True):
            for activation in ("relu", "gelu"):
                H = size(1, 4)
                # A norm over two numbers is always ±1, and its gradient is only rounding error: use larger sizes.
                C = H * size(1 if H > 2 else 3, 16)
                layer(folder, f"{'decoder' if decoder else 'encoder'}_{n}", decoder, norm_first,
                      activation, bool(n % 3), B=size(1, 4), T=size(1, 33), S=size(1, 33),
                      C=C, H=H, F_=size(1, 130))
                n += 1
    for i in range(6):
        G, T = size(1, 3), size(1, 70)
        attention(folder, f"attention_{i}", size(1, 3), T, T + size(0, 40), G * size(1, 3), G,
                  size(1, 70), size(1, 70), i % 2 == 1)
    cross_entropy(folder, size(3, 40), size(2, 1000), 0.0)
    cross_entropy(folder, size(3, 40), size(2, 1000), 0.1)
    norms(folder, size(1, 40), size(2, 300))
    activations(folder, 501)
    embedding(folder, size(3, 50), size(1, 40), size(3, 200))
    positions(folder, size(1, 100), size(1, 70))
    t5_buckets(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--live", action="store_true")
    options = parser.parse_args()
    if torch.__version__.split("+")[0] != PINNED:
        sys.exit(f"make.py: torch {torch.__version__} is installed, {PINNED} is pinned")
    torch.manual_seed(options.seed)
    os.makedirs(options.folder, exist_ok=True)
    (live if options.live else committed)(options.folder)


if __name__ == "__main__":
    main()
