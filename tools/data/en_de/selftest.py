"""Tests the extractors: a few lines of each format with the expected result, and pairs that cleaning must refuse."""
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path

import build
import catalogue
import clean
import descriptions
import ding
import man
import markup
import mozilla
import text

failures = 0


def same(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"en-de: {what}\n  gives  {got!r}\n  wanted {wanted!r}")


def make_mo(order, pairs):
    """A catalogue of these pairs in one byte order."""
    n, blob, tables = len(pairs), b"", ([], [])
    at = 28 + 16 * n
    for side in (0, 1):
        for pair in pairs:
            tables[side].append((len(pair[side]), at + len(blob)))
            blob += pair[side] + b"\0"
    head = struct.pack(order + "7I", 0x950412de, 0, n, 28, 28 + 8 * n, 0, 0)
    return head + b"".join(struct.pack(order + "2I", *x) for t in tables for x in t) + blob


def dictionary():
    line = ("Prinzip {n} | im Prinzip; an sich | Das ist gut/schlecht. | Das Prinzip ist (sehr) einfach. [ugs.] "
            ":: principle | in principle | That's good. | The principle is very simple.; It’s simple.")
    same("a line of the dictionary", list(ding.pairs_of_line(line, 0)),
         [(False, "principle", "Prinzip"),
          (True, "That's good.", "Das ist gut."),
          (True, "The principle is very simple.", "Das Prinzip ist einfach."),
          (True, "It's simple.", "Das Prinzip ist einfach.")])
    same("a noun with its article", list(ding.pairs_of_line("Aal {m} :: eel", 2)), [(False, "an eel", "ein Aal")])
    same("whoever and whatever", list(ding.pairs_of_line("jdm. mit etw. sehr helfen {vi} :: to help sb. with sth."))[0],
         (False, "to help somebody with something", "jemandem mit etwas sehr helfen"))
    same("a comment", list(ding.pairs_of_line("# Version :: devel")), [])


def catalogues():
    pairs = [(b"", b"Content-Type: text/plain; charset=UTF-8\n"), (b"menu\x04_Open\xe2\x80\xa6", b"\xc3\x96_ffnen\xe2\x80\xa6"),
             (b"one file\0%d files", b"eine Datei\0%d Dateien")]
    wanted = [("Open\u2026", "\u00d6ffnen\u2026"), ("one file", "eine Datei"), ("%d files", "%d Dateien")]
    for order in "<>":
        data = make_mo(order, pairs)
        same("a catalogue", list(catalogue.pairs(data)), wanted)
        for cut in range(len(data)):  # a truncated file gives fewer pairs, never an error
            list(catalogue.pairs(data[:cut]))
    same("markup in a message", catalogue.pairs_of_message("<p>Save <b>all</b>?</p>", "<p><b>Alles</b> speichern?</p>"),
         [("Save all?", "Alles speichern?")])


def pages():
    page = ("<html><head><title>x</title></head><body><div class='navheader'>Next</div><h1>Files</h1>"
            "<p>Open a <em>file</em>.</p><pre>ls -l</pre><ul><li><p>One</p></li><li>Two</li></ul></body></html>")
    same("blocks of a page", markup.blocks(page), [("h1", "Files"), ("p", "Open a file."), ("p", "One"), ("li", "Two")])
    same("blocks by id", markup.by_id('<p id="par_id1" class="x">A <b>b</b></p><p>c</p><h2 id="hd_2">D</h2>'),
         {"par_id1": "A <b>b</b>", "hd_2": "D"})
    same("a page of DocBook", markup.blocks("<chapter><title>A &kate; b</title><varlistentry><term>T</term>"
                                            "<listitem><para>Press <keycap>&Ctrl;</keycap>.</para></listitem>"
                                            "</varlistentry><screen>x</screen></chapter>"),
         [("title", "A Kate b"), ("term", "T"), ("para", "Press Ctrl.")])
    same("a manual page", man.blocks('.TH LS 1\n.SH NAME\nls \\- list\n.SH OPTIONS\n.TP\n\\fB\\-a\\fR\nshow\n.B all\nfiles\n'
                                     ".nf\ncode\n.fi\n.PP\nThe end.\n"),
         [("P", "ls - list"), ("tag", "-a"), ("body", "show all files"), ("P", "The end.")])
    same("a page in mdoc", man.blocks(".Dd today\n.Sh NAME\n"), None)
    same("a block too many", text.match_blocks([("p", "One two three."), ("li", "Four five.")],
                                               [("p", "Eins zwei drei."), ("p", "Neu."), ("li", "Vier fünf.")]),
         [("One two three.", "Eins zwei drei."), ("Four five.", "Vier fünf.")])
    same("fluent", mozilla.fluent("# c\na = Open\n    .title = Open it\n    .accesskey = O\nb = { $n ->\n   *[o] x\n }\n"),
         {"a": "Open", "a.title": "Open it"})
    stanza = "Package: libfoo1\nDescription-md5: abc\nDescription-{}: {}\n {}\n .\n  - {}\n"
    same("descriptions", list(descriptions.documents(stanza.format("en", "a tool", "It works.", "fast"),
                                                     stanza.format("de", "ein Werkzeug", "Es geht.", "schnell"))),
         [("foo", [("a tool", "ein Werkzeug"), ("It works.", "Es geht."), ("fast", "schnell")])])


