"""What writing first does for SmolLM2 on sums of two-digit numbers -> real_thinking.json.

Usage: python -m lab.real_thinking [--quick | --write]

Needs the model. It runs in bfloat16. Each way to ask has two prompts, without examples and with
three; the better one of 40 sums is used for 100 others. After its steps the model is given the
words `So 47 + 38 =`, and the number that follows is its answer; at once, it is given `47 + 38 =`.

tried    way -> prompt -> how many of the 40 are right
held     way -> of 100 others: right with the likeliest tokens, by a vote of 16 samples, the mean
         of single samples, and the Wilson interval of the first two; `given steps` writes right
         steps in front of the model's answer, `another sum's steps` those of the next question
shown    some questions with the steps that the model wrote
"""

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from lab import runs
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE

TUNED_ON, HELD, SAMPLES, TEMPERATURE = 40, 100, 16, 0.7
ASKED, STEP_TOKENS, ANSWER_TOKENS = "What is {} + {}?", 44, 5
EXAMPLES = [(23, 45), (68, 57), (34, 19)]
SETTINGS = runs.settings_of(
    globals(), "TUNED_ON HELD SAMPLES TEMPERATURE ASKED STEP_TOKENS ANSWER_TOKENS EXAMPLES"
)
Sum = tuple[int, int]


def steps_of(a: int, b: int) -> str:
    """Right steps for a sum."""
    tens, units = a // 10 * 10 + b // 10 * 10, a % 10 + b % 10
    return (
        f"{a // 10 * 10} + {b // 10 * 10} = {tens}, {a % 10} + {b % 10} = {units}, "
        f"{tens} + {units} = {a + b}."
    )


class Asked:
    """The model, and what it is asked."""

    def __init__(self) -> None:
        self.model = Llama.pretrained("smollm2-135m-instruct").bfloat16()
        self.tokenizer = ByteBPE.pretrained("smollm2-135m-instruct")
        marks = ("<|im_start|>", "<|im_end|>")
        self.begin, self.end = (self.tokenizer.special_tokens[mark] for mark in marks)

    def turn(self, question: str, answer: str) -> list[int]:
        """A question, and the beginning of the answer."""
        encode = self.tokenizer.encode
        user = [self.begin, *encode(f"user\n{question}"), self.end, *encode("\n")]
        return [*user, self.begin, *encode(f"assistant\n{answer}")]

    def prompt(self, sum_: Sum, way: str, shots: bool) -> list[int]:
        """Examples, if there are any, and a question without its answer."""
        ids: list[int] = []
        for a, b in EXAMPLES if shots else []:
            text = f"{a} + {b} = {a + b}."
            if way == "steps":
                text = f"{steps_of(a, b)} So {text}"
            ids += [*self.turn(ASKED.format(a, b), text), self.end, *self.tokenizer.encode("\n")]
        think = " Think step by step." if way == "steps" and not shots else ""
        return ids + self.turn(ASKED.format(*sum_) + think, "")

    @torch.no_grad()
    def continued(self, rows: Sequence[list[int]], n: int, seed: int | None) -> list[list[int]]:
        """n tokens more for each row; rows of equal length run together."""
        by_length, out = defaultdict(list), [[0]] * len(rows)
        for i, row in enumerate(rows):
            by_length[len(row)].append(i)
        generator = torch.Generator().manual_seed(seed or 0)
        for at in by_length.values():
            x, cache = self.begun([rows[i] for i in at])
            new = []
            for _ in range(n):
                logits = self.model(x, cache)[:, -1].float()
                x = logits.argmax(dim=-1, keepdim=True)
                if seed is not None:
                    p = (logits / TEMPERATURE).softmax(dim=-1)
                    x = torch.multinomial(p, 1, generator=generator)
                new.append(x)
            for i, tokens in zip(at, torch.cat(new, dim=1).tolist(), strict=True):
                out[i] = tokens
        return out

    def begun(self, rows: list[list[int]]) -> tuple[torch.Tensor, list]:
        """What is left to read of rows of equal length, and a cache of what they share."""
        differs = [len({*column}) > 1 for column in zip(*rows, strict=True)]
        shared = [*differs[:-1], True].index(True)
        one, every = self.model.new_cache(), self.model.new_cache()
        self.model(torch.tensor([rows[0][:shared]]), one)
        for kept, cache in zip(one, every, strict=True):
            cache.append(*(part.expand(len(rows), -1, -1, -1) for part in (kept.k, kept.v)))
        return torch.tensor([row[shared:] for row in rows]), every

    def steps(self, sums: Sequence[Sum], shots: bool, seed: int | None) -> list[str]:
        """What it writes first: up to its end, or to the words that ask for the answer."""
        rows = [self.prompt(sum_, "steps", shots) for sum_ in sums]
        texts = []
        for tokens in self.continued(rows, STEP_TOKENS, seed):
            tokens = tokens[: tokens.index(self.end)] if self.end in tokens else tokens
            text = self.tokenizer.decode(tokens)
            texts.append(text.split(" So ")[0] if shots else text)
        return texts

    def answers(
        self, sums: Sequence[Sum], texts: Sequence[str], way: str, shots: bool, seed: int | None
    ) -> list[int]:
        """The numbers after `47 + 38 =`, behind what was written first."""
        rows = []
        for (a, b), text in zip(sums, texts, strict=True):
            lead = f"{text} So {a} + {b} =" if text else f"{a} + {b} ="
            rows.append(self.prompt((a, b), way, shots) + self.tokenizer.encode(lead))
        said = map(self.tokenizer.decode, self.continued(rows, ANSWER_TOKENS, seed))
        return [int(m.group()) if (m := re.match(r"\s*\d+", text)) else -1 for text in said]

    def asked(self, sums: Sequence[Sum], way: str, shots: bool, seed: int | None) -> list[int]:
        first = self.steps(sums, shots, seed) if way == "steps" else [""] * len(sums)
        return self.answers(sums, first, way, shots, seed)


