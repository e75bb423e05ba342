"""Tokenizers and a cache beside their peers, in the same run -> measurements/table.json.

Usage: python -m lab.table [--quick | --write]

bpe               4,000 merges are learned on Tiny Shakespeare, and all of it is encoded. The fast
                  trainers take turns, seven rounds; the textbook's loop, three to ten minutes, runs
                  once
generation_speed  a model of 10.8 M random weights, on which time does not depend, fills a context
                  of 256 from one token, with a cache and without
"""

import argparse
import importlib.metadata
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import islice, pairwise

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch is imported

import torch

from lab import runs
from lab.runs import in_turns, row, seconds
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import ByteBPE, WordBPE
from scratchformer.training import eval_mode

PACKAGES = ("tokenizers", "tiktoken")
MERGES, ROUNDS = 4_000, 7
CONFIG = GPTConfig(65, context_length=256, d_model=384, n_heads=6, n_layers=6)
SETTINGS = {"bpe": {"merges": MERGES, "rounds": ROUNDS}, "generation_speed": asdict(CONFIG)}


def textbook_merges(words, counts):
    """The published loop (Sennrich et al. 2016): recount every pair in every word at every step.

    Yields the most frequent pair, the first seen among equals, as `learn_merges` does.
    """
    words = [list(word) for word in words]
    while True:
        pairs: dict[tuple, int] = {}
        for word, n in zip(words, counts, strict=True):
            for pair in pairwise(word):
                pairs[pair] = pairs.get(pair, 0) + n
        if not pairs:
            return
        best = max(pairs, key=pairs.__getitem__)
        for i, word in enumerate(words):
            new, j = [], 0
            while j < len(word):
                hit = tuple(word[j : j + 2]) == best
                new.append(best[0] + best[1] if hit else word[j])
                j += 2 if hit else 1
            words[i] = new
        yield best


def train_textbook(text: str, merges: int):
    """The textbook loop on words with an end-of-word mark."""
    table = Counter(text.split())
    words = [[*word, "</w>"] for word in table]
    return list(islice(textbook_merges(words, list(table.values())), merges))


def train_rust(text: str, pre_tokenizer, vocab_size: int, **options):
    """Hugging Face's trainer, written in Rust."""
    import tokenizers  # which the build of the site, where settings are read, can do without

    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    tok.pre_tokenizer = pre_tokenizer
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, **options)
    tok.train_from_iterator([text], trainer)
    return tok


def side_by_side(rounds: int, *jobs) -> list[list[float]]:
    """Seconds of each job, one figure a round; the jobs take turns."""
    clocks = {str(i): partial(seconds, job) for i, job in enumerate(jobs)}
    return list(in_turns(clocks, rounds, warm=0).values())


def bpe(quick: bool) -> list[dict]:
    """Training on words and on bytes, then encoding."""
    text = runs.load_text()
    merges, rounds = (100, 1) if quick else (MERGES, ROUNDS)
    once = "the reference runs once: it takes minutes."
    (ours,) = side_by_side(rounds, lambda: WordBPE.train(text, merges))
    textbook = [seconds(lambda: train_textbook(text, merges))]
    result = [row("`WordBPE.train`", "textbook recount", "s", ours, textbook, once)]
    result += rows_against_rust(text, merges, rounds)
    return [*result, row_against_tiktoken(text, ByteBPE.train(text, 256 + merges), rounds)]


def rows_against_rust(text: str, merges: int, rounds: int) -> list[dict]:
    """Training on words and on bytes, each beside Hugging Face's trainer."""
    from tokenizers.pre_tokenizers import ByteLevel, WhitespaceSplit

    symbols = len({*text}) + len({word[-1] for word in text.split()})
    our_words, rust_words = side_by_side(
        rounds,
        lambda: WordBPE.train(text, merges),
        lambda: train_rust(text, WhitespaceSplit(), symbols + merges, end_of_word_suffix="</w>"),
    )
    alphabet, pieces = ByteLevel.alphabet(), ByteLevel(add_prefix_space=False)
    our_bytes, rust_bytes = side_by_side(
        rounds,
        lambda: ByteBPE.train(text, 256 + merges),
        lambda: train_rust(text, pieces, 256 + merges, initial_alphabet=alphabet),
    )
    name = "Hugging Face `tokenizers` (Rust)"
    return [
        row("`WordBPE.train`", name, "s", our_words, rust_words),
        row("`ByteBPE.train`", name, "s", our_bytes, rust_bytes),
    ]


def row_against_tiktoken(text: str, tok: ByteBPE, rounds: int) -> dict:
    """Encoding `text`, by a tokenizer made anew in each round so that it has cached nothing."""
    rust = tok.to_tiktoken()
    fresh = [ByteBPE(tok.tokens) for _ in range(rounds)]
    ours, theirs = side_by_side(
        rounds, lambda: fresh.pop().encode(text), lambda: rust.encode_ordinary(text)
    )
    return row("`ByteBPE.encode`, nothing cached", "`tiktoken` (Rust)", "s", ours, theirs)


def generation_speed(quick: bool) -> list[dict]:
    """255 tokens after one."""
    torch.manual_seed(0)
    model, start = GPT(CONFIG), torch.randint(65, (1, 1))

    def written(use_cache: bool) -> float:
        n = CONFIG.context_length - 1
        return seconds(lambda: generate(model, start, n, seed=0, use_cache=use_cache))

    jobs = {"recomputed": lambda: written(False), "cached": lambda: written(True)}
    with eval_mode(model):
        clocks = in_turns(jobs, 1 if quick else 5, warm=0 if quick else 2)
    what, sides = "255 tokens after 1, cached", (clocks["cached"], clocks["recomputed"])
    return [row(what, "recomputed", "s", *sides)]


TOPICS: dict[str, Callable[[bool], list[dict]]] = {"bpe": bpe, "generation_speed": generation_speed}


def measure(options: argparse.Namespace) -> dict:
    """All topics, one after the other."""
    runs.load_text(write=options.write)  # in time, if it is not there
    torch.set_num_threads(os.cpu_count() or 1)
    topics = {}
    for name, rows in TOPICS.items():
        fewest = 1 if options.quick else runs.FEWEST
        ratios = [runs.with_ratio(row, fewest) for row in rows(options.quick)]
        topics[name] = {"threads": torch.get_num_threads(), "rows": ratios}
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"packages": versions, "topics": topics}


main = runs.script(__doc__, "table", measure, SETTINGS)


if __name__ == "__main__":
    main()
