#!/usr/bin/env python3
"""Writes tests/golden/score.txt for tests/test_bleu_chrf.c: BLEU and chrF of small corpora by sacrebleu, ROUGE-L by
rouge-score. tools/parity_score.py imports the corpora and the random generator.

    build/peers/bin/python tools/goldens/score.py > tests/golden/score.txt

A corpus is a line `corpus NAME PAIRS BLEU CHRF ROUGE-L`, then for each pair a line for the hypothesis and a line for the
reference. A backslash, a newline and a carriage return are escaped as in C."""
import random

PLAIN = [
    ("The cat sat on the mat.", "The cat sat on the mat."),
    ("A dog barked at the moon, loudly.", "The dog was barking loudly at the moon."),
    ("He paid 1,234.50 euros on 12-03-2021 (in cash).", "He paid 1,234.50 Euro in cash on 12-03-2021."),
    ("Das ist „gut“ – sehr gut!", "Das ist »gut«, sehr gut!"),
]

ODD = {
    "equal": [("Das Haus ist blau .", "Das Haus ist blau ."), ("Ja, das ist es.", "Ja, das ist es.")],
    "plain": PLAIN,
    "short": [("Ja.", "Ja."), ("Nein", "Nein!")],
    "one character": [("a", "a"), ("b", "c")],
    "nothing shared": [("xyz", "abc def ghi jkl"), ("qqq www", "one two three four")],
    "empty hypothesis": [("", "This is a test of empty lines."), ("This is another one here.", "This is another one.")],
    "empty reference": [("Something is here today, is it?", ""), ("The same words are here.", "The same words are there.")],
    "all empty": [("", ""), ("  ", "\t")],
    "no smoothing needed at four": [("a b c d", "a b x c d y a b c")],
    "smoothed": [("the the the the the cat", "the cat is on a mat"), ("one two", "two one")],
    "repeated words": [("the the the the the the the", "the cat the mat the"), ("a a a a", "a a")],
    "punctuation only": [("?!., ;: -- ...", "?! ., ;: --- ..."), ("(((", ")))")],
    "periods and digits": [("3.14 1,000 .5 5. v1.2.3, a.b,c", "3.14, 1,000 0.5 5 . v1.2.3 a.b , c"),
                           ("9-5 x-y 10--20 -3", "9 - 5 x-y 10 -- 20 - 3"), (",.,. 1.,2 ..1", ",., 1.,2 .1")],
    "markup": [("a &amp; b &lt;c&gt; &quot;d&quot; <skipped> &amp;lt;", "a & b <c> \"d\" &lt;"),
               ("x<skipped>y", "xy"), ("&amp;amp;quot;", "&quot;")],
    "Chinese and Japanese": [("我喜欢猫。", "我很喜欢猫。"), ("これはペンです。", "それはペンです。"), ("你好 世界", "你好世界")],
    "emoji": [("I ❤️ you 👩‍👩‍👧‍👦!", "I ❤️ 👩‍👩‍👧‍👦 you!"), ("👍🏽👍", "👍👍🏽")],
    "white space": [("a\tb\u00a0c\u2003d\u3000e f", "a b c d e f"), (" x  y \x1c z\x85", "x y z"), ("a\u200bb", "ab")],
    "line ends": [("broken-\nword and\nmore\n", "brokenword and more"), ("a\r\nb c d", "a b c d")],
    "decomposed": [("Mu\u0308nchen ist scho\u0308n.", "München ist schön."), ("e\u0301e\u0301", "éé")],
    "case": [("DAS IST EIN TEST", "das ist ein test"), ("Das ist ein Test", "das ist ein Test")],
    "subsequences": [("a b c a b b a", "c b a b a c"), ("x1 X2 x-3 the The THE", "the x3 x2 x-3 X1 the"),
                     ("\u212aelvin \u0130stanbul I\u0307s", "kelvin i stanbul is"), ("k\u212a ſ", "kk s")],
    "more than 64 words": [(" ".join(f"w{i * i % 97}" for i in range(150)), " ".join(f"w{i * 7 % 83}" for i in range(200))),
                           ("a b " * 70, "b a a " * 60), ("a " * 64 + "z", "a " * 64), ("a " * 65, "z " + "a " * 128)],
    "brackets": [("[a] {b} (c) <d> ~e~ `f` ^g^ _h_ |i| \\j\\", "[ a ] {b} ( c ) <d> ~ e ~ `f` ^g ^ _h_ | i | \\ j \\"),
                 ("it's don't o'clock", "it 's don ' t o'clock"), ("a/b/c @x #y $z %w *v +u =t", "a / b / c @ x # y $z % w *v + u = t")],
}


def scores(pairs):
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import BLEU, CHRF
    hypotheses, references = [p[0] for p in pairs], [[p[1] for p in pairs]]
    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    rouge = [scorer.score(r, h)["rougeL"].fmeasure for h, r in pairs]
    return BLEU(force=True).corpus_score(hypotheses, references).score, \
        CHRF().corpus_score(hypotheses, references).score, 100 * sum(rouge) / len(rouge)


_PIECES = ("a b the cat Haus ist . , ! ? - -- ... 1 23 4.5 1,000 9- ' \" & &amp; &lt; <skipped> ( ) [ ] / \\ ~ ä ß € 猫 。 "
           "👍🏽 e\u0301 \u00a0 \u3000 \t _ ` ^ | { } @ # $ % * + = : ; \x1f \x85 \u2028").split(" ") + [" ", "  ", ""]


def random_corpus(rng, newlines=False):
    """Random pairs with many, few or no common words, of every length including empty."""
    pieces = _PIECES + (["\n", "-\n", "\r"] if newlines else [])

    def text(length):
        return "".join(rng.choice(pieces) + rng.choice(("", " ", " ")) for _ in range(length))

    pairs = []
    for _ in range(rng.randint(1, 12)):
        reference = text(rng.choice((0, 1, 2, 5, 12, 40)))
        kind = rng.random()
        if kind < 0.2:
            hypothesis = reference
        elif kind < 0.7:
            hypothesis = "".join(c if rng.random() > 0.15 else rng.choice(pieces) for c in reference)
        else:
            hypothesis = text(rng.choice((0, 1, 3, 10)))
        pairs.append((hypothesis, reference))
    return pairs


def _escape(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def main():
    rng = random.Random(13)
    corpora = dict(ODD)
    for i in range(20):
        corpora[f"random {i}"] = random_corpus(rng, newlines=True)
    for name, pairs in corpora.items():
        bleu, chrf, rouge = scores(pairs)
        print(f"corpus {name.replace(' ', '_')} {len(pairs)} {bleu!r} {chrf!r} {rouge!r}")
        for pair in pairs:
            print(_escape(pair[0]))
            print(_escape(pair[1]))


if __name__ == "__main__":
    main()
