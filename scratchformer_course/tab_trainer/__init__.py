"""A GPT that learns in the page: a trainer in JavaScript, and the race around it."""

from scratchformer_course.tab_trainer.race import race

__all__ = ["race"]
