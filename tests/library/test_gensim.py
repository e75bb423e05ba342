"""The library that chapter 02 compares its word vectors with."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_chapter_2s_word_vectors_are_the_same_in_every_process():
    pytest.importorskip("gensim")
    program = (
        "import hashlib; from gensim.models import Word2Vec\n"
        "texts = [f'the {c} king {d} sat'.split() for c in 'abcdef' for d in 'uvwxyz'] * 9\n"
        "wv = Word2Vec(texts, vector_size=8, min_count=1, sg=1, seed=1, workers=1).wv\n"
        "print(hashlib.sha256(wv.vectors.tobytes()).hexdigest(), wv.index_to_key)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},  # the order of Python's sets
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
