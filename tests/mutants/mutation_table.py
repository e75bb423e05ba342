"""Writes book/exercise_checks.md: exercise × wrong answer × verdict.

Run `python tests/mutants/mutation_table.py` after changing a check or a mutant.
"""

import importlib
from pathlib import Path

from mutation import GIVEN, MUTANTS

from scratchformer import checks
from scratchformer.checks import Verdict

COMMAND = "python tests/mutants/mutation_table.py"
PAGE = Path(__file__).parents[2] / "book" / "exercise_checks.md"
CHAPTERS = {  # the module of checks -> the module of mutants here, and a heading
    "bpe": ("ch01", "Chapter 1"),
    "embeddings": ("ch02", "Chapter 2"),
    "positions": ("ch03", "Chapter 3"),
    "averaging": ("ch04", "Chapter 4"),
    "self_attention": ("ch05", "Chapter 5"),
    "multi_head": ("ch06", "Chapter 6"),
    "block": ("ch07", "Chapter 7"),
    "bigram_to_gpt": ("ch08", "Chapter 8"),
    "training": ("ch09", "Chapter 9"),
    "bert": ("ch11", "Chapter 11"),
    "generation": ("ch10", "Chapter 10"),
    "encoder_decoder": ("ch12", "Chapter 12"),
    "scaling": ("ch13", "Chapter 13"),
    "speedrun": ("ch14", "Chapter 14"),
    "gpt2": ("ch17", "Chapter 17"),
}
for module, _ in CHAPTERS.values():
    importlib.import_module(module)


def verdict(check: str, function: object, **options) -> Verdict:
    chapter, name = check.split(".")
    return getattr(getattr(checks, chapter), name)(function, *GIVEN.get(check, ()), **options)


def page() -> str:
    lines = [
        "# Wrong answers the exercises know",
        "",
        "Each exercise is checked on the spot, and each check is itself tested with the wrong "
        f"answers below: all {len(MUTANTS)} must be refused, each with the words meant for it, and "
        "several differently written right answers must pass. Beyond these, every check is tried "
        "with an unfilled stub, a missing `return`, wrong types, exceptions, NaN, arguments "
        "changed in place and loops that never end.",
    ]
    for chapter, (_, title) in CHAPTERS.items():
        lines += ["", f"## {title}", "", "| Exercise | Wrong answer | Verdict |", "|---|---|---|"]
        rows = []
        for mutant in MUTANTS:
            if mutant.check.startswith(f"{chapter}."):
                answer = verdict(mutant.check, mutant.function)
                name = mutant.check.split(".")[1]
                # The second line of a message may hold line numbers: it is left out.
                cells = (
                    f"{answer.exercise} `{name}`",
                    mutant.description,
                    f"**{answer.state}:** {answer.message.splitlines()[0]}",
                )
                rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += sorted(rows, key=lambda row: row.split()[1])  # by exercise, else as written
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(MUTANTS)} wrong answers")
