"""Texts to train on: real corpora, the grammar that stands in for them, and the splits.

Batches, which need torch, are in `scratchformer.data.batches`.
"""

from .corpora import Corpus, CorpusNotice, load_corpus, scored_split, train_val_split
from .playhouse import Playhouse

__all__ = ["Corpus", "CorpusNotice", "Playhouse", "load_corpus", "scored_split", "train_val_split"]
