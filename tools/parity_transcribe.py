#!/usr/bin/env python3
"""Compares `hecate transcribe --plain` with Hugging Face Transformers: tokens and times must be equal, for short and long files,
greedily and with beam search. Prints the word error rate if there are transcripts.

    tools/parity_transcribe.py HECATE MODEL AUDIO [--long SECONDS]

AUDIO is a folder of 16-bit WAV files at 16 kHz. NAME.txt, if it exists, is the transcript of NAME.wav. The long file is
the concatenation of all files."""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import wave

import numpy as np
import torch
from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration

NUMBERS = "zero one two three four five six seven eight nine ten".split()


def read(path):
    with wave.open(path) as f:
        assert (f.getframerate(), f.getnchannels(), f.getsampwidth()) == (16000, 1, 2), path
        return np.frombuffer(f.readframes(f.getnframes()), np.int16).astype(np.float32) / 32768


def write(path, samples):
    with wave.open(path, "wb") as f:
        f.setnchannels(1), f.setsampwidth(2), f.setframerate(16000)
        f.writeframes((samples * 32768).astype(np.int16).tobytes())


def hecate(program, model, paths, *options):
    out = subprocess.run([program, "transcribe", "-m", model, "--plain", "--json", "--tokens", "--no-speech", "2",
                          *options, *paths], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def generate(model, extractor, samples, **options):
    short = len(samples) <= extractor.n_samples
    inputs = extractor(samples, sampling_rate=16000, return_tensors="pt",
                       **({} if short else dict(truncation=False, padding="longest")))
    with torch.no_grad():
        got = model.generate(inputs.input_features, return_timestamps=True, return_segments=True, **options)
    return [(float(s["start"]), float(s["end"]), s["tokens"].tolist()) for s in got["segments"][0]]


def compare(name, mine, theirs):
    """Compares segments. Hecate leaves out segments without a word."""
    mine = [(s["begin"], s["end"], s["tokens"]) for s in mine["segments"]]
    theirs = [s for s in theirs if any(t < 50256 for t in s[2])]
    same = [s[2] for s in mine] == [s[2] for s in theirs]
    # Hecate limits times to the end of the sound; the model's may be later.
    near = same and all(abs(a[0] - b[0]) < 2e-3 and a[1] <= b[1] + 2e-3 for a, b in zip(mine, theirs))
    if not near:
        print(f"{name}: differs\n  {mine}\n  {theirs}")
    return near, sum(len(s[2]) for s in mine)


def words(text):
    text = re.sub(r"\bmr\.?\b", "mister", text.lower())
    text = re.sub(r"\d+", lambda m: NUMBERS[int(m[0])] if int(m[0]) <= 10 else m[0], text)
    return re.findall(r"[a-z']+", text.replace("-", " "))


def errors(got, want):
    row = list(range(len(want) + 1))
    for i, g in enumerate(got, 1):
        before, row[0] = row[0], i
        for j, w in enumerate(want, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (g != w))
    return row[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hecate")
    parser.add_argument("model")
    parser.add_argument("audio")
    parser.add_argument("--long", type=float, default=90, help="seconds of the long file, at most")
    args = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(args.audio, "*.wav")))
    if not paths:
        sys.exit(f"{args.audio} has no WAV file")
    model = WhisperForConditionalGeneration.from_pretrained(args.model, dtype=torch.float32,
                                                            attn_implementation="eager").eval()
    extractor = WhisperFeatureExtractor.from_pretrained(args.model)
    sounds = [read(p) for p in paths]
    failed = tokens = 0
    with tempfile.TemporaryDirectory() as folder:
        long_path = os.path.join(folder, "long.wav")
        write(long_path, np.concatenate(sounds)[:int(args.long * 16000)])
        for beams in (1, 4):
            mine = hecate(args.hecate, args.model, paths + [long_path], "--beam", str(beams))
            for path, samples, m in zip(paths + [long_path], sounds + [read(long_path)], mine):
                name = f"{os.path.basename(path)} ({len(samples) / 16000:.1f} s, beams {beams})"
                near, n = compare(name, m, generate(model, extractor, samples, num_beams=beams))
                failed, tokens = failed + (not near), tokens + n
    wrong = all_words = 0
    lines = subprocess.run([args.hecate, "transcribe", "-m", args.model, "--plain", *paths], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    texts = [line.split("\t", 1)[-1] for line in lines]
    plain = 0
    for path, samples, text in zip(paths, sounds, texts):
        with torch.no_grad():
            ids = model.generate(extractor(samples, sampling_rate=16000, return_tensors="pt").input_features,
                                 return_timestamps=False)
        plain += ids.shape[1]
        script = path[:-4] + ".txt"
        if os.path.exists(script):
            want = words(open(script, encoding="utf-8").read())
            wrong, all_words = wrong + errors(words(text), want), all_words + len(want)
    print(f"{tokens} tokens of {len(paths)} files and a long one, greedy and with 4 beams: "
          f"{failed} files differ")
    if all_words:
        print(f"word error rate {wrong / all_words:.1%} ({wrong} of {all_words} words)")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
