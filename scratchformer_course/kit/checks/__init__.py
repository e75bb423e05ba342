"""Instant checks for the exercises: `checks.bpe.merge_pair(merge_pair)` returns a `Verdict`.

One module a chapter, one class block an exercise. A chapter's module is imported when first used,
so chapter 1 does not wait for torch.
"""

from importlib import import_module
from types import ModuleType

from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import Verdict, Wrong, expect

CHAPTERS = (
    "primer",
    "bpe",
    "embeddings",
    "positions",
    "first_network",
    "averaging",
    "self_attention",
    "multi_head",
    "rotary",
    "block",
    "bigram_to_gpt",
    "training",
    "generation",
    "bert",
    "encoder_decoder",
    "costs",
    "scaling",
    "speedrun",
    "gpt2",
)
__all__ = ["CHAPTERS", "Verdict", "Wrong", "exercise", "expect"]


def __getattr__(name: str) -> ModuleType:
    if name in CHAPTERS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"no checks called {name!r}: there are {', '.join(CHAPTERS)}")
