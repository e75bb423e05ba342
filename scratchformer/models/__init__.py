"""Language models: each maps the tokens so far to a distribution over the next one."""

from scratchformer.models.bert import BERT, BERTConfig
from scratchformer.models.bigram import Bigram
from scratchformer.models.gpt import GPT, GPTConfig
from scratchformer.models.llama import Llama, LlamaConfig
from scratchformer.models.ngram import KneserNey
from scratchformer.models.seq2seq import Seq2Seq, Seq2SeqConfig

__all__ = [
    "BERT",
    "GPT",
    "BERTConfig",
    "Bigram",
    "GPTConfig",
    "KneserNey",
    "Llama",
    "LlamaConfig",
    "Seq2Seq",
    "Seq2SeqConfig",
]
