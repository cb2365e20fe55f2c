"""Package descriptions: the lists Translation-en and Translation-de, joined by the hash of the description."""
import re


def read(text):
    """Returns {description hash: (package, short description, [paragraph])}."""
    out = {}
    for stanza in text.split("\n\n"):
        package = re.search(r"^Package: (.+)$", stanza, re.M)
        total = re.search(r"^Description-md5: (\w+)$", stanza, re.M)
        body = re.search(r"^Description-(?!md5)\w+: (.*(?:\n .*)*)", stanza, re.M)
        if not (package and total and body):
            continue
        lines = body.group(1).split("\n")
        out[total.group(1)] = (package.group(1), lines[0], _paragraphs(lines[1:]))
    return out


def _paragraphs(lines):
    """A line with only a dot separates paragraphs. A line with an extra leading space is its own paragraph."""
    out, open_ = [], False
    for line in lines:
        line = line[1:]
        if line.strip() == "." or not line.strip():
            open_ = False
            continue
        item = re.match(r"\s*[-*\u2022o]\s+", line)
        if item:
            out.append(line[item.end():].strip())
            open_ = True
        elif open_:
            out[-1] += " " + line.strip()
        else:
            out.append(line.strip())
            open_ = True
    return out


def family(package):
    """The family of a package. Packages of a family share sentences in their descriptions, so they form one document."""
    name = re.sub(r"^lib(?=[a-z])", "", package)
    return re.split(r"[-.+\d]", name)[0] or name


def documents(english, german):
    """Yields (family, [(en, de) block])."""
    en, de = read(english), read(german)
    groups = {}
    for total in sorted(de):
        if total not in en:
            continue
        package, short, body = en[total]
        _, short_de, body_de = de[total]
        found = groups.setdefault(family(package), [])
        if "<trans>" in short_de:
            short_de = ""
        found.append((short, short_de))
        if len(body) == len(body_de):
            found += [p for p in zip(body, body_de) if "<trans>" not in p[1]]
    for name in sorted(groups):
        yield name, groups[name]
