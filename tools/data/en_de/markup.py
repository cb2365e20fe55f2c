"""Reads HTML, Mallard and DocBook pages as lists of blocks, and LibreOffice help as blocks by id."""
import re
from html.parser import HTMLParser

_BLOCKS = frozenset("p li dt dd h1 h2 h3 h4 h5 h6 td th title desc item figcaption caption "
                    "para simpara term entry".split())
_BREAKS = frozenset("div ul ol dl table tr tbody thead body section article blockquote page steps list "
                    "terms note hr sect1 sect2 sect3 chapter listitem varlistentry".split())
_SILENT = frozenset("script style pre head screen code-block info nav footer bookinfo articleinfo screeninfo "
                    "programlisting literallayout".split())
_NAVIGATION = re.compile(r"nav(?:header|footer|igation)|^toc|copyright|programlisting|sphinxsidebar|related|"
                         r"breadcrumb|^footer|^index|authorgroup|legalnotice|revhistory", re.I)


# DocBook pages define their own entities for programs and keys.
_ENTITY = re.compile(r"&([\w.-]+);")


def _spell(m):
    name = m.group(1)
    return name.upper() if len(name) < 4 else name[0].upper() + name[1:]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.blocks, self.text, self.kind = [], [], None
        self.stack, self.silent, self.last_key = [], 0, False

    def _flush(self):
        text = re.sub(r"\s+", " ", "".join(self.text)).strip()
        if self.kind and text:
            self.blocks.append((self.kind, text))
        self.text = []

    def handle_starttag(self, tag, attrs):
        if tag in ("br", "img", "hr", "meta", "link", "input", "col", "a"):
            if tag == "br":
                self.text.append(" ")
            return
        if tag == "key" and self.last_key:
            self.text.append("+")
        self.last_key = False
        named = dict(attrs)
        quiet = tag in _SILENT or bool(_NAVIGATION.search(named.get("class") or "")
                                       or _NAVIGATION.search(named.get("id") or ""))
        if tag == "title" and "head" in [t for t, _ in self.stack]:
            quiet = True
        if tag in _BLOCKS or tag in _BREAKS or quiet:
            self._flush()
            if tag in _BLOCKS:
                self.kind = tag
        self.stack.append((tag, quiet))
        self.silent += quiet

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        self.last_key = tag == "key"
        if tag not in [t for t, _ in self.stack]:
            return
        if tag in _BLOCKS or tag in _BREAKS:
            self._flush()
        while self.stack:
            last, quiet = self.stack.pop()
            if quiet:
                self._flush() if not self.silent else None
                self.text = []
            self.silent -= quiet
            if last == tag:
                break
        outer = [t for t, _ in self.stack if t in _BLOCKS]
        self.kind = outer[-1] if outer else None

    def handle_data(self, data):
        self.last_key = False
        if not self.silent:
            self.text.append(_ENTITY.sub(_spell, data))


def blocks(page):
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.blocks


_BY_ID = re.compile(r'<(p|h\d)\b[^>]*\bid="((?:par|hd)_[^"]+)"[^>]*>(.*?)</\1>', re.S)


# Text for Macs only; the general text follows it.
_MAC = re.compile(r'<span\b[^>]*\bclass="MAC"[^>]*>(?:<span\b[^>]*>[^<]*</span>|[^<])*</span>')


def by_id(page):
    """Returns {id: markup inside}. If an id occurs twice, the first one counts."""
    out, page = {}, _MAC.sub("", page)
    for _, name, inside in _BY_ID.findall(page):
        out.setdefault(name, inside)
    return out
