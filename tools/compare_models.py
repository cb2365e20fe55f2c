"""Compares whole models with peers: training and translation. See tools/compare.

Rates are target tokens per second. A ratio is Hecate's rate / the peer's rate in the same round. The table shows
the median over rounds, for the fastest peer that does the same work. A share is the fraction of the measured peak
FMA rate, with counted() as the operations of a step. Peak memory is that of the whole process: Hecate's includes
the measurement of the peak rates, the peer's includes Python.
"""
import os
import statistics

from compare_process import progress, run, run_peer

SMALL = {"C": 256, "H": 4, "encoder": 3, "decoder": 3, "F": 1024, "V": 8000, "S": 24, "T": 24,
         "dropout": 0.1, "smoothing": 0.1}
GPT = {"C": 384, "H": 6, "encoder": 0, "decoder": 6, "F": 1536, "V": 8192, "S": 0, "T": 256,
       "dropout": 0.1, "smoothing": 0.1}
BASE = {"C": 512, "H": 8, "encoder": 6, "decoder": 6, "F": 2048, "V": 32000, "S": 24, "T": 24}
TRANSLATORS = ["ctranslate2", "transformers"]
# mode, name, sizes, [(batch, beam)] in the order of `hecate bench`, peers, required ratio and share
GROUPS = [
    ("train", "transformer-small", SMALL, [(64, None)], ["torch"], 1.8, 0.7),
    ("train", "gpt-small", GPT, [(8, None)], ["torch"], 1.8, 0.7),
    ("translate", "transformer-base", BASE, [(16, 1), (16, 4), (1, 4)], TRANSLATORS, 2.0, None),
]
TINY = {"C": 32, "H": 2, "encoder": 1, "decoder": 1, "F": 64, "V": 100, "S": 5, "T": 5, "dropout": 0.1,
        "smoothing": 0.1}
TRY = [
    ("train", "transformer-tiny", TINY, [(2, None)], ["torch"], None, None),
    ("translate", "transformer-tiny", TINY, [(2, 1), (2, 4), (1, 4)], TRANSLATORS, None, None),
]
ALSO = ["torch_compile", "torch_light"]  # optional peers for training
LESS_WORK = ["torch_light"]
LEAST_MS = 2000  # a step takes long: a shorter time would not give enough samples for a median


def timing(args):
    return args.ms if args.tiny else max(args.ms, LEAST_MS)


def counted(m, B):
    """Operations of a training step: 6 per weight of a matrix product and token (embeddings are looked up, so
    only the output table counts), and three times the operations of forward attention."""
    C, F, encoder, decoder = m["C"], m["F"], m["encoder"], m["decoder"]
    cross = 1 if encoder else 0
    source, target = B * m["S"], B * m["T"]
    per_source = encoder * (4 * C * C + 2 * C * F) + decoder * cross * 2 * C * C
    per_target = decoder * ((4 + 2 * cross) * C * C + 2 * C * F) + m["V"] * C
    pairs = encoder * m["S"] ** 2 + decoder * m["T"] ** 2 / 2 + decoder * cross * m["T"] * m["S"]
    return 6 * (per_source * source + per_target * target) + 3 * 4 * B * C * pairs


def run_ours(args, group):
    """[tokens a second], peak MB, GFLOP/s of the ceiling."""
    mode, name, m, rows, _, _, _ = group
    out, peak = run([args.hecate, "bench", "--json", "--model", name, "--mode", mode, "--threads",
                     str(args.threads), "--ms", str(timing(args))])
    tokens = [B * m["T"] for B, _ in rows]
    found = [r["tokens"] for r in out["results"]]
    if found != tokens:
        raise SystemExit(f"compare: hecate bench --model {name} has rows of {found} tokens, the peers "
                         f"{tokens}")
    return [r["tokens_per_s"] for r in out["results"]], peak, out["ceiling_gflops"]


def run_theirs(args, group, peer):
    mode, name, m, rows, _, _, _ = group
    work = os.path.abspath(os.path.join(os.path.dirname(args.hecate), "compare"))
    ask = {"peer": peer, "model": m, "rows": rows, "threads": args.threads,
           "ms": timing(args), "folder": os.path.join(work, name)}
    if mode == "translate":
        os.makedirs(work, exist_ok=True)
        run_peer("compare_translate.py", dict(ask, peer="prepare"))
    ms, peak = run_peer(f"compare_{mode}.py", ask, os.path.join(work, "inductor"))
    return [1e3 * B * m["T"] / t for (B, _), t in zip(rows, ms)], peak


def make_row(args, group, i, rates, peaks, ceiling):
    mode, name, m, rows, _, goal, share_goal = group
    B, beam = rows[i]
    rate = {n: statistics.median(r[i] for r in rounds) for n, rounds in rates.items()}
    best = max((n for n in rates if n != "ours" and n not in LESS_WORK), key=lambda n: rate[n])
    ratios = sorted(ours[i] / theirs[i] for ours, theirs in zip(rates["ours"], rates[best]))
    row = {"mode": mode, "model": name, "batch": B, "beam": beam, "threads": args.threads,
           "tokens_per_s": rate, "best_peer": best, "ratio": statistics.median(ratios),
           "low": ratios[0], "high": ratios[-1], "goal": goal, "peak_mb": peaks}
    if mode == "train":
        flops = counted(m, B) / (B * m["T"])
        row["share"] = {n: 1e-9 * flops * r / ceiling for n, r in rate.items()}
        row["share_goal"] = share_goal
    return row


def run_group(args, group):
    mode, name, _, rows, peers, _, _ = group
    peers = peers + (args.also if mode == "train" else [])
    rates, peaks, ceilings = {n: [] for n in ["ours"] + peers}, {}, []
    for r in range(args.rounds):
        order = list(rates) if r % 2 == 0 else list(reversed(list(rates)))
        for who in order:
            progress(f"{mode} {name} round {r + 1}/{args.rounds}: {who}")
            if who == "ours":
                rate, peak, ceiling = run_ours(args, group)
                ceilings.append(ceiling)
            else:
                rate, peak = run_theirs(args, group, who)
            rates[who].append(rate)
            peaks[who] = max(peak, peaks.get(who, 0))
    progress("")
    return [make_row(args, group, i, rates, peaks, max(ceilings)) for i in range(len(rows))]


def print_head(args):
    print(f"\n{args.threads} threads, {args.rounds} rounds; target tokens a second; ratio = ours / the "
          f"best of theirs; share of the ceiling; peak memory\n")
    print(f"{'model':37} {'ours':>8} {'ratio':>7} (low–high)")


def print_row(row):
    name = f"{row['mode']} {row['model']}"
    if row["beam"]:
        name += f" {row['batch']} × " + (f"beam {row['beam']}" if row["beam"] > 1 else "greedy")
    rate, share, peak = row["tokens_per_s"], row.get("share"), row["peak_mb"]

    def about(who):
        part = f", {share[who]:.2f}" if share else ""
        return f"{who} {rate[who]:.0f}{part}, {peak[who]:.0f} MB"

    def against(found, goal):
        return "" if goal is None else f"goal {goal:g}" + (", short" if found < goal else "")
    own = f"share {share['ours']:.2f} {against(share['ours'], row['share_goal'])}  " if share else ""
    print(f"{name:37} {rate['ours']:8.0f} {row['ratio']:6.2f}x ({row['low']:.2f}–{row['high']:.2f})  "
          f"{against(row['ratio'], row['goal']):15} {own}{peak['ours']:.0f} MB  "
          + "  ".join(about(n) for n in rate if n != "ours"), flush=True)
