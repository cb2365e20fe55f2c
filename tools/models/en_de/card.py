"""Fills models/en-de: see tools/models/en-de, which calls this."""
import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import licences
import text

HERE = Path(__file__).parent
FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
MOST_BYTES = 24_000_000
BEAMS = 4


def stop(message):
    sys.exit(f"en-de: {message}")


def read_json(path):
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        stop(f"{path}: {error}")


def check_files(model):
    """Refuses a folder that is incomplete, too large or not in bf16. Returns its size."""
    for name in FILES:
        if not (model / name).is_file():
            stop(f"{model / name} is missing")
    size = sum((model / name).stat().st_size for name in FILES)
    if size > MOST_BYTES:
        stop(f"{model} has {size:,} bytes, more than {MOST_BYTES:,}")
    with open(model / "model.safetensors", "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    others = {t["dtype"] for name, t in header.items() if name != "__metadata__"} - {"BF16"}
    if others:
        stop(f"{model}/model.safetensors holds {', '.join(sorted(others))}, not only BF16: train with --dtype bf16")
    return size


def read_log(path, best):
    """Reads the log of the run: the validation of the chosen model, steps, seconds, targets."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    valid = [r for r in rows if r.get("valid_loss") is not None]
    if not valid:
        stop(f"{path} holds no validation")
    kept = min(valid, key=lambda r: r["valid_loss"]) if best == "loss" else max(valid, key=lambda r: r[best])
    targets = sum(r.get("targets", 0) for r in rows if r["step"] <= kept["step"])
    return {"kept": kept, "last": rows[-1], "targets": targets, "seconds": kept["seconds"]}


class Hecate:
    """Runs the hecate program for translations and scores."""

    def __init__(self, program, model, cache):
        if not os.access(program, os.X_OK):
            stop(f"{program} does not exist: run make")
        self.program, self.model, self.cache = program, model, cache
        weights = hashlib.sha256((model / "model.safetensors").read_bytes())
        weights.update((model / "tokenizer.json").read_bytes())
        self.key = weights.hexdigest()[:16]

    def _run(self, *words, text=None):
        done = subprocess.run([self.program, *map(str, words)], input=text, capture_output=True, encoding="utf-8")
        if done.returncode:
            stop(f"hecate {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def translate(self, lines):
        """Translates lines. Caches the result by weights and lines, so that a second run is quick."""
        source = "".join(line + "\n" for line in lines)
        name = hashlib.sha256(f"{self.key}{BEAMS}{source}".encode()).hexdigest()[:24]
        kept = self.cache / name
        if not kept.exists():
            out = self._run("translate", "-m", self.model, "--beam", BEAMS, text=source)
            self.cache.mkdir(parents=True, exist_ok=True)
            kept.write_text(out, "utf-8")
        out = kept.read_text("utf-8").split("\n")[:-1]
        if len(out) != len(lines):
            stop(f"{len(lines)} lines gave {len(out)} translations")
        return out

    def score(self, lines, references):
        files = []
        for name, content in (("translated", lines), ("reference", references)):
            files.append(self.cache / name)
            files[-1].write_text("".join(x + "\n" for x in content), "utf-8")
        return json.loads(self._run("score", *files, "--json"))

    def parameters(self):
        return json.loads(self._run("info", self.model, "--json"))["parameters"]["total"]

    def settings(self, train):
        """The default settings for this data; {} if the data no longer exists."""
        words = ["train", "--task", train["task"], "--train", *train["train"], "--valid", *train["valid"], "--out",
                 self.cache / "none", "--dump-config"]
        if not all(Path(p).exists() for p in train["train"] + train["valid"]):
            return {}
        return json.loads(self._run(*words))


def read_lines(path):
    if not path.is_file():
        stop(f"{path} is missing")
    return path.read_text("utf-8").split("\n")[:-1]


def held_out(hecate, data):
    """Returns [(source, lines, bleu, chrf)], first for all sources, and the chrF of the untranslated English."""
    en, de, sources = (read_lines(data / f"test.{x}") for x in ("en", "de", "source"))
    if not len(en) == len(de) == len(sources):
        stop(f"{data}: test.en, test.de and test.source differ in length")
    out = hecate.translate(en)
    rows = []
    for source in ["all", *dict.fromkeys(sorted(sources))]:
        which = [i for i in range(len(en)) if source in ("all", sources[i])]
        s = hecate.score([out[i] for i in which], [de[i] for i in which])
        rows.append((source, len(which), s["bleu"], s["chrf"]))
    return rows, hecate.score(en, de)["chrf"]


def judged(path):
    """{(sentence, output): (verdict, remark)}"""
    found = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines() if path.exists() else (), 1):
        if line.startswith("#") or not line:
            continue
        fields = line.split("\t")
        if len(fields) != 4 or fields[2] not in ("good", "fair", "bad"):
            stop(f"{path}:{number}: expected sentence, output, good | fair | bad and a remark, separated by tabs")
        found[fields[0], fields[1]] = (fields[2], fields[3])
    return found


def everyday(hecate, sentences, judgements):
    """Returns [(sentence, output, verdict, remark)], and those that nobody has judged yet."""
    lines = read_lines(sentences)
    known = judged(judgements)
    rows = [(s, o, *known.get((s, o), ("?", ""))) for s, o in zip(lines, hecate.translate(lines))]
    return rows, [r for r in rows if r[2] == "?"]


def fill(out, model, card):
    """Writes the folder beside its place and then renames it, so that an error leaves the old one."""
    new, old = out.with_name(out.name + ".new"), out.with_name(out.name + ".old")
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    new.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(model / name, new / name)
    shutil.copyfile(HERE / "LICENSE", new / "LICENSE")
    (new / "README.md").write_text(card, "utf-8")
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def arguments():
    parser = argparse.ArgumentParser(prog="tools/models/en-de", add_help=True)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--hecate", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=Path("models/en-de"))
    parser.add_argument("--machine", default="a CPU")
    parser.add_argument("--note", default="")
    parser.add_argument("--sentences", type=Path, default=HERE / "sentences.txt")
    parser.add_argument("--judged", type=Path, default=HERE / "judged.tsv")
    parser.add_argument("--cache", type=Path, default=Path("build/en-de-card"))
    parser.add_argument("--self-test", action="store_true")
    a = parser.parse_args()
    if not a.self_test and (a.run is None or a.data is None):
        parser.error("give RUN and DATA")
    return a


def main():
    a = arguments()
    if a.self_test:
        import selftest
        sys.exit(selftest.run(a.hecate))
    model = a.model or a.run
    train = read_json(a.run / "train.json")
    best = a.model.name if a.model and a.model.name in ("bleu", "chrf", "accuracy") else train["best"]
    facts = {"bytes": check_files(model), "train": train, "log": read_log(a.run / "log.jsonl", best),
             "config": read_json(model / "config.json"), "machine": a.machine, "note": a.note,
             "best": best,
             "sources": licences.read(a.data / "sources.txt")}
    hecate = Hecate(a.hecate, model, a.cache)
    facts["parameters"] = hecate.parameters()
    facts["defaults"] = hecate.settings(train)
    facts["scores"], facts["untranslated"] = held_out(hecate, a.data)
    facts["sentences"], unseen = everyday(hecate, a.sentences, a.judged)
    fill(a.out, model, text.card(facts))
    print(f"{a.out}: {facts['bytes']:,} bytes, BLEU {facts['scores'][0][2]:.2f}, chrF {facts['scores'][0][3]:.2f} "
          f"on {facts['scores'][0][1]:,} held-out sentences")
    if unseen:
        print(f"{len(unseen)} outputs are not judged yet: replace each ? with a verdict in "
              f"{os.path.relpath(a.judged)}, then call this again", file=sys.stderr)
        print("".join(f"{s}\t{o}\t?\t\n" for s, o, _, _ in unseen), end="")
        sys.exit(1)
    if a.out == Path("models/en-de"):
        text.replace(Path("README.md"), text.readme(facts))
        text.replace(Path("docs/train.md"), text.training(facts))


if __name__ == "__main__":
    main()
