#!/usr/bin/env python3
"""Makes the golden files of tests/test_transcribe.c: small random Whisper models with a tokenizer, sounds, and
the transcriptions of Hugging Face Transformers.

    tools/goldens/transcribe.py FOLDER [--seed N] [--live]

Needs the torch, transformers and tokenizers pinned in tools/peers.txt. Without --live: makes the committed files
of tests/golden. With --live: makes other files from the seed, for tools/parity.
  transcribe_many/, transcribe_english/   the models: of three languages, and of English only
  transcribe_sounds.golden                sound0, sound1, …: samples at 4 kHz
  transcribe.jsonl                        a line for each call: model, sound, language, task, times, beams;
                                          then the language and the segments (begin, end, ids)
A window is one second: 100 frames, 50 positions."""
import argparse
import json
import os
import sys

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

from make import Golden

PINNED = "5.22.2"
RATE, FFT, HOP, MELS, POSITIONS = 4000, 100, 40, 14, 50
LANGUAGES = ["<|en|>", "<|de|>", "<|fr|>"]
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", *LANGUAGES, "<|translate|>", "<|transcribe|>",
           "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]


def make_tokenizer():
    """A byte-level BPE tokenizer of letters, some with a space before them."""
    words = [chr(97 + i) for i in range(26)] + ["Ġ" + chr(97 + i) for i in range(10)] + [".", ",", "Ġ"]
    t = tokenizers.Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(SPECIAL)
    return t, len(words)


def make_model(folder, seed, multilingual):
    tokenizer, words = make_tokenizer()
    ids = {name: words + i for i, name in enumerate(SPECIAL)}
    first_time = words + len(SPECIAL)
    config = WhisperConfig(
        vocab_size=first_time + POSITIONS + 1, num_mel_bins=MELS, d_model=24, encoder_layers=1,
        decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=40,
        decoder_ffn_dim=40, max_source_positions=POSITIONS, max_target_positions=26,
        pad_token_id=ids["<|endoftext|>"], bos_token_id=ids["<|endoftext|>"],
        eos_token_id=ids["<|endoftext|>"], decoder_start_token_id=ids["<|startoftranscript|>"],
        suppress_tokens=None, begin_suppress_tokens=None, dropout=0.0)
    torch.manual_seed(seed)
    model = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name and "encoder" in name:
                continue
            # The next token depends mostly on the position. If it depended only on the last token, the output would repeat.
            scale = 0.4 if "embed_tokens" in name else 2.0 if "embed_positions" in name else 0.45
            p.copy_((p + scale * torch.randn_like(p)).to(torch.float16).float())
        # Make words between timestamps and an end token likely enough.
        model.model.decoder.embed_tokens.weight[first_time:] *= 0.75
        model.model.decoder.embed_tokens.weight[ids["<|endoftext|>"]] *= 1.5
    settings = {
        "is_multilingual": multilingual, "no_timestamps_token_id": ids["<|notimestamps|>"],
        "max_initial_timestamp_index": 10, "suppress_tokens": [3, 17, *range(ids["<|startoftranscript|>"],
                                                                            ids["<|notimestamps|>"])],
        "begin_suppress_tokens": [words - 1, ids["<|endoftext|>"]], "max_length": 26,
        "decoder_start_token_id": ids["<|startoftranscript|>"], "return_timestamps": False}
    if multilingual:
        settings.update({
            "lang_to_id": {name: ids[name] for name in LANGUAGES},
            "task_to_id": {"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]}})
    for key, value in settings.items():
        setattr(model.generation_config, key, value)
    model.save_pretrained(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    extractor = WhisperFeatureExtractor(feature_size=MELS, sampling_rate=RATE, hop_length=HOP, n_fft=FFT,
                                        chunk_length=1)
    extractor.save_pretrained(folder)
    half = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float16)
    half.save_pretrained(folder)
    model.generation_config._from_model_config = False  # otherwise Transformers replaces it and loses the settings
    model.generation_config.save_pretrained(folder)
    return model, extractor


def sounds(r):
    def chirps(seconds):
        t = np.arange(int(seconds * RATE)) / RATE
        x = sum(np.sin(2 * np.pi * f * t + 3 * np.sin(2 * np.pi * g * t))
                for f, g in r.uniform((100, 1), (1800, 9), (3, 2)))
        return 0.2 * x * (0.2 + np.abs(np.sin(2 * np.pi * r.uniform(0.3, 2) * t))) + 0.01 * r.standard_normal(len(t))

    return [chirps(0.6), chirps(1.0), chirps(1.006), chirps(2.33), chirps(0.01)]


def calls(multilingual, live):
    for sound in range(5):
        for beams in (1, 3):
            for times in (False, True):
                # An untrained model also writes timestamps without being asked, and continues into the silence
                # that pads a short sound. Hecate skips that silence, so these cases cannot be compared.
                if live and not times and sound in (0, 4):
                    continue
                yield sound, None, None, times, beams
        if multilingual and sound in ((3,) if live else (0, 3)):
            yield sound, "de", "translate", True, 1
            yield sound, "fr", "transcribe", False, 1
            yield sound, "de", None, False, 1
            yield sound, None, "transcribe", True, 1


def run(model, extractor, samples, language, task, times, beams):
    short = len(samples) <= extractor.n_samples
    features = extractor(samples, sampling_rate=RATE, return_tensors="pt",
                         **({} if short else dict(truncation=False, padding="longest"))).input_features
    multilingual = model.generation_config.is_multilingual
    # With neither given, generate puts no task token after the detected language.
    options = {k: v for k, v in (("language", language), ("task", task)) if v} if multilingual else {}
    if multilingual and language is None:
        found = model.detect_language(features[:, :, :2 * POSITIONS])[0].item()
        language = next(k for k, v in model.generation_config.lang_to_id.items() if v == found)[2:-2]
    long = features.shape[-1] > 2 * POSITIONS
    with torch.no_grad():
        got = model.generate(features, return_timestamps=times or long, return_segments=True,
                             num_beams=beams, **options)
    return language or "en", [[float(s["start"]), float(s["end"]), s["tokens"].tolist()]
                              for s in got["segments"][0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--live", action="store_true")
    args = parser.parse_args()
    if transformers.__version__ != PINNED:
        sys.exit(f"transformers {PINNED} is needed, this is {transformers.__version__}")
    os.makedirs(args.folder, exist_ok=True)
    made = [s.astype(np.float32) for s in sounds(np.random.default_rng(args.seed))]
    golden = Golden(os.path.join(args.folder, "transcribe_sounds.golden"))
    for i, samples in enumerate(made):
        golden.given(f"sound{i}", torch.from_numpy(samples))
    golden.save()
    with open(os.path.join(args.folder, "transcribe.jsonl"), "w", encoding="utf-8") as out:
        for name, multilingual in (("many", True), ("english", False)):
            folder = os.path.join(args.folder, "transcribe_" + name)
            model, extractor = make_model(folder, args.seed + multilingual, multilingual)
            for sound, language, task, times, beams in calls(multilingual, args.live):
                heard, segments = run(model, extractor, made[sound], language, task, times, beams)
                print(json.dumps({"model": name, "sound": sound, "language": language, "task": task,
                                  "times": times, "beams": beams, "heard": heard,
                                  "segments": segments}), file=out)


if __name__ == "__main__":
    main()
