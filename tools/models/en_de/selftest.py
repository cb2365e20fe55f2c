"""Makes a card from a small run, and checks that errors in a run are found."""
import subprocess
import sys
import tempfile
from pathlib import Path

import licences

HERE = Path(__file__).parent
SOURCES = """source documents

training pairs by package
dictionary trans-de-en 90 GPL-2+
manual e2fsprogs 6 GPL-2
manual manpages 3 GPL-2+,man-copyleft
documents debian-handbook 1 GPL-2+|CC-BY-SA-3.0

packages
"""


def small_run(folder, hecate):
    """Trains a model for a few steps, with its data in the same folder."""
    pairs = [("the file", "die Datei"), ("a page", "eine Seite"), ("the page", "die Seite"), ("a file", "eine Datei")]
    data = folder / "data"
    data.mkdir()
    for part in ("train", "valid", "test"):
        for i, language in enumerate(("en", "de")):
            (data / f"{part}.{language}").write_text("".join(p[i] + "\n" for p in pairs) * 50, "utf-8")
    (data / "test.source").write_text("dictionary\n" * 100 + "manual\n" * 100, "utf-8")
    (data / "sources.txt").write_text(SOURCES, "utf-8")
    subprocess.run([hecate, "train", "--task", "translate", "--train", data / "train.en", data / "train.de", "--valid",
                    data / "valid.en", data / "valid.de", "--out", folder / "run", "--width", "32", "--heads", "2",
                    "--encoder-layers", "1", "--decoder-layers", "1", "--vocab", "300", "--steps", "20", "--valid-every",
                    "10", "--batch-tokens", "256", "--dtype", "bf16", "--quiet"], check=True)
    (folder / "sentences.txt").write_text("the file\na page\n", "utf-8")


def call(folder, hecate, *words):
    return subprocess.run([sys.executable, "-B", HERE / "card.py", "--hecate", hecate, folder / "run", folder / "data",
                           "--out", folder / "out", "--sentences", folder / "sentences.txt", "--judged",
                           folder / "judged.tsv", "--cache", folder / "cache", *map(str, words)],
                          capture_output=True, encoding="utf-8")


def check_card(folder, hecate):
    first = call(folder, hecate)
    assert first.returncode == 1 and "2 outputs are not judged yet" in first.stderr, first.stderr
    asked = first.stdout.splitlines()[-2:]
    assert len(asked) == 2 and asked[0].startswith("the file\t") and asked[0].endswith("\t?\t"), asked
    (folder / "judged.tsv").write_text("".join(a.replace("\t?\t", "\tgood\tso it is") + "\n" for a in asked), "utf-8")
    second = call(folder, hecate)
    assert second.returncode == 0, second.stderr
    card = " ".join((folder / "out/README.md").read_text("utf-8").split())  # ignore line ends
    for part in ("license: gpl-3.0", "2 good, 0 fair, 0 bad", "91 pairs (91.0 %)", "3 pairs (3.0 %)",
                 "6 pairs (6.0 %)", "GPL-2 (6), man-copyleft (3)", "--width 32", "| dictionary | 100 |", "good: so it is"):
        assert part in card, f"the card does not say {part}"
    assert str(folder) not in card, "a path of this machine is in the card"
    assert sorted(p.name for p in (folder / "out").iterdir()) == [
        "LICENSE", "README.md", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json"]
    # Judgements of outputs that the model no longer produces do not count.
    (folder / "judged.tsv").write_text("the file\tsomething else\tgood\t\n", "utf-8")
    assert call(folder, hecate).returncode == 1


def check_refusals(folder, hecate):
    before = (folder / "out/README.md").read_text("utf-8")
    weights = folder / "run/model.safetensors"
    kept = weights.read_bytes()
    weights.write_bytes(kept + bytes(24_000_000))
    assert "more than 24,000,000" in call(folder, hecate).stderr
    weights.write_bytes(kept.replace(b'"BF16"', b'"F16" '))
    assert "not only BF16" in call(folder, hecate).stderr
    weights.unlink()
    assert "is missing" in call(folder, hecate).stderr
    weights.write_bytes(kept)
    (folder / "data/sources.txt").write_text(SOURCES.replace("GPL-2+|", "Secret-1|"), "utf-8")
    assert "Secret-1" in call(folder, hecate).stderr
    assert (folder / "out/README.md").read_text("utf-8") == before, "a refused run changed the folder"


def check_words():
    assert [licences.kind(x) for x in ("GPL-2|GPL-3", "GPL-2,GPL-2+", "GPL-2", "MPL-2.0")] == ["all", "parts", "none", "all"]
    for name in ("README.md", "docs/train.md"):
        assert Path(name).read_text("utf-8").count("<!-- models/en-de begins -->\n") == 1, f"{name} has no place for it"


def run(hecate):
    check_words()
    with tempfile.TemporaryDirectory() as name:
        small_run(Path(name), hecate)
        check_card(Path(name), hecate)
        check_refusals(Path(name), hecate)
    print("en-de: the card is complete, and errors are found")
    return 0
