"""How the mutants are written down: worked answers, and wrong ones with their diagnosis."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    check: str  # "bpe.merge_pair"
    description: str  # one line: what the learner got wrong
    diagnosis: str  # a fragment of the message meant for it
    function: Callable


SOLUTIONS: dict[str, list[Callable]] = {}
MUTANTS: list[Mutant] = []
GIVEN: dict[str, tuple] = {}  # what some checks take after the function


def solution(check: str) -> Callable:
    def keep(function: Callable) -> Callable:
        SOLUTIONS.setdefault(check, []).append(function)
        return function

    return keep


def mutant(check: str, description: str, diagnosis: str) -> Callable:
    def keep(function: Callable) -> Callable:
        MUTANTS.append(Mutant(check, description, diagnosis, function))
        return function

    return keep
