"""Language models: each maps the tokens so far to a distribution over the next one."""

from scratchformer.models.bigram import Bigram
from scratchformer.models.gpt import GPT, GPTConfig
from scratchformer.models.ngram import KneserNey

__all__ = ["GPT", "Bigram", "GPTConfig", "KneserNey"]
