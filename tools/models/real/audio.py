"""audio.py PACKAGES OUT: writes speech as NAME.wav (or NAME.mp3), with the transcript in NAME.txt."""
import io
import os
import re
import sys
import wave

import directory
import package


def of_raw(data):
    """Makes a WAV file from raw 16-bit samples at 16 kHz."""
    out = io.BytesIO()
    with wave.open(out, "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(16000)
        f.writeframes(data)
    return out.getvalue()


def transcripts(text):
    """Reads Sphinx's list of transcripts. Each line: the text, then the file name in parentheses."""
    found = {}
    for line in text.decode().splitlines():
        m = re.match(r"(?:<s> )?(.*?)(?: </s>)? \((.*)\)$", line.strip())
        if m:
            found[os.path.basename(m[2])] = m[1].strip()
    return found


# Transcripts of files that have none, taken from the grammar and the tests of the package.
SAID = {"goforward": "go forward ten meters",
        "jfk": "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your "
               "country."}


def main():
    packages, out = sys.argv[1:]
    sphinx = package.fetch("pocketsphinx-5.1.1.tar.gz", packages)
    cpp = package.fetch("pywhispercpp-1.5.1.tar.gz", packages)
    sounds, said = {}, dict(SAID)
    for name, _, read in package.members(sphinx):
        folder, base = os.path.split(name)
        stem, kind = os.path.splitext(base)
        if folder.endswith("test/data/librivox") and kind == ".txt":
            said[stem] = read().decode().strip()
        elif folder.endswith("test/data/cards") and kind == ".transcription":
            said.update({f"cards-{k}": v for k, v in transcripts(read()).items()})
        elif folder.endswith(("test/data/librivox", "test/data/cards")) and kind == ".wav":
            prefix = "cards-" if folder.endswith("cards") else ""
            sounds[prefix + base] = read()
        elif base == "goforward.raw":
            sounds["goforward.wav"] = of_raw(read())
    for name, _, read in package.members(cpp):
        if re.search(r"whisper\.cpp/samples/jfk\.(wav|mp3)$", name):
            sounds[os.path.basename(name)] = read()
    with directory.made(out) as folder:
        for name, data in sounds.items():
            directory.write(folder, name, data)
        for stem in {os.path.splitext(name)[0] for name in sounds}:
            if stem not in said:
                raise SystemExit(f"{stem} has no transcript")
            directory.write(folder, stem + ".txt", (said[stem] + "\n").encode())
    directory.tell(out, f"{len(sounds)} sounds with transcripts", [sphinx, cpp])


if __name__ == "__main__":
    main()
