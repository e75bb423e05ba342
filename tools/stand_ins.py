"""Which of the texts and tokenizers that the stored outputs come from are missing here."""

import warnings

from scratchformer.data import load_corpus
from scratchformer.data.corpora import CORPORA
from scratchformer.data.real_model import find_real_model
from scratchformer.tokenizers import ByteBPE


def real_model_is_missing() -> str:
    """Why SmolLM2 is not at hand; empty if it is. Nothing stands in for it, nothing is fetched."""
    try:
        find_real_model(download=False)
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
