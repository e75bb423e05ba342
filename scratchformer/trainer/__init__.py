"""A GPT that learns in the page: a trainer in JavaScript, and the race around it."""

from scratchformer.trainer.view import race

__all__ = ["race"]
