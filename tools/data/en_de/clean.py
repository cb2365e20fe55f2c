"""Decides which pairs are good enough for training, and which texts count as the same."""
import re
import unicodedata

MOST_WORDS, MOST_CHARACTERS = 60, 420

_GERMAN = frozenset("""
der die das den dem des ein eine einen einem einer eines und oder nicht ist sind war wird werden wurde wurden
kann können muss müssen soll sollte sie er wir ihr ihre ihren ihrer ich du mit von zu zum zur auf für aus bei
beim nach über unter vor durch ohne um wenn dass als auch nur noch sich diese dieser dieses diesen diesem
kein keine keinen wie sehr hier haben hat hatte es im am vom bitte mehr alle aller wurde dieser
""".split())
_ENGLISH = frozenset("""
the of and or not is are be been being to for from with by on at this that these those it its you your he she
they we will can could should would must if when which who have has had do does no as but than more all there
their his her our please into out about what how an
""".split())
# Words that both languages use.
_GERMAN_ONLY = _GERMAN - {"die", "war", "am", "hat", "er", "des", "den", "also"}
_ENGLISH_ONLY = _ENGLISH - {"in", "an", "so", "will", "her", "out", "was", "no", "all", "do", "has"}

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
# Pieces that are not language: format codes, variables, options, paths, addresses, identifiers.
_CODE = re.compile(r"""
    %[-+ #0-9.*$]*(?:hh|h|ll|l|j|z|q|t|L)?[a-zA-Z%]   # printf
  | %\d | %\([^)]*\)\w? | \$\{?[\w.]+\}? | \{[^{}]*\} | \$\([^)]*\) | @\w+@?
  | </?\w[^<>]*> | \\[a-z0-9]+ | &\w+;
  | (?<![\w-])--?[A-Za-z0-9][\w-]* (?=[\s=,.;:)\]"“]|$)
  | \S*[/\\]\S*[/\\]\S* | \w+://\S+ | www\.\S+ | \S+@\S+\.\w+
  | \w+_\w\w* | \w+\(\)? \d?\)? (?<=\)) | \b[a-z]+[A-Z]\w* | \b\w+\.\w+\.\w[\w.]* | \w+::\w+
""", re.X)
_PRINTF = re.compile(r"%(?:\d+\$)?[-+ #0]*\d*(?:\.\d+|\.\*)?(?:hh|h|ll|l|j|z|q|t|L)?[diouxXeEfgGcspmS]\b|%\d\b|\{\w*\}")
_LETTERS_ODD = re.compile(r"[^\u0000-\u024f\u2000-\u22ff\u2500-\u25ff]")
_BAD = re.compile(r"[\x00-\x1f\ufffd|\u2500-\u25ff]|\.{4}|_{3}|={3}|-{3}|\*{2}|\\n|\\t|<<|>>|&#|\$\{|##|::|->|=>|< ?/|/ ?>")


def words(text):
    return _WORD.findall(text.lower())


def number_bag(text):
    return sorted(_NUMBER.findall(re.sub(r"(?<=\d)[.,](?=\d{3}\b)", "", text)))


def _balanced(text):
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


def why_not(en, de):
    """Returns None for a good pair, otherwise the reason why it is bad."""
    a, b = en.split(), de.split()
    if not a or not b:
        return "empty"
    if len(a) > MOST_WORDS or len(b) > MOST_WORDS or max(len(en), len(de)) > MOST_CHARACTERS:
        return "long"
    if en == de or en.lower() == de.lower():
        return "same"
    if _BAD.search(en) or _BAD.search(de) or _LETTERS_ODD.search(en) or _LETTERS_ODD.search(de):
        return "odd characters"
    la, lb = len(en), len(de)
    slack = 12 if max(la, lb) < 60 else 0
    if la > 2.0 * lb + slack or lb > 2.3 * la + slack:
        return "ratio"
    if len(a) > 2.2 * len(b) + 3 or len(b) > 2.0 * len(a) + 3:
        return "ratio"
    we, wd = words(en), words(de)
    if not we or not wd or max(map(len, we)) < 2 or max(map(len, wd)) < 2:
        return "no words"
    for text in (en, de):
        letters = sum(c.isalpha() or c == " " for c in text)
        if letters < 0.78 * len(text) - 2:
            return "no words"
        code = sum(len(m) for m in _CODE.findall(text))
        if code > 0.25 * len(text):
            return "code"
        if max(map(len, text.split())) > 42 or not _balanced(text):
            return "broken"
    if number_bag(en) != number_bag(de):
        return "numbers"
    if sorted(_PRINTF.findall(en)) != sorted(_PRINTF.findall(de)):
        return "placeholders"
    return _wrong_language(we, wd, en)


def _wrong_language(we, wd, en):
    english_en = sum(w in _ENGLISH_ONLY for w in we)
    german_en = sum(w in _GERMAN_ONLY for w in we)
    english_de = sum(w in _ENGLISH_ONLY for w in wd)
    german_de = sum(w in _GERMAN_ONLY for w in wd)
    if german_en > english_en or (german_en and re.search("[äöüß]", en.lower())):
        return "language"
    if english_de and english_de >= german_de:
        return "language"
    if len(wd) >= 12 and german_de == 0 or len(we) >= 14 and english_en == 0:
        return "language"
    if len(wd) >= 3:
        shared = sum(w in set(we) for w in wd)
        if shared > 0.6 * len(wd):
            return "language"
    return None


def key(text):
    """Two texts with the same key count as the same: case, punctuation, accents and digits are ignored."""
    text = unicodedata.normalize("NFKD", text.lower())
    text = re.sub(r"\d+", "0", "".join(c for c in text if not unicodedata.combining(c)))
    return " ".join(re.findall(r"[^\W_]+", text))


def same_case(en, de):
    """Makes the German sentence begin with a capital letter if the English one does."""
    first = de.split(" ", 1)[0]
    if en[:1].isupper() and de[:1].islower() and de[-1:] in ".!?" and first.isalpha() and first not in en.split():
        return de[0].upper() + de[1:]
    return de


def is_sentence(text):
    return len(text.split()) >= 4 and text[-1:] in ".!?" and text[:1].isupper()
