"""Which of the texts and tokenizers that the stored outputs come from are missing here."""

import warnings
from functools import lru_cache
from pathlib import Path

from scratchformer.data import load_corpus
from scratchformer.data.corpora import CORPORA
from scratchformer.data.real_model import MODELS, find_real_model
from scratchformer.tokenizers import ByteBPE


def real_model_is_missing(notebook: Path) -> str:
    """Why a model that the notebook names is not at hand; empty if all are, or if it names none.

    Nothing stands in for a model, and nothing is fetched.
    """
    text = notebook.read_text(encoding="utf-8")
    return "; ".join(filter(None, (_why_not(name) for name in MODELS if name in text)))


@lru_cache
def _why_not(name: str) -> str:
    try:
        find_real_model(name, download=False)
    except OSError as error:
        return str(error)
    return ""


def missing() -> list[str]:
    """Their titles; chapters run on stand-ins in their place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        titles = [source.title for name, source in CORPORA.items() if not load_corpus(name).is_real]
    try:
        ByteBPE.from_tiktoken("gpt2")
    except OSError:
        titles.append("GPT-2's tokenizer")
    return titles
