"""Converts tiktoken's list of bytes and ranks to byte-level BPE in the format of GPT-2."""


def byte_letters():
    """Returns {byte: the character that represents it}."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def halves(token, ranks):
    """The two parts of the last merge that makes the token. None for a single byte, or if no merges make the token."""
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 60))
        if parts[best] + parts[best + 1] not in ranks:
            return None
        parts[best:best + 2] = [parts[best] + parts[best + 1]]
    return parts if len(parts) == 2 else None


def of_ranks(ranks):
    """The vocabulary and the merges, in these characters."""
    letters = byte_letters()
    spell = {t: "".join(letters[b] for b in t) for t in ranks}
    merges = filter(None, (halves(t, ranks) for t in sorted(ranks, key=ranks.get)))
    return {spell[t]: r for t, r in ranks.items()}, [(spell[a], spell[b]) for a, b in merges]
