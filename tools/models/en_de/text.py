"""Text about the bundled model: its card, and its parts of README.md and docs/train.md."""
import re
import shlex
import sys
import textwrap

import licences

WHAT = {"dictionary": "Ding dictionary: words, phrases, sentences", "office-help": "LibreOffice help",
        "office": "LibreOffice interface", "manual": "manual pages", "documents": "Debian books and guides",
        "user-help": "GNOME, KDE and GIMP user manuals", "descriptions": "Debian package descriptions",
        "stories": "games: Wesnoth, Freeciv, Tux Paint, Minetest", "mozilla": "Firefox and Thunderbird",
        "programs": "interfaces of programs (gettext)"}
ORDER = tuple(WHAT)
WIDTH = 104
BLEU = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
CHRF = "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"


def hours(seconds):
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"


def wrap(paragraph):
    return textwrap.fill(" ".join(paragraph.split()), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def bullet(paragraph):
    return textwrap.fill("- " + " ".join(paragraph.split()), WIDTH, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False) + "\n"


def command(facts):
    """The command line of the run, with the settings that differ from the defaults for the data."""
    train, defaults = facts["train"], facts["defaults"]
    words = ["hecate train", f"--task {train['task']}", "--train DATA/train.en DATA/train.de",
             "--valid DATA/valid.en DATA/valid.de", "--out RUN"]
    for key, value in train.items():
        if key in ("task", "train", "valid") or value is None or value == defaults.get(key):
            continue
        value = shlex.quote(f"{value:g}" if isinstance(value, float) else str(value))
        words.append(f"--{key.replace('_', '-')} {value}")
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 96:
            lines.append(line + "\\")
            line = "\t"
        line += word + " "
    return "\n".join(lines + [line.rstrip()])


def head(facts):
    _, _, bleu, chrf = facts["scores"][0]
    return f"""---
language:
- en
- de
license: gpl-3.0
library_name: transformers
pipeline_tag: translation
tags:
- translation
- marian
- hecate
metrics:
- bleu
- chrf
model-index:
- name: hecate-en-de
  results:
  - task:
      type: translation
      name: English to German
    dataset:
      type: debian-en-de
      name: held-out documents of Debian packages
    metrics:
    - type: bleu
      value: {bleu:.2f}
    - type: chrf
      value: {chrf:.2f}
---
"""


def about(facts):
    c = facts["config"]
    summary = wrap(f"""
        A small Transformer that translates English into German. It has {facts['parameters']:,} parameters, which
        take {facts['bytes'] / 1e6:.1f} MB in bf16. `hecate train` trained it from scratch on the text of Debian
        packages. It is the bundled model: `hecate translate` uses it when no other model is named. Hugging Face
        Transformers loads it as a `MarianMTModel`, and CTranslate2 converts it.""")
    return f"""# English → German, trained by Hecate
{summary}
```
hecate translate "The file could not be opened."
hecate attend "The file could not be opened."
```

The model shows a whole Transformer at work: the training text, the training run, and what each head looks at.
Its language is that of programs and their manuals. **Use a larger model for texts that matter.** This model has
seen few everyday sentences, and its output can be fluent and wrong.

| | |
|---|---|
| layers | {c['encoder_layers']} + {c['decoder_layers']}, post-norm, {c['activation_function']} |
| width | {c['d_model']}, {c['encoder_attention_heads']} heads, feed-forward {c['encoder_ffn_dim']} |
| vocabulary | {c['vocab_size']:,} pieces of byte-level BPE, one table for both languages and the output |
| longest text | {facts['train']['max_length']} tokens in training |
"""


def scores(facts):
    _, n, bleu, chrf = facts["scores"][0]
    rows = "".join(f"| {s} | {k:,} | {b:.1f} | {c:.1f} |\n" for s, k, b, c in facts["scores"][1:])
    test_set = wrap(f"""
        The test set has {n:,} sentences, from documents that were held out as a whole. None of its sentences, English
        or German, occurs in the training data, even if case, digits and punctuation are ignored. Scores with beam 4,
        by `hecate score`:""")
    limits = wrap(f"""
        For comparison: the untranslated English scores chrF {facts['untranslated']:.1f}, because names and technical
        words are the same in both languages. The test documents resemble the training documents of the same packages,
        so expect lower scores on text from elsewhere. Scores by source:""")
    return f"""## Evaluation
{test_set}
- BLEU **{bleu:.2f}**, `{BLEU}`
- chrF **{chrf:.2f}**, `{CHRF}`

{limits}
| source | sentences | BLEU | chrF |
|---|---|---|---|
{rows}"""


def everyday(facts):
    rows = facts["sentences"]
    count = {v: sum(r[2] == v for r in rows) for v in ("good", "fair", "bad", "?")}
    said = f"{count['good']} good, {count['fair']} fair, {count['bad']} bad"
    if count["?"]:
        said += f", {count['?']} not judged yet"
    lines = ""
    for s, o, v, r in rows:
        cells = (s, o, f"{v}: {r}" if r else v)
        lines += "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n"
    return f"""## Twenty everyday sentences
The sentences were chosen before the model was finished, and none was left out. A person judged each output:
{said}.

| English | German | |
|---|---|---|
{lines}"""


def data(facts):
    rows = facts["sources"]
    sources = licences.by_source(rows)
    total = sum(n for _, _, n, _ in rows)
    table = ""
    for source in ORDER:
        for k, (licence, packages, n) in enumerate(sources.get(source, ())):
            first = f"{source}: {WHAT[source]}" if k == 0 else ""
            table += f"| {first} | {', '.join(packages)} | {n:,} | {licence.replace(',', ', ').replace('|', ' or ')} |\n"
    return f"""## Data
The training data has {total:,} pairs of sentences, phrases and interface strings from packages of Debian 12.
[`tools/data/en-de`](../../tools/data/en-de) makes it, and lists what it leaves out.

- **Licences**: as each package's `debian/copyright` names them for these texts. Several licences in a row apply to
  different parts of the package.
- **Authors**: `/usr/share/doc/PACKAGE/copyright` of each package names them.
- **Packages**: the table names the package of the English text. The German text is in the same package, or in the
  package of the same name that ends in -de and has the same licence. The German manual pages are in manpages-de
  (GPL-3+).

| source | packages | pairs | licence |
|---|---|---|---|
{table}"""


def licence(facts):
    rows = facts["sources"]
    share, total = licences.shares(rows), sum(n for _, _, n, _ in rows)

    def part(n):
        return f"{n:,} pairs ({100 * n / total:.1f} %)"

    others = ", ".join(f"{term} ({n:,})" for term, n in licences.outside(rows))
    rest = wrap(f"""
        These terms do not lead to GPL-3, with the number of pairs from packages in which they occur:
        {others}.""")
    verdict = wrap("""
        No single licence satisfies all of these terms at once. **If you hold that weights are a work based on their
        training text, then you have no licence for these weights and should not pass them on.** If you hold that
        they are not, GPL-3 is the licence that we give. According to the files that were read, no text in the list
        has invariant sections or forbids commercial use or changes.""")
    return f"""## Licence
The weights are distributed under **version 3 of the GNU General Public License** ([LICENSE](LICENSE)). Hecate itself
(the program and the library) is Apache-2.0. Nothing in it depends on this folder.

Weights are no copy of the texts that they were trained on. Whether they are a work based on these texts is not
settled. We follow the strictest reading that we can, and state where it ends:

- {part(share['all'])} come from packages whose texts may all be distributed under GPL-3.
- {part(share['parts'])} come from packages of which only a part may.
- {part(share['none'])} come from packages of which nothing may, by their own words alone.

{rest}
- GPL-2 here is version 2 only.
- man-copyleft and verbatim-copyleft require the very same notice.
- Package descriptions, and their translations by the Debian Description Translation Project, carry no notice of
  their own.

{verdict}"""


def training(facts):
    """Also for docs/train.md."""
    log, train = facts["log"], facts["train"]
    kept = log["kept"]
    rest = wrap(f"""
        The run can be stopped at any time. `hecate train --resume --out RUN` continues it to the same bits. The model
        is the one of step {kept['step']:,} of {log['last']['step']:,}, the best by validation {facts['best']}: loss
        {kept['valid_loss']:.3f}, and chrF {kept['chrf']:.1f} on {train['valid_sentences']} greedily translated
        sentences. Up to that step the run took {hours(log['seconds'])} on {facts['machine']}, for
        {log['targets'] / 1e6:.1f} million target tokens.{' ' + facts['note'] if facts['note'] else ''}""")
    return f"""This command trained `models/en-de`. DATA is the folder that `tools/data/en-de` fills:

```
{command(facts)}
```

{rest}"""


def better(facts):
    log = facts["log"]
    pairs = sum(n for _, _, n, _ in facts["sources"])
    return "## How to get a better model\n" + "".join(bullet(b) for b in (
        f"""**More steps.** {log['targets'] / 1e6:.0f} million target tokens in {hours(log['seconds'])} are few. The
        models of the 2017 paper saw about two and a half billion.""",
        f"""**Everyday text.** Debian contains almost none. Larger models train on subtitles, speeches and news (OPUS,
        Europarl, WMT: about ten million pairs). In {pairs:,} pairs of manuals and menus, words like *soup* or *umbrella*
        hardly occur.""",
        """**A larger model.** Width 512 and 6 + 6 layers (the base size of 2017) reach BLEU 27 on WMT news when trained
        on such text. This folder is kept below 24 MB.""",
        "**The usual methods**: back-translation of German text, and distillation from a larger teacher model.",
        """**Text under one licence**: without the sources that do not lead to GPL-3 (above), one licence is right under
        every reading."""))


def card(facts):
    parts = (about(facts), scores(facts), everyday(facts), data(facts), licence(facts),
             "## Training\n" + training(facts) + "\n" + settings(facts["train"]), better(facts))
    return head(facts) + "\n".join(parts)


def settings(train):
    said = ", ".join(f"{k} {v}" for k, v in train.items()
                     if k not in ("task", "train", "valid", "config", "tokenizer"))
    return wrap(f"All settings: {said}.")


def readme(facts):
    _, n, bleu, chrf = facts["scores"][0]
    good = [r for r in facts["sentences"] if r[2] == "good"][:2]
    bad = [r for r in facts["sentences"] if r[2] == "bad"][:1]
    shown = "".join(f"$ hecate translate {shlex.quote(s)}\n{o}\n" for s, o, _, _ in good + bad)
    said = wrap(f"""
        Hecate includes a bundled model for English → German: {facts['parameters'] / 1e6:.1f} M parameters,
        {facts['bytes'] / 1e6:.0f} MB. `hecate train` trained it in {hours(facts['log']['seconds'])} on
        {facts['machine']}, from the texts of Debian packages. `hecate translate` uses it when no other model is named.
        It scores BLEU {bleu:.1f} and chrF {chrf:.1f} on {n:,} held-out sentences of manuals and menus. It is weaker on
        everyday language. [Its model card](models/en-de/README.md) has twenty sentences, good and bad, every source
        with its licence, and ways to get a better model. The weights are GPL-3, the program is Apache-2.0.""")
    return f"""{said}
```
{shown}```
"""


def replace(path, new):
    """Replaces the text between the two marks of the file."""
    old = path.read_text("utf-8")
    made, count = re.subn(r"(<!-- models/en-de begins -->\n).*?(<!-- models/en-de ends -->)",
                          lambda m: m.group(1) + new + m.group(2), old, flags=re.S)
    if count != 1:
        sys.exit(f"en-de: {path} has {count} pairs of marks for the model, expected 1")
    if made != old:
        path.write_text(made, "utf-8")
