"""Which of the texts and tokenizers that the stored outputs come from are missing here."""

import warnings

from scratchformer.data import load_corpus
from scratchformer.data.corpora import CORPORA
from scratchformer.tokenizers import ByteBPE


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
