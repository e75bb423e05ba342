"""Learning 4,000 merges on Tiny Shakespeare, and encoding it: ours beside its peers, in one run.

Usage: python benchmarks/bpe.py [--quick]

The fast trainers take turns, seven rounds; the textbook's loop (three to ten minutes) and minbpe
(longer still, if it is installed) run once. `--quick` learns 100 merges only, in one round.
`table.py` says how a row is read.
"""

import importlib.util
import sys
import time
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

from scratchformer.data import load_corpus
from scratchformer.tokenizers import ByteBPE, WordBPE

MERGES, ROUNDS = 4_000, 7
PEERS = {"tokenizers": "Hugging Face", "minbpe": "minbpe"}
TITLE = "Byte pair encoding"
ABOUT = (
    f"Learning {MERGES:,} merges on Tiny Shakespeare, from words and from bytes, and encoding all "
    "of it with a tokenizer that has seen nothing yet. The references are the published loop, "
    "which counts every pair anew for each merge, Hugging Face's `tokenizers`, written in Rust, "
    "and `tiktoken`, also in Rust, with the same ranks. The course's side is plain Python, on one "
    "core; Hugging Face's trainer takes all it finds."
)


def textbook_merges(words, counts):
    """The published loop (Sennrich et al. 2016): recount every pair in every word at every step.

    Yields the most frequent pair, the first seen among equals, as `learn_merges` does.
    """
    words = [list(word) for word in words]
    while True:
        pairs = {}
        for word, n in zip(words, counts, strict=True):
            for pair in pairwise(word):
                pairs[pair] = pairs.get(pair, 0) + n
        if not pairs:
            return
        best = max(pairs, key=pairs.get)
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
    import tokenizers

    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    tok.pre_tokenizer = pre_tokenizer
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, **options)
    tok.train_from_iterator([text], trainer)
    return tok


def seconds(job) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def in_turn(rounds: int, *jobs) -> list[list[float]]:
    """Seconds of each job, one figure a round."""
    found = [[seconds(job) for job in jobs] for _ in range(rounds)]
    return [list(times) for times in zip(*found, strict=True)]


def row(what: str, reference: str, ours: list[float], theirs: list[float], note: str = "") -> dict:
    """A row of the table, in seconds."""
    return {"what": what, "reference": reference, "unit": "s", "better": "lower",
            "ours": ours, "theirs": theirs, "note": note}  # fmt: skip


def rows(quick: bool = False) -> list[dict]:
    """Training on words and on bytes, then encoding."""
    corpus = load_corpus("tinyshakespeare")
    text, merges, rounds = corpus.text, 100 if quick else MERGES, 1 if quick else ROUNDS
    print(f"corpus: {corpus.name}, {len(text):,} characters; {merges:,} merges", flush=True)
    have = {name for name in PEERS if importlib.util.find_spec(name)}
    for name in sorted(set(PEERS) - have):
        print(f"skipped: {PEERS[name]} (the package {name} is not installed)", flush=True)
    once = "the reference runs once: it takes minutes."

    def train_words():
        return WordBPE.train(text, merges)

    def train_bytes():
        return ByteBPE.train(text, 256 + merges)

    result = []
    tok = train_bytes()
    if "tokenizers" in have:
        from tokenizers import pre_tokenizers

        split, levels = pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel
        symbols = len({*text}) + len({word[-1] for word in text.split()})
        ours, theirs = in_turn(
            rounds,
            train_words,
            lambda: train_rust(text, split, symbols + merges, end_of_word_suffix="</w>"),
        )
        name = "Hugging Face `tokenizers` (Rust)"
        result.append(row("`WordBPE.train`", name, ours, theirs))
        alphabet = levels.alphabet()
        pieces = levels(add_prefix_space=False)
        both = in_turn(
            rounds,
            train_bytes,
            lambda: train_rust(text, pieces, 256 + merges, initial_alphabet=alphabet),
        )
        result.append(row("`ByteBPE.train`", name, *both))
    else:
        (ours,) = in_turn(rounds, train_words)
    print("the textbook's loop …", flush=True)
    textbook = [seconds(lambda: train_textbook(text, merges))]
    result.insert(0, row("`WordBPE.train`", "textbook recount", ours, textbook, once))
    if "minbpe" in have:
        from minbpe import RegexTokenizer

        print("minbpe …", flush=True)
        (ours,) = in_turn(rounds, train_bytes)
        theirs = [seconds(lambda: RegexTokenizer().train(text, 256 + merges))]
        result.append(row("`ByteBPE.train`", "minbpe `RegexTokenizer`", ours, theirs, once))
    rust = tok.to_tiktoken()
    both = in_turn(
        rounds, lambda: ByteBPE(tok.tokens).encode(text), lambda: rust.encode_ordinary(text)
    )
    result.append(row("`ByteBPE.encode`, nothing cached", "`tiktoken` (Rust)", *both))
    return result


if __name__ == "__main__":
    import table  # beside this file

    table.main(["--only", Path(__file__).stem, *sys.argv[1:]])
