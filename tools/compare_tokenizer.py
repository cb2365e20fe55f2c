"""Compares the time to train a vocabulary: `hecate tokenize --train` and the pinned `tokenizers`, on one core.

    tools/compare [BUILD] --only tokenizer-training [--mb 100] [--vocab 32000] [--rounds 1] [TEXT FILE]…

Trains byte-level BPE with --vocab tokens on the first --mb megabytes of the files. If they are too small, documents
and programs under /usr/share and Python's folders are added. The two run in turn, each in its own process with one
thread and its default word splitting (tokenizers: GPT-2's; Hecate also splits numbers into digits). CPU time is
compared, because other processes do not affect it. Prints both times and their ratio; fails if Hecate takes longer."""
import argparse
import gzip
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import time

THEIRS = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
t = Tokenizer(models.BPE())
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.train([sys.argv[1]], trainers.BpeTrainer(
    vocab_size=int(sys.argv[2]), min_frequency=2, special_tokens=["</s>", "<unk>", "<pad>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
t.save(sys.argv[3])
"""
ENDINGS = (".txt", ".html", ".md", ".rst", ".py", ".po", ".1", ".txt.gz", ".html.gz", ".1.gz")


def lying_about():
    for top in ("/usr/share/doc", "/usr/share/man", "/usr/share/help", sysconfig.get_paths()["stdlib"],
                sysconfig.get_paths()["purelib"], "/usr/share", "/usr/lib", "/usr/include"):
        for folder, below, names in os.walk(top):
            below.sort()
            yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith(ENDINGS + (".h",)))


def gather(files, path, most):
    """Writes the first `most` bytes of those files that are UTF-8 to one file."""
    written = 0
    with open(path, "wb") as out:
        for name in files:
            if written >= most:
                break
            try:
                with (gzip.open if name.endswith(".gz") else open)(name, "rb") as f:
                    text = f.read(most - written)
                text = text[:text.rfind(b"\n") + 1]
                text.decode()
            except (OSError, EOFError, UnicodeDecodeError):
                continue
            written += out.write(text)
    return written


def timed(command, **environment):
    before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.time() - since)


def main():
    p = argparse.ArgumentParser(prog="compare --only tokenizer-training", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hecate", required=True)
    p.add_argument("--mb", type=float, default=100)
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    folder = os.path.join(os.path.dirname(a.hecate), "tokenizer-training")
    os.makedirs(folder, exist_ok=True)
    text = os.path.join(folder, "text")
    size = gather(itertools.chain(a.files, lying_about()), text, int(a.mb * 1e6))
    print(f"{size / 1e6:.1f} MB of text, {a.vocab} tokens, one thread each", flush=True)
    sides = {"hecate": ([a.hecate, "tokenize", "--train", text, "--vocab", str(a.vocab), "--threads", "1",
                         "--out", os.path.join(folder, "ours")], {}),
             "tokenizers": ([sys.executable, "-c", THEIRS, text, str(a.vocab), os.path.join(folder, "theirs.json")],
                            {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"})}
    best = {}
    for i in range(a.rounds):
        for name in sorted(sides, reverse=i % 2 == 1):
            command, environment = sides[name]
            if name == "hecate":  # hecate does not overwrite existing files
                shutil.rmtree(os.path.join(folder, "ours"), ignore_errors=True)
            cpu, wall = timed(command, **environment)
            best[name] = min(best.get(name, cpu), cpu)
            print(f"{name:12} {cpu:8.2f} s of processor time ({wall:.2f} s passed)", flush=True)
    with open(os.path.join(folder, "ours", "tokenizer.json")) as f:
        ours = set(json.load(f)["model"]["vocab"])
    with open(os.path.join(folder, "theirs.json")) as f:
        theirs = set(json.load(f)["model"]["vocab"])
    ratio = best["tokenizers"] / best["hecate"]
    print(f"ratio {ratio:.2f}, to reach 1; {len(ours & theirs)} of {len(theirs)} tokens are in both")
    return ratio < 1


if __name__ == "__main__":
    sys.exit(main())
