"""Compares operations with peers in rounds, and prints the table of ratios. See tools/compare. Whole models are in
compare_models.py.

A row is an operation, a shape and a variant. Each round measures all rows of a group with Hecate, then with each
peer, each in its own process. The next round runs in the opposite order. A ratio is the peer's time / Hecate's time
in the same round (above 1: Hecate is faster). The table shows the median over rounds.
"""
import argparse
import json
import statistics
import sys

import compare_models
from compare_process import progress, run, run_peer

ATTENTION = ["B=1,H=8,T=2048,K=64,D=64", "B=4,H=12,T=512,K=64,D=64", "B=8,H=8,T=128,K=64,D=64",
             "B=32,H=8,T=32,K=64,D=64"]
STEP = ["B=1,H=8,T=1,S=2048,K=64,D=64"]
LAYER = ["B=8,T=128,C=512,F=2048,H=8"]
GEMM = ["M=128,N=768,K=768", "M=1024,N=2048,K=512", "M=512,N=768,K=768", "M=1024,N=32000,K=512",
        "M=32,N=2048,K=512"]
GEMM_COLD = ["M=1,N=32000,K=512", "M=1,N=3072,K=768"]
SWEEP = [f"M={m},N={n},K={k}"
         for n, k in [(512, 512), (768, 768), (2048, 512), (512, 2048), (3072, 768), (768, 3072)]
         for m in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]]
ON_GEMM = ["openblas", "torch", "mkl_packed", "onednn_packed"]
# operation, shapes, causal, variant, peers, required ratio with two threads
GROUPS = [
    ("gemm", GEMM, False, None, ON_GEMM, 1.0),
    ("gemm", GEMM_COLD, False, "cold", ON_GEMM, 1.0),
    ("attention_fwd", ATTENTION, False, None, ["torch"], None),
    ("attention_fwd", ATTENTION, True, None, ["torch"], None),
    ("attention_bwd", ATTENTION, False, None, ["torch"], None),
    ("attention_bwd", ATTENTION, True, None, ["torch"], None),
    ("attention_step", STEP, False, "cold", ["torch"], None),
    ("attention_step", STEP, False, "warm", ["torch"], 2.0),
    ("encoder_layer_fwd", LAYER, False, None, ["torch"], 1.2),
    ("encoder_layer_bwd", LAYER, False, None, ["torch"], 1.12),
]


def run_ours(args, group):
    op, shapes, causal, variant, _, _ = group
    command = [args.hecate, "bench", "--json", "--op", op, "--shape", ";".join(shapes),
               "--threads", str(args.threads), "--ms", str(args.ms)]
    command += ["--causal"] if causal else []
    command += ["--variant", variant] if variant else []
    return [r["ms"] for r in run(command)[0]["results"]]


def run_theirs(args, group, peer):
    op, shapes, causal, variant, _, _ = group
    ask = {"peer": peer, "op": op, "shapes": shapes, "causal": causal, "variant": variant,
           "threads": args.threads, "ms": args.ms}
    return run_peer("compare_peer.py", ask)[0]


def run_group(args, group):
    op, shapes, causal, variant, peers, goal = group
    times = {name: [] for name in ["ours"] + peers}
    for r in range(args.rounds):
        order = list(times) if r % 2 == 0 else list(reversed(list(times)))
        for name in order:
            progress(f"{op} round {r + 1}/{args.rounds}: {name}")
            times[name].append(run_ours(args, group) if name == "ours"
                               else run_theirs(args, group, name))
    progress("")
    rows = []
    for i, shape in enumerate(shapes):
        ms = {name: statistics.median(t[i] for t in rounds) for name, rounds in times.items()}
        best = min(peers, key=lambda name: ms[name])
        ratios = sorted(theirs[i] / ours[i] for ours, theirs in zip(times["ours"], times[best]))
        rows.append({"op": op, "shape": shape, "causal": causal, "variant": variant,
                     "threads": args.threads, "ms": ms, "best_peer": best,
                     "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1],
                     "goal": goal})
    return rows


def print_row(row):
    name = row["op"] + (" causal" if row["causal"] else "")
    name += f" {row['variant']}" if row["variant"] else ""
    theirs = "  ".join(f"{n} {t:.3f}" for n, t in row["ms"].items() if n != "ours")
    goal = ""
    if row["goal"]:
        goal = f"goal {row['goal']:g}" + ("" if row["ratio"] >= row["goal"] else "  short")
    print(f"{name:24} {row['shape']:29} {row['ms']['ours']:9.3f} {row['ratio']:6.2f}x "
          f"({row['low']:.2f}–{row['high']:.2f})  {goal:16} {theirs}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="compare", description=__doc__)
    parser.add_argument("--hecate", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ms", type=int, default=300, help="timing of one row, in one process")
    parser.add_argument("--only", help="operations, train or translate, with commas between")
    parser.add_argument("--also", default="", help="more peers that learn, with commas between: "
                        + ", ".join(compare_models.ALSO))
    parser.add_argument("--sweep", action="store_true",
                        help="gemm over M 1 … 2048 and six (N, K) instead")
    parser.add_argument("--tiny", action="store_true",
                        help="models of a few numbers instead: to try out this program")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.also = [name for name in args.also.split(",") if name]
    wrong = [name for name in args.also if name not in compare_models.ALSO]
    if wrong:
        parser.error(f"--also {','.join(wrong)}: there are {', '.join(compare_models.ALSO)}")
    groups, models = GROUPS, compare_models.GROUPS
    if args.sweep:
        groups, models = [("gemm", SWEEP, False, None, ON_GEMM, 1.0)], []
    if args.tiny:
        groups, models = [], compare_models.TRY
    if args.only:
        wanted, known = args.only.split(","), sorted({g[0] for g in groups + models})
        wrong = [name for name in wanted if name not in known]
        if wrong:
            parser.error(f"--only {','.join(wrong)}: there are {', '.join(known)}")
        groups = [g for g in groups if g[0] in wanted]
        models = [g for g in models if g[0] in wanted]
    return args, groups, models


def print_head(args):
    print(f"{args.threads} threads, {args.rounds} rounds; times in ms; ratio = their best time / ours\n")
    print(f"{'operation':24} {'shape':29} {'ours':>9} {'ratio':>7} (low–high)")


def main():
    args, groups, models = arguments()
    rows = []
    for part, with_ in [(groups, sys.modules[__name__]), (models, compare_models)]:
        if part and not args.json:
            with_.print_head(args)
        for group in part:
            new = with_.run_group(args, group)
            rows += new
            for row in new if not args.json else []:
                with_.print_row(row)
    if args.json:
        print(json.dumps({"rows": rows}, indent=2))


if __name__ == "__main__":
    main()
