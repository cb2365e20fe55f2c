"""Reads the unpacked packages. Every source yields (document, [(en, de)]): sentence pairs that are not cleaned yet."""
import gzip
import re
from pathlib import Path

import catalogue
import descriptions
import ding
import man
import markup
import mozilla
from text import match_blocks, normal_de, normal_en, pairs_of_block, strip_markup


def _split(blocks):
    return [pair for en, de in blocks for pair in pairs_of_block(en, de)]


def dictionary(root):
    for name, found in ding.documents(root / "trans-de-en/usr/share/trans/de-en"):
        yield name, [(normal_en(x), normal_de(y)) for x, y in found]


def office_help(root):
    en = root / "libreoffice-help-en-us/usr/share/libreoffice/help/en-US/text"
    de = root / "libreoffice-help-de/usr/share/libreoffice/help/de/text"
    for page in sorted(en.rglob("*.html")):
        other = de / page.relative_to(en)
        if other.exists():
            a, b = (markup.by_id(p.read_text("utf-8", "replace")) for p in (page, other))
            blocks = [(strip_markup(a[k]), strip_markup(b[k])) for k in a if k in b]
            yield str(page.relative_to(en)), _split(blocks)


def _english_pages(root):
    english = {}
    for page in sorted(root.glob("*/usr/share/man/man[1-8]/*.gz")):
        english.setdefault(page.name, page)
    return english


def manual(root):
    english = _english_pages(root)
    for page in sorted(root.glob("*/usr/share/man/de/man[1-8]/*.gz")):
        if page.name not in english or page.is_symlink():
            continue
        try:
            texts = [gzip.decompress(p.read_bytes()).decode("utf-8", "replace")
                     for p in (english[page.name], page)]
        except OSError:
            continue
        a, b = (man.blocks(t) for t in texts)
        if a and b:
            yield page.name[:-3], _split(match_blocks(a, b))


# English and German folder of each book; `name` converts the name of a page.
_BOOKS = (
    ("debian-handbook/usr/share/doc/debian-handbook/html/en-US",
     "debian-handbook/usr/share/doc/debian-handbook/html/de-DE", None),
    ("installation-guide-amd64/usr/share/doc/installation-guide-amd64/en",
     "installation-guide-amd64/usr/share/doc/installation-guide-amd64/de", None),
    ("debian-reference-en/usr/share/debian-reference",
     "debian-reference-de/usr/share/debian-reference", (".en.", ".de.")),
    ("debian-faq/usr/share/doc/debian/FAQ", "debian-faq-de/usr/share/doc/debian/FAQ/de", (".en.", ".de.")),
    ("developers-reference/usr/share/developers-reference",
     "developers-reference-de/usr/share/developers-reference/de", None),
    ("maint-guide/usr/share/doc/maint-guide/html", "maint-guide-de/usr/share/doc/maint-guide-de/html",
     (".en.", ".de.")),
    ("debian-edu-doc-en/usr/share/doc/debian-edu-doc-en",
     "debian-edu-doc-de/usr/share/doc/debian-edu-doc-de", None),
)
_USER_HELP = (
    ("gimp-help-en/usr/share/gimp/2.0/help/en", "gimp-help-de/usr/share/gimp/2.0/help/de", None),
    ("gnome-user-docs/usr/share/help/C/gnome-help", "gnome-user-docs/usr/share/help/de/gnome-help", None),
    ("gnome-user-docs/usr/share/help/C/system-admin-guide",
     "gnome-user-docs/usr/share/help/de/system-admin-guide", None),
)


def _books(root, table):
    for en, de, name in table:
        for page in sorted((root / en).iterdir()) if (root / en).is_dir() else ():
            if page.suffix not in (".html", ".page"):
                continue
            other = root / de / (page.name.replace(*name) if name else page.name)
            if not other.exists():
                continue
            a, b = (markup.blocks(p.read_text("utf-8", "replace")) for p in (page, other))
            yield en.split("/", 1)[0] + "/" + page.name, _split(match_blocks(a, b))


def documents(root):
    return _books(root, _BOOKS)


def user_help(root):
    yield from _books(root, _USER_HELP)
    for page in sorted(root.glob("*/usr/share/doc/HTML/de/**/*.docbook")):
        other = Path(str(page).replace("/HTML/de/", "/HTML/en/"))
        if other.exists():
            a, b = (markup.blocks(p.read_text("utf-8", "replace")) for p in (other, page))
            yield str(page.relative_to(root)).replace("/usr/share/doc/HTML/de", ""), _split(match_blocks(a, b))


def package_descriptions(root):
    en, de = ((root.parent / f"Translation-{x}").read_text("utf-8") for x in ("en", "de"))
    for name, blocks in descriptions.documents(en, de):
        yield name, _split(blocks)


def _catalogues(root, packages):
    for package in packages:
        found = []
        for path in sorted((root / package).rglob("de/LC_MESSAGES/*.mo")):
            found += _split(catalogue.pairs(path.read_bytes()))
        if found:
            yield package, found


def mozilla_packs(root):
    for program in ("firefox-esr", "thunderbird"):
        packs = [sorted((root / f"{program}-l10n-{x}").rglob("*.xpi")) for x in ("en-gb", "de")]
        if all(packs):
            for name, blocks in mozilla.documents(packs[0][0], packs[1][0]):
                yield f"{program}/{name}", _split((strip_markup(x), strip_markup(y)) for x, y in blocks)


def read_packages(path):
    """Returns {package: [(source, licence)]} from packages.txt."""
    out = {}
    for line in Path(path).read_text("utf-8").splitlines():
        fields = line.split("#")[0].split()
        if fields:
            out.setdefault(fields[0], []).append((fields[1], fields[2]))
    return out


# If two sources hold the same pair, the first one keeps it.
SOURCES = {"dictionary": dictionary, "office-help": office_help, "manual": manual, "documents": documents,
           "user-help": user_help, "descriptions": package_descriptions, "stories": None,
           "mozilla": mozilla_packs, "office": None, "programs": None}


def open_source(source, root, packages):
    """Opens a source. A source without its own function reads the catalogues of its packages."""
    if SOURCES[source]:
        return SOURCES[source](root)
    return _catalogues(root, [p for p, uses in packages.items() if any(s == source for s, _ in uses)])


def packages_of(source, documents, root):
    """Returns {document: the package of its English text}."""
    whole = {"dictionary": "trans-de-en", "office-help": "libreoffice-help-en-us",
             "descriptions": "(descriptions)"}
    if source in whole:
        return dict.fromkeys(documents, whole[source])
    if source == "manual":
        return {name[:-3]: path.relative_to(root).parts[0] for name, path in _english_pages(root).items()}
    # The names of the other documents begin with their package.
    suffix = "-l10n-en-gb" if source == "mozilla" else ""
    return {name: name.split("/", 1)[0] + suffix for name in documents}
