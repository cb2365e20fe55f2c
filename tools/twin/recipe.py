"""Compares the start of a recipe's training with PyTorch. Hecate trains 200 steps without dropout, then Transformers does
the same from the same initial weights with the same batches and learning rates. The mean loss of every 10 steps must
agree within 0.1 %.

    TWIN=1 tools/recipes/NAME [RUN] [OPTION]…                       the usual way to call it
    tools/twin/recipe.py HECATE RUN OPTION OF hecate train…

RUN is overwritten. The learning rates are those of the whole run, which stops early. STEPS=N: the number of steps (200);
THREADS=N: for both (1)."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

THREADS = os.environ.get("THREADS", "1")
os.environ["OMP_NUM_THREADS"] = THREADS
import torch

import fine_tune

EVERY = 10
WITHIN = 0.001


def last_step(path):
    try:
        with open(path) as f:
            whole = [line for line in f if line.endswith("\n")]
        return json.loads(whole[-1])["step"] if whole else 0
    except FileNotFoundError:
        return 0


def learn(command, out, steps):
    """Runs hecate train and stops it after the report of the given step. Returns the time."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while last_step(f"{out}/log.jsonl") < steps:
        if run.poll() is not None:
            sys.exit(f"recipe: hecate train ended with {run.returncode} before step {steps}")
        time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    if run.wait() not in (0, 130):
        sys.exit(f"recipe: hecate train ended with {run.returncode} when it was stopped")


def main():
    hecate, out, *options = sys.argv[1:]
    steps = int(os.environ.get("STEPS", "200"))
    torch.set_num_threads(int(THREADS))
    for folder in (out, f"{out}-first"):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    batches = f"{out}.jsonl"
    # No validation and no checkpoints before the end: they do not affect the losses and take time.
    same = ["--dropout", "0", "--attention-dropout", "0", "--activation-dropout", "0", "--valid-every", "1000000",
            "--save-every", "1000000", "--report-every", str(EVERY), "--threads", THREADS, "--quiet"]
    command = [hecate, "train", *options, *same]
    first = f"{out}/start"
    if "--from" not in options:  # this learning rate is zero in f32, so the only step changes nothing
        subprocess.run([*command, "--out", f"{out}-first", "--steps", "1", "--lr", "1e-60", "--average", "0"],
                       check=True, stdout=subprocess.DEVNULL)
        first = f"{out}-first/checkpoint/step-00000001"
    since = time.monotonic()
    learn([*command, "--out", out, "--dump-batches", batches], out, steps)
    ours, since, worst, count = time.monotonic() - since, time.monotonic(), 0.0, 0
    print(f"{'step':>6} {'Hecate':>10} {'PyTorch':>10} {'difference':>11}")
    for report, theirs in fine_tune.losses(out, first, batches, steps):
        difference = abs(report["loss"] - theirs) / theirs
        worst, count = max(worst, difference), count + 1
        print(f"{report['step']:6} {report['loss']:10.6f} {theirs:10.6f} {100 * difference:9.5f} %", flush=True)
    if count != steps // EVERY:
        sys.exit(f"recipe: {count} reports, not {steps // EVERY}")
    print(f"{steps} steps in {ours:.0f} s and {time.monotonic() - since:.0f} s: at most {100 * worst:.5f} % apart, "
          f"{100 * WITHIN:g} % allowed")
    sys.exit(0 if worst <= WITHIN else 1)


if __name__ == "__main__":
    main()
