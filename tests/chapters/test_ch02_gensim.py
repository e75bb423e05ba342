"""Chapter 02's vectors beside gensim's: one method, text and settings, by other people's code."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from scratchformer.data import load_corpus
from scratchformer_course.ch02_embeddings.questions import LISTS

word2vec = pytest.importorskip("gensim.models.word2vec", reason="gensim is not installed")
NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "02_embeddings.ipynb"


def share_right(vectors):
    """How often a word is nearer to one of its own list than to another's."""
    words = [word for line in LISTS.values() for word in line.split()]
    unit = F.normalize(torch.stack([torch.tensor(vectors[word]) for word in words]), dim=1)
    lists, wins = torch.arange(len(words)) // 6, []
    for a, similar in enumerate(unit @ unit.T):
        kin = (lists == lists[a]) & (torch.arange(len(words)) != a)
        wins.append(similar[kin][:, None] > similar[lists != lists[a]])
    return torch.stack(wins).float().mean().item()


def test_gensim_answers_as_many_of_the_pages_questions():
    corpus = load_corpus("tinyshakespeare")
    if not corpus.is_real:
        pytest.skip("Tiny Shakespeare is not at hand")
    lower = re.compile(r"(?<!')\b[a-z]+(?:'[a-z]+)?")
    speeches = [lower.findall(part) for part in corpus.text.split("\n\n")]
    common = Counter(word for speech in speeches for word in speech).most_common()[60:]
    known = {word for word, n in common if n >= 12}
    sentences = [[word for word in speech if word in known] for speech in speeches]
    settings = {"vector_size": 32, "window": 5, "shrink_windows": False, "sg": 1, "negative": 5}
    settings |= {"ns_exponent": 0.75, "sample": 0, "alpha": 0.05, "min_count": 1, "epochs": 5}
    theirs = share_right(word2vec.Word2Vec(sentences, **settings, seed=1, workers=1).wv)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    printed = "".join(str(output.get("text", "")) for c in cells for output in c.get("outputs", []))
    (ours,) = re.findall(r"as written +(\d+)% right", printed)
    assert abs(theirs - int(ours) / 100) < 0.04
