"""Writes a model directory beside its place, moves it there when it is complete, and reports it."""
import contextlib
import json
import os
import shutil
import sys

import package


@contextlib.contextmanager
def made(out):
    """Yields a new folder, which is renamed to `out` if no error occurs."""
    part = out.rstrip("/") + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    yield part
    for e in os.scandir(part):
        if e.is_file():
            os.chmod(e.path, 0o644)
    shutil.rmtree(out, ignore_errors=True)
    os.rename(part, out)


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2, ensure_ascii=False)
        f.write("\n")


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def tell(out, what, packages):
    """Prints what was made, its size, and the licences that the packages state."""
    size = sum(e.stat().st_size for e in os.scandir(out) if e.is_file())
    print(f"{out}: {what}, {size / 1e6:.1f} MB")
    for path in packages:
        print(f"  from {os.path.basename(path)}; licence: {package.licence(path)}")
    sys.stdout.flush()
