"""Compares hecate with Transformers on the models that tools/recipes/… trained, on held-out texts.

MODELS: name → f(hecate, folder of the run, folder of its texts, table)."""
import json
import os
import tempfile

import torch
from transformers import AutoModelForQuestionAnswering, AutoModelForSequenceClassification, AutoTokenizer

from real_compare import Wrong, all_numbers, encoder_decoder
from answer_fill import answers  # noqa: E402

SCORES = 1e-4
LONGEST = 512  # the maximum number of tokens of MiniLM


def spread(found, count):
    return found[::max(1, len(found) // count)][:count]


def encoder_numbers(hecate, folder, model, given):
    """Compares `hecate forward` on the output of the tokenizer."""
    return all_numbers(hecate, folder, model,
                       [({"ids": g["input_ids"], "type_ids": g["token_type_ids"]},
                         {k: torch.tensor([g[k]]) for k in ("input_ids", "token_type_ids")}) for g in given])


def sentiment(hecate, folder, data, table):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()
    with open(os.path.join(data, "imdb", "test.tsv"), encoding="utf-8") as f:
        rows = spread([line.rstrip("\n").split("\t", 1) for line in f], 300)
    texts = [text for _, text in rows]
    encode = lambda text: tokenizer(text, truncation=True, max_length=LONGEST)

    def classify():
        got = hecate.json_lines("classify", "-m", folder, "--truncate", lines=texts)
        worst = right = 0
        for mine, (label, text) in zip(got, rows):
            given = {k: torch.tensor([v]) for k, v in encode(text).items()}
            with torch.no_grad():
                p = torch.softmax(model(**given).logits[0], -1).numpy()
            want = {model.config.id2label[i]: float(x) for i, x in enumerate(p)}
            if mine["all"].keys() != want.keys() or mine["label"] != max(want, key=want.get):
                raise Wrong(f"{text[:60]!r}: {mine} instead of {want}")
            worst = max(worst, *(abs(mine["all"][k] - want[k]) for k in want), abs(mine["score"] - max(want.values())))
            right += mine["label"] == label
        if worst > SCORES:
            raise Wrong(f"a score is off by {worst:.2g}")
        return f"labels of {len(rows)} reviews equal; {100 * right / len(rows):.1f} % of them right", f"{worst:.1e} (score)"
    table.check("sentiment", "forward", lambda: encoder_numbers(hecate, folder, model, [encode(x) for x in texts[:6]]))
    table.check("sentiment", "classify", classify)


def answer(hecate, folder, data, table):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForQuestionAnswering.from_pretrained(folder, attn_implementation="eager").eval()
    with open(os.path.join(data, "squad", "dev.json"), encoding="utf-8") as f:
        asked = [(" ".join(q["question"].split()), p["context"])
                 for a in json.load(f)["data"] for p in a["paragraphs"] for q in p["qas"]]
    # Include the longest contexts, which are read in windows.
    asked = spread(asked, 160) + sorted(asked, key=lambda x: -len(x[1]))[:8]

    def found():
        worst = several = 0
        for question, context in asked:
            with tempfile.NamedTemporaryFile("w", encoding="utf-8") as f:
                f.write(context)
                f.flush()
                got = json.loads(hecate("answer", "-m", folder, "--context", f.name, "--json", question))
            want, _, _ = answers(model.double(), tokenizer, question, context, 384, 128, 15, True, 2)
            first, *second = want["answers"]
            several += want["windows"] > 1
            if [got[k] for k in ("answer", "begin", "end")] != [first[k] for k in ("answer", "begin", "end")]:
                if not second or first["score"] - second[0]["score"] >= SCORES:
                    raise Wrong(f"{question!r}: {got} instead of {first}")
                continue
            worst = max(worst, abs(got["score"] - first["score"]))
        if worst > SCORES:
            raise Wrong(f"a score is off by {worst:.2g}")
        if not several:
            raise Wrong("no context was longer than a window")
        return f"{len(asked)} answers and their bytes equal, {several} of several windows", f"{worst:.1e} (score)"
    encode = lambda x: tokenizer(*x, truncation="only_second", max_length=384)
    table.check("answer", "forward", lambda: encoder_numbers(hecate, folder, model.float(), [encode(x) for x in asked[:6]]))
    table.check("answer", "answer", found)


def summary(hecate, folder, data, table):
    with open(os.path.join(data, "synopses", "test.src"), encoding="utf-8") as f:
        lines = spread([x for x in f.read().splitlines() if len(x) < 800], 100)
    encoder_decoder(hecate, folder, table, lines, 6, [17, 40, 300, 5], 40, f"synopses of {len(lines)} packages",
                    command="summarize")


MODELS = {"sentiment": sentiment, "answer": answer, "summary": summary}
