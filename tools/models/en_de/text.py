"""The words: the model card, and what README.md and docs/train.md say of the model."""
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


def command(facts):
    """The command line of the run: what differs from what the data alone would have given."""
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
    return f"""# English → German, trained by Hecate
A small Transformer that translates English into German: {facts['parameters']:,} parameters, {facts['bytes'] / 1e6:.1f} MB in
bf16, trained from nothing by `hecate train` on the text of Debian packages. It is the default model of
`hecate translate`; Hugging Face Transformers loads it as a `MarianMTModel`, CTranslate2 converts it.

```
hecate translate "The file could not be opened."
hecate attend "The file could not be opened."
```

It is here to show a whole Transformer at work, from text to training to what each head looks at. Its
language is that of programs and their manuals. **For texts that matter take a larger model**: this one
has met few everyday sentences, and it can be fluent and wrong.

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
    return f"""## How good it is
On {n:,} sentences of documents that were held out as a whole, and of which no sentence, English or German,
occurs in training (case, digits and punctuation aside); beam 4, by `hecate score`:

- BLEU **{bleu:.2f}**, `{BLEU}`
- chrF **{chrf:.2f}**, `{CHRF}`

For comparison, leaving the English as it is scores chrF {facts['untranslated']:.1f}: names and technical words are the same.
Documents of the same packages are alike, so text from elsewhere fares worse than these:

| source | sentences | BLEU | chrF |
|---|---|---|---|
{rows}"""


def everyday(facts):
    rows = facts["sentences"]
    count = {v: sum(r[2] == v for r in rows) for v in ("good", "fair", "bad", "?")}
    said = f"{count['good']} good, {count['fair']} fair, {count['bad']} bad"
    if count["?"]:
        said += f", {count['?']} not looked at yet"
    lines = ""
    for s, o, v, r in rows:
        cells = (s, o, f"{v}: {r}" if r else v)
        lines += "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n"
    return f"""## Twenty everyday sentences
Chosen before the model was finished, none left out; the last column is a person's judgement:
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
{total:,} pairs of sentences, phrases and interface strings from packages of Debian 12, made by
[`tools/data/en-de`](../../tools/data/en-de), which also says what it left out. Licences are those that each
package's `debian/copyright` names for these texts; where several stand beside each other, parts of the
package differ. Every package has the names of its authors in `/usr/share/doc/PACKAGE/copyright`. Named are
the packages of the English; the German comes with it, from the package of the same name that ends in -de
under the same licence, or, of manual pages, from manpages-de (GPL-3+).

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
        The terms that do not lead to GPL-3, with the pairs of the packages in which they are met: {others}.
        GPL-2 here is version 2 alone; man-copyleft and verbatim-copyleft ask for the very same notice;
        package descriptions and their translations by the Debian Description Translation Project carry no
        notice of their own. No single licence satisfies all of these at once. **So whoever holds that
        weights are a work based on their training text finds no licence for these, and should not pass them
        on**; for whoever holds that they are not, GPL-3 is the licence that we give. By the files read, no
        text of the list has invariant sections, or forbids commercial use or changes.""")
    return f"""## Licence
The weights are passed on under **version 3 of the GNU General Public License** ([LICENSE](LICENSE)). Hecate
itself, the program and the library, is Apache-2.0; nothing of it depends on this folder.

Weights are no copy of the texts that they were learned from; whether they are a work based on them is not
settled. We take the strictest reading that can be kept, and say where it ends:

- {part(share['all'])} come from packages whose texts may all be passed on under GPL-3;
- {part(share['parts'])} come from packages of which a part may not;
- {part(share['none'])} come from packages of which nothing may, by their own words alone.

{rest}"""


def training(facts):
    """Also for docs/train.md."""
    log, train = facts["log"], facts["train"]
    kept = log["kept"]
    rest = wrap(f"""
        It may be stopped at any time and goes on with `hecate train --resume --out RUN`, to the same bits. The model
        is that of step {kept['step']:,} of {log['last']['step']:,}, the best by validation {facts['best']} (loss
        {kept['valid_loss']:.3f}; chrF {kept['chrf']:.1f} of {train['valid_sentences']} greedily translated sentences),
        after {log['targets'] / 1e6:.1f} million target tokens and {hours(log['seconds'])} on {facts['machine']}.{' ' + facts['note'] if facts['note'] else ''}""")
    return f"""`models/en-de` was made so; DATA is the folder that `tools/data/en-de` fills:

```
{command(facts)}
```

{rest}"""


def better(facts):
    return f"""## What it would take to do better
- **More steps.** {facts['log']['targets'] / 1e6:.0f} million target tokens in {hours(facts['log']['seconds'])} are little; the models of the 2017 paper saw
  some two and a half billion.
- **Everyday text.** Debian holds next to none. Subtitles, speeches and news (OPUS, Europarl, WMT: some ten
  million pairs) are what larger models learn from; with {sum(n for _, _, n, _ in facts['sources']):,} pairs of manuals and menus, words like *soup*
  or *umbrella* hardly occur.
- **A larger model.** Width 512 and 6 + 6 layers (the base size of 2017) on that text reach BLEU 27 on
  WMT news; this folder is held below 24 MB.
- **The usual means**: back-translated German, a larger teacher whose output is learned from.
- **Text of one licence**: without the sources that do not lead to GPL-3 (above), so that one licence is
  right under every reading.
"""


def card(facts):
    parts = (about(facts), scores(facts), everyday(facts), data(facts), licence(facts),
             "## Training\n" + training(facts) + "\n" + settings(facts["train"]), better(facts))
    return head(facts) + "\n".join(parts)


def settings(train):
    said = ", ".join(f"{k} {v}" for k, v in train.items()
                     if k not in ("task", "train", "valid", "config", "tokenizer"))
    return wrap(f"Every setting: {said}.")


def readme(facts):
    _, n, bleu, chrf = facts["scores"][0]
    good = [r for r in facts["sentences"] if r[2] == "good"][:2]
    bad = [r for r in facts["sentences"] if r[2] == "bad"][:1]
    shown = "".join(f"$ hecate translate {shlex.quote(s)}\n{o}\n" for s, o, _, _ in good + bad)
    said = wrap(f"""
        A model comes with it: English → German, {facts['parameters'] / 1e6:.1f} M parameters, {facts['bytes'] / 1e6:.0f} MB,
        trained by `hecate train` in {hours(facts['log']['seconds'])} on {facts['machine']} from the texts of Debian
        packages. It is what `hecate translate` uses when none is named. BLEU {bleu:.1f} and chrF {chrf:.1f} on {n:,}
        held-out sentences of manuals and menus; everyday language it knows less of. [Its card](models/en-de/README.md)
        has twenty sentences, good and bad, every source with its licence (the weights are GPL-3, the program is
        Apache-2.0), and what it would take to do better.""")
    return f"""{said}
```
{shown}```
"""


def replace(path, new):
    """Puts the words between the two marks of the file."""
    old = path.read_text("utf-8")
    made, count = re.subn(r"(<!-- models/en-de begins -->\n).*?(<!-- models/en-de ends -->)",
                          lambda m: m.group(1) + new + m.group(2), old, flags=re.S)
    if count != 1:
        sys.exit(f"en-de: {path} has {count} places for the model, not one")
    if made != old:
        path.write_text(made, "utf-8")