def sentences():
    same("sentences", text.sentences("Das gilt z. B. am 3. Mai. Es geht!", True), ["Das gilt z. B. am 3. Mai.", "Es geht!"])
    same("pairs of a block", text.pairs_of_block("It works. Try it.", "Es geht. Probieren Sie es."),
         [("It works.", "Es geht."), ("Try it.", "Probieren Sie es.")])
    same("quotes", text.normal_de("Die »Datei« und \"mehr\""), "Die \u201eDatei\u201c und \u201emehr\u201c")


def cleaning():
    for en, de, why in (
            ("Open the file.", "Öffnen Sie die Datei.", None),
            ("Copy the file %s to %s", "Die Datei %s nach %s kopieren", None),
            ("Open the file.", "Open the file.", "same"),
            ("The file is open.", "The file is opened.", "language"),
            ("Wait 5 seconds.", "Warten Sie 6 Sekunden.", "numbers"),
            ("Copy the file %s", "Die Datei %d kopieren", "placeholders"),
            ("Yes.", "Ja, das ist ganz bestimmt so, wie Sie es gesagt haben.", "ratio"),
            ("", "Ja", "empty"),
            ("word " * 61, "Wort " * 61, "long")):
        same(f"cleaning {en!r}", clean.why_not(en.strip(), de.strip()), why)
    same("the same text", clean.key("Öffne die 3 Dateien!"), clean.key("offne  die 12 DATEIEN"))


def origins():
    """Checks that every training pair is counted for its package, with the licence of that package."""
    sources = {"dictionary": {"l1": [("the cat", "die Katze")]},
               "manual": {"a.1": [("Open it.", "Öffnen Sie es."), ("Open it.", "Öffnen Sie es.")]},
               "mozilla": {"firefox-esr/x": [("a page", "eine Seite")]}, "programs": {"git": [("a branch", "ein Zweig")]}}
    packages = {"git": [("programs", "GPL-2")], "bash": [("programs", "GPL-3+")], "trans-de-en": [("dictionary", "GPL-2+")],
                "firefox-esr-l10n-en-gb": [("mozilla", "MPL-2.0")]}
    parts = {"train": [(s, en, de, name) for s, of in sources.items() for name, pairs in of.items() for en, de in set(pairs)]}
    with tempfile.TemporaryDirectory() as root:
        page = Path(root, "bash/usr/share/man/man1/a.1.gz")
        page.parent.mkdir(parents=True)
        page.touch()
        same("origins", build.by_package(sources, parts, packages, Path(root)),
             "dictionary trans-de-en 1 GPL-2+\nmanual bash 1 GPL-3+\nmozilla firefox-esr-l10n-en-gb 1 MPL-2.0\n"
             "programs git 1 GPL-2\n")
    out, _ = build.split({"programs": {"git": [("a branch", "ein Zweig"), ("a branch", "ein Zweig")]}}, Counter())
    same("split", out["train"], [("programs", "a branch", "ein Zweig", "git")])


for test in (dictionary, catalogues, pages, sentences, cleaning, origins):
    test()
print("en-de: the extractors work" if not failures else f"en-de: {failures} failed")
sys.exit(1 if failures else 0)
