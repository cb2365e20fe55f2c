"""Times training steps with PyTorch. Reads a JSON object from standard input and writes one to standard output.
compare_models.py starts one process for each peer, row and round.

The model is that of `hecate bench --model … --mode train`, written for speed: q, k and v in one product,
scaled_dot_product_attention, no mask unless one is needed, gradients set to None instead of zeroed, fused AdamW.
Dropout is applied at the same places as in Hecate: embeddings, attention weights, the hidden layer and the output of
each sublayer. The result is the median over the steps.

torch_compile: the same, compiled. torch_light: no dropout of the attention weights (PyTorch has no fused CPU kernel
for it) and of the hidden layer, so it does less work than Hecate.
"""
import json
import math
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, m, cross=False):
        super().__init__()
        C = m["C"]
        self.H, self.dropout, self.inside = m["H"], m["dropout"], m["inside"]
        self.first = nn.Linear(C, C if cross else 3 * C)  # q, or q, k and v
        self.kv = nn.Linear(C, 2 * C) if cross else None
        self.out = nn.Linear(C, C)

    def heads(self, x, n):
        B, T, C = x.shape
        return x.view(B, T, n, self.H, C // n // self.H).transpose(1, 3).unbind(2)

    def forward(self, x, memory=None, causal=False):
        B, T, C = x.shape
        if memory is None:
            q, k, v = self.heads(self.first(x), 3)
        else:
            q, = self.heads(self.first(x), 1)
            k, v = self.heads(self.kv(memory), 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, dropout_p=self.inside)
        y = self.out(y.transpose(1, 2).reshape(B, T, C))
        return F.dropout(y, self.dropout)


class FeedForward(nn.Module):
    def __init__(self, m, gelu):
        super().__init__()
        self.up, self.down = nn.Linear(m["C"], m["F"]), nn.Linear(m["F"], m["C"])
        self.gelu, self.dropout, self.inside = gelu, m["dropout"], m["inside"]

    def forward(self, x):
        x = self.up(x)
        x = F.gelu(x, approximate="tanh") if self.gelu else F.relu(x)
        x = F.dropout(x, self.inside) if self.inside else x
        return F.dropout(self.down(x), self.dropout)


class Layer(nn.Module):
    def __init__(self, m, norm_first, cross, causal):
        super().__init__()
        C = m["C"]
        self.norm_first, self.causal = norm_first, causal
        self.attention = Attention(m)
        self.cross = Attention(m, True) if cross else None
        self.feed_forward = FeedForward(m, norm_first)
        self.norms = nn.ModuleList(nn.LayerNorm(C) for _ in range(3 if cross else 2))

    def forward(self, x, memory=None):
        blocks = [lambda x: self.attention(x, causal=self.causal)]
        if self.cross is not None:
            blocks.append(lambda x: self.cross(x, memory))
        blocks.append(self.feed_forward)
        for block, norm in zip(blocks, self.norms):
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x


def sinusoid(n, C):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, C, 2) / C)
    return torch.cat([angle.sin(), angle.cos()], 1)


class Model(nn.Module):
    """Encoder and decoder of the 2017 paper; without encoder layers, a decoder like GPT-2."""

    def __init__(self, m):
        super().__init__()
        C, alone = m["C"], m["encoder"] == 0
        self.m, self.alone = m, alone
        self.embedding = nn.Embedding(m["V"], C)
        nn.init.normal_(self.embedding.weight, std=0.02 if alone else C ** -0.5)
        self.encoder = nn.ModuleList(Layer(m, False, False, False) for _ in range(m["encoder"]))
        self.decoder = nn.ModuleList(Layer(m, alone, not alone, True) for _ in range(m["decoder"]))
        self.norm = nn.LayerNorm(C) if alone else None
        if alone:
            self.positions = nn.Parameter(0.02 * torch.randn(m["T"], C))
        else:
            self.register_buffer("positions", sinusoid(max(m["S"], m["T"]), C))
            self.bias = nn.Parameter(torch.zeros(m["V"]))

    def embed(self, ids):
        x = self.embedding(ids)
        x = x if self.alone else x * math.sqrt(self.m["C"])
        return F.dropout(x + self.positions[:ids.shape[1]], self.m["dropout"])

    def forward(self, source, given, wanted):
        memory = None
        if not self.alone:
            memory = self.embed(source)
            for layer in self.encoder:
                memory = layer(memory)
        x = self.embed(given)
        for layer in self.decoder:
            x = layer(x, memory)
        x = self.norm(x) if self.alone else x
        logits = F.linear(x, self.embedding.weight, None if self.alone else self.bias)
        return F.cross_entropy(logits.view(-1, self.m["V"]), wanted.view(-1),
                               label_smoothing=self.m["smoothing"])


def groups(model):
    """Weight decay applies to matrices only, as in Hecate."""
    params = list(model.parameters())
    return [{"params": [p for p in params if p.dim() > 1], "weight_decay": 0.01},
            {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0}]


def main():
    ask = json.load(sys.stdin)
    m = dict(ask["model"], inside=0.0 if ask["peer"] == "torch_light" else ask["model"]["dropout"])
    torch.set_num_threads(ask["threads"])
    torch.manual_seed(1)
    model = Model(m).train()
    optimizer = torch.optim.AdamW(groups(model), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    run = torch.compile(model) if ask["peer"] == "torch_compile" else model
    B = ask["rows"][0][0]
    batches = [[torch.randint(0, m["V"], (B, n)) for n in (m["S"], m["T"], m["T"])] for _ in range(4)]

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        loss = run(*batches[i % len(batches)])
        loss.backward()
        optimizer.step()
        return loss
    for i in range(2):
        step(i)
    samples, begin = [], time.perf_counter()
    while len(samples) < 3 or time.perf_counter() - begin < 1e-3 * ask["ms"]:
        start = time.perf_counter()
        loss = step(len(samples)).item()
        samples.append(time.perf_counter() - start)
        assert math.isfinite(loss)
    print(json.dumps([1e3 * statistics.median(samples)]))


if __name__ == "__main__":
    main()