def interval(right: int, n: int) -> list[float]:
    """Wilson's, of 95 %."""
    z, p = 1.96, right / n
    middle, half = p + z * z / 2 / n, z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return [round((middle + sign * half) / (1 + z * z / n), 3) for sign in (-1, 1)]


def count(answers: Sequence[int], sums: Sequence[Sum]) -> int:
    return sum(answer == a + b for answer, (a, b) in zip(answers, sums, strict=True))


def held_out(asked: Asked, sums: Sequence[Sum], way: str, shots: bool, samples: int) -> dict:
    likeliest = count(asked.asked(sums, way, shots, None), sums)
    drawn = [asked.asked(sums, way, shots, seed + 1) for seed in range(samples)]
    votes = [max(row, key=row.count) for row in zip(*drawn, strict=True)]
    single = sum(count(row, sums) for row in drawn) / samples
    found: dict[str, Any] = {"right": likeliest, "vote": count(votes, sums)}
    found |= {"single": round(single, 2)}
    each = zip(sums, zip(*drawn, strict=True), strict=True)
    found |= {"any": sum(a + b in row for (a, b), row in each)}
    return found | {f"{k}_interval": interval(found[k], len(sums)) for k in ("right", "vote")}


def measure(options: argparse.Namespace) -> dict:
    torch.set_num_threads(1)
    asked, few = Asked(), 10 if options.quick else 1
    generator = torch.Generator().manual_seed(0)
    every = torch.randperm(90 * 90, generator=generator)[: TUNED_ON + HELD].tolist()
    sums = [(10 + i // 90, 10 + i % 90) for i in every]
    tuned, held = sums[: TUNED_ON // few], sums[TUNED_ON : TUNED_ON + HELD // few]
    tried: dict[str, dict] = {"at once": {}, "steps": {}}
    for way, own in tried.items():
        for shots in (False, True):
            name = "three examples" if shots else "no example"
            own[name] = count(asked.asked(tuned, way, shots, None), tuned)
    print(tried, flush=True)
    result: dict[str, Any] = {}
    for way, own in tried.items():
        shots = own["three examples"] >= own["no example"]
        result[way] = {"examples": shots}
        result[way] |= held_out(asked, held, way, shots, 2 if options.quick else SAMPLES)
        result[way]["other prompt"] = count(asked.asked(held, way, not shots, None), held)
        print(way, result[way], flush=True)
    shots = result["steps"]["examples"]
    own_steps = asked.steps(held, shots, None)
    lent = {
        "given steps": [steps_of(*sum_) for sum_ in held],
        "another sum's steps": own_steps[1:] + own_steps[:1],
    }
    for name, texts in lent.items():
        right = count(asked.answers(held, texts, "steps", shots, None), held)
        result[name] = {"right": right, "right_interval": interval(right, len(held))}
    shown = [[*sum_, text.strip()] for sum_, text in zip(held[:6], own_steps, strict=False)]
    return {"tried": tried, "held": result, "shown": shown}


main = runs.script(__doc__, "real_thinking", measure, SETTINGS)


if __name__ == "__main__":
    main()
