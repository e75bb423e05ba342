"""Language models: each maps the tokens so far to a distribution over the next one."""

from scratchformer.models.bert import BERT, BERTConfig
from scratchformer.models.bigram import Bigram
from scratchformer.models.gpt import GPT, GPTConfig
from scratchformer.models.ngram import KneserNey
from scratchformer.models.seq2seq import Seq2Seq, Seq2SeqConfig
from scratchformer.models.shipped_checkpoints import load_checkpoints
from scratchformer.models.speedrun import SpeedrunConfig, SpeedrunGPT

# The models that `scratchformer train` knows: `type` in a configuration file's [model] -> classes
MODEL_TYPES = {"gpt": (GPT, GPTConfig), "speedrun": (SpeedrunGPT, SpeedrunConfig)}

__all__ = [
    "BERT",
    "GPT",
    "MODEL_TYPES",
    "BERTConfig",
    "Bigram",
    "GPTConfig",
    "KneserNey",
    "Seq2Seq",
    "Seq2SeqConfig",
    "SpeedrunConfig",
    "SpeedrunGPT",
    "load_checkpoints",
]
