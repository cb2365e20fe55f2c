#!/usr/bin/env python3
"""Makes the golden files of tests/test_log_mel.c and tests/test_whisper_rules.c: features of Hugging Face's
WhisperFeatureExtractor, and the timestamp rules and segments of its Whisper.

    tools/goldens/audio.py FOLDER [--seed N] [--live]

Needs the torch and transformers pinned in tools/peers.txt. Without --live: makes the committed files of
tests/golden. With --live: makes other files from the seed, for tools/parity. The format is that of make.py:
  log_mel_NAME       config (rate, fft, hop, mels, length, frames from, frames to), samples, features
  whisper_rules_N    config (no_timestamps id, max initial index or -1, eos id, suppressed, suppressed
                     at the beginning), suppress, begin, then of each case: ids, scores, processed
  whisper_segments_N config (first time id), then of each case: frames (of the window, before it),
                     tokens, segments (begin, end, from, to), move
"""
import argparse
import os
import sys
from types import SimpleNamespace

import numpy as np
import torch
import transformers
from transformers import WhisperFeatureExtractor
from transformers.generation import logits_process
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

from make import Golden

PINNED = "5.22.2"


def signals(r):
    """Name, rate, samples."""
    def times(n, rate=16000):
        return np.arange(n) / rate

    n = 2400 + int(r.integers(0, 400))
    t = times(n)
    yield "sine", 16000, 0.5 * np.sin(2 * np.pi * 440 * t)
    yield "chirp", 16000, 0.3 * np.sin(2 * np.pi * (50 + 40000 * t) * t)
    yield "noise", 16000, 0.1 * r.standard_normal(n)
    yield "silence", 16000, np.zeros(n)
    yield "quiet", 16000, 0.9 * np.sin(2 * np.pi * 1000 * t) * (t < 0.05) + 1e-4 * r.standard_normal(n)
    yield "click", 16000, np.eye(1, n, 700)[0]
    yield "short", 16000, 0.2 * r.standard_normal(201)
    yield "rate8000", 8000, 0.2 * r.standard_normal(1500)


def log_mel(folder, r, live):
    shapes = [(400, 160, 80)] if not live else [(400, 160, 80), (400, 160, 128), (512, 100, 40)]
    for name, rate, samples in signals(r):
        for fft, hop, mels in shapes if name != "chirp" or live else [(400, 160, 128)]:
            if rate == 8000:
                fft, hop = 210, 77  # 2 · 3 · 5 · 7
            samples = samples.astype(np.float32)
            extractor = WhisperFeatureExtractor(feature_size=mels, sampling_rate=rate, hop_length=hop,
                                                n_fft=fft)
            if len(samples) <= fft // 2:
                continue
            put_features(folder, f"{name}_{mels}_{fft}", extractor, samples, 0, None)
    samples = (0.2 * r.standard_normal(1999)).astype(np.float32)
    put_features(folder, "filled", WhisperFeatureExtractor(), samples, 480000, (0, 20))
    put_features(folder, "filled_end", WhisperFeatureExtractor(), samples, 480000, (2990, 3000))
    samples = (0.2 * r.standard_normal(4800)).astype(np.float32)
    put_features(folder, "cut", WhisperFeatureExtractor(), samples, 3000, None)


def put_features(folder, name, extractor, samples, length, part):
    made = extractor(samples, sampling_rate=extractor.sampling_rate, truncation=length > 0,
                     padding="max_length" if length else "longest", max_length=length or None,
                     return_tensors="pt").input_features[0]
    first, last = part or (0, made.shape[1])
    golden = Golden(os.path.join(folder, f"log_mel_{name}.golden"))
    golden.integers("config", [extractor.sampling_rate, extractor.n_fft, extractor.hop_length,
                               extractor.feature_size, length, first, last])
    golden.given("samples", torch.from_numpy(samples))
    golden.given("features", made[:, first:last])
    golden.save()


def written(r, first_time, eos, most):
    """A random row of tokens. Some rows follow the rules, others do not."""
    ids, time = [], 0
    while len(ids) < most:
        if r.random() < 0.4:
            time += int(r.integers(0, 4))
            ids.append(first_time + time)
            if r.random() < 0.7:
                ids.append(first_time + time)
        else:
            ids.append(int(r.integers(0, eos)))
    return ids[:most]


def rules(folder, r, index, max_initial):
    vocab, eos, no_times = 61, 30, 36
    config = SimpleNamespace(no_timestamps_token_id=no_times, eos_token_id=eos, bos_token_id=eos,
                             max_initial_timestamp_index=max_initial)
    suppress = sorted(r.choice(28, 5, replace=False).tolist()) + [33]
    begin = [2, eos]
    golden = Golden(os.path.join(folder, f"whisper_rules_{index}.golden"))
    golden.integers("config", [no_times, -1 if max_initial is None else max_initial, eos])
    golden.integers("suppress", suppress)
    golden.integers("begin", begin)
    for case in range(30):
        prompt = [31, 32, 34][:1 + case % 3]
        ids = written(r, no_times + 1, eos, case % 9)
        scores = torch.from_numpy((3 * r.standard_normal((1, vocab))).astype(np.float32))
        scores[:, no_times + 1:] -= float(r.random() * 8)
        all_ids = torch.tensor([prompt + ids])
        done = scores
        for processor in (
                logits_process.SuppressTokensAtBeginLogitsProcessor(begin, len(prompt)),
                logits_process.SuppressTokensLogitsProcessor(suppress),
                logits_process.WhisperTimeStampLogitsProcessor(config, len(prompt))):
            done = processor(all_ids, done)
        golden.integers(f"ids{case}", ids)
        golden.given(f"scores{case}", scores[0])
        golden.given(f"processed{case}", done[0])
    golden.save()


def segments(folder, r, index):
    first = 37
    golden = Golden(os.path.join(folder, f"whisper_segments_{index}.golden"))
    golden.integers("config", [first])
    for case in range(20):
        tokens = torch.tensor(written(r, first, 30, case))
        frames, before = int(r.integers(1, 3001)), int(r.integers(0, 9000))
        made, move = WhisperGenerationMixin._retrieve_segment(
            seek_sequence=tokens, seek_outputs=[{}], time_offset=torch.tensor([before]).double() * 0.02 / 2,
            timestamp_begin=first, seek_num_frames=torch.tensor([frames]), time_precision=0.02,
            time_precision_features=0.01, input_stride=2, prev_idx=0, idx=0,
            return_token_timestamps=False, decoder_input_ids=torch.zeros(1, 0))
        golden.integers(f"frames{case}", [frames, before])
        golden.integers(f"tokens{case}", tokens.tolist())
        golden.numbers(f"segments{case}", [[float(s["start"]), float(s["end"]), *s["idxs"]] for s in made])
        golden.integers(f"move{case}", [int(move)])
    golden.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--live", action="store_true")
    args = parser.parse_args()
    if transformers.__version__ != PINNED:
        sys.exit(f"transformers {PINNED} is needed, this is {transformers.__version__}")
    os.makedirs(args.folder, exist_ok=True)
    r = np.random.default_rng(args.seed)
    log_mel(args.folder, r, args.live)
    for index, max_initial in enumerate((50, 3, None) if args.live else (3, None)):
        rules(args.folder, r, index, max_initial)
    for index in range(6 if args.live else 2):
        segments(args.folder, r, index)


if __name__ == "__main__":
    main()
