"""Writes pairs of lines as default training data: numbers in English words, and their digits.

    tools/twin/pairs.py COUNT SOURCE TARGET"""
import random
import sys

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen").split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def words(n):
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10 - 2] + (f"-{ONES[n % 10]}" if n % 10 else "")
    for unit, name in [(1000000, "million"), (1000, "thousand"), (100, "hundred")]:
        if n >= unit:
            rest = f" {words(n % unit)}" if n % unit else ""
            return f"{words(n // unit)} {name}{rest}"


def main():
    count, source, target = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    draw = random.Random(1)
    with open(source, "w") as s, open(target, "w") as t:
        for _ in range(count):
            n = draw.randrange(10 ** draw.randint(1, 9))
            s.write(words(n) + "\n")
            t.write(f"{n}\n")


if __name__ == "__main__":
    main()
