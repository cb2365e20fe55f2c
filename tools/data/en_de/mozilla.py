"""Language packs of Firefox and Thunderbird: zip files with one string per key in Fluent (.ftl),
.properties and .dtd files, the same files and keys in every language."""
import re
import zipfile

_ENTITY = re.compile(r'<!ENTITY\s+([\w.-]+)\s+(?:"([^"]*)"|\'([^\']*)\')\s*>')
_PROPERTY = re.compile(r"^([\w.\-@$]+)\s*[=:]\s*(.*)$")
_MESSAGE = re.compile(r"^(-?[A-Za-z][\w-]*)\s*=\s*(.*)$")
_ATTRIBUTE = re.compile(r"^\s+\.([A-Za-z][\w-]*)\s*=\s*(.*)$")
_QUIET = frozenset("accesskey key style commandkey".split())


def fluent(text):
    """Returns {key: value}. Skips messages with a choice of forms."""
    out, message, key = {}, None, None
    for line in text.split("\n"):
        m = _MESSAGE.match(line)
        a = _ATTRIBUTE.match(line)
        if m:
            message = key = m.group(1)
            out[key] = m.group(2)
        elif a and message:
            key = message + "." + a.group(1)
            out[key] = a.group(2)
        elif key and line.startswith((" ", "\t")) and line.strip():
            out[key] += " " + line.strip()
        elif not line.strip() and key:
            out[key] += "\n\n"
        else:
            key = None
    return {k: v.strip() for k, v in out.items()
            if v.strip() and "->" not in v and k.rsplit(".", 1)[-1] not in _QUIET}


def properties(text):
    out = {}
    for line in text.split("\n"):
        m = _PROPERTY.match(line)
        if m and not m.group(1).lower().endswith((".accesskey", "accesskey", "key", ".keycode")):
            value = re.sub(r"\\u([0-9a-fA-F]{4})", lambda u: chr(int(u.group(1), 16)), m.group(2))
            out[m.group(1)] = value.replace("\\n", "\n").replace("\\t", " ").strip()
    return out


def entities(text):
    return {k: (a or b) for k, a, b in _ENTITY.findall(text) if not k.lower().endswith("key")}


_READERS = {".ftl": fluent, ".properties": properties, ".dtd": entities}


def read_pack(path):
    """Returns {(file, key): value} of a language pack. The language is removed from folder names."""
    out = {}
    with zipfile.ZipFile(path) as pack:
        for name in sorted(pack.namelist()):
            reader = next((r for end, r in _READERS.items() if name.endswith(end)), None)
            if not reader:
                continue
            neutral = re.sub(r"(?<=/)(?:de|en-GB)(?=/)", "*", name)
            for key, value in reader(pack.read(name).decode("utf-8", "replace")).items():
                out[neutral, key] = value
    return out


def documents(english, german):
    """Yields (file, [(en, de) block])."""
    en, de = read_pack(english), read_pack(german)
    files = {}
    for (name, key), value in en.items():
        other = de.get((name, key))
        if other:
            files.setdefault(name, []).append((value, other))
    for name in sorted(files):
        yield name, files[name]
