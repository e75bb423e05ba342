"""Learning 4,000 merges on Tiny Shakespeare, and encoding it: ours beside its peers, in one run.

Usage: python benchmarks/bpe.py [--quick]

The fast trainers take turns, five rounds, and the median counts; the slow ones run once. A ratio
is a time divided by the reference's. `--quick` stops the slow ones after 100 merges and says so.
"""

import argparse
import importlib.util
import statistics
import time
from collections import Counter
from itertools import islice, pairwise

from scratchformer.data import load_corpus
from scratchformer.tokenizers import ByteBPE, WordBPE

MERGES = 4_000
PEERS = {"tokenizers": "Hugging Face", "minbpe": "minbpe"}


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


def table(title: str, fast: dict, reference: str, slow: dict | None = None, rounds: int = 5):
    """Time `fast` jobs in turn and `slow` ones once; print medians and ratios to `reference`."""
    times = {name: [] for name in fast}
    for _ in range(rounds):
        for name, job in fast.items():
            times[name].append(seconds(job))
    for name, job in (slow or {}).items():
        times[name] = [seconds(job)]
    base = statistics.median(times[reference])
    print(f"\n{title}\n{'':42}{'median':>9}{'min':>9}{'max':>9}{'n':>4}{'ratio':>9}")
    for name, measured in times.items():
        m = statistics.median(measured)
        print(
            f"{name:42}{m:8.2f}s{min(measured):8.2f}s{max(measured):8.2f}s"
            f"{len(measured):4}{m / base:8.2f}x"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="slow trainers stop after 100 merges")
    few = parser.parse_args().quick
    corpus = load_corpus("tinyshakespeare")
    text, slow_merges = corpus.text, 100 if few else MERGES
    print(f"corpus: {corpus.name}, {len(text):,} characters; {MERGES:,} merges")
    have = {name for name in PEERS if importlib.util.find_spec(name)}
    for name in sorted(set(PEERS) - have):
        print(f"skipped: {PEERS[name]} (the package {name} is not installed)")

    words = {"ours, words": lambda: WordBPE.train(text, MERGES)}
    chunks = {"ours, bytes": lambda: ByteBPE.train(text, 256 + MERGES)}
    tok = ByteBPE.train(text, 256 + MERGES)
    rust, tiktoken_text = tok.to_tiktoken(), text
    encoders = {
        "ours, fresh cache": lambda: ByteBPE(tok.tokens).encode(text),
        "tiktoken, same vocabulary": lambda: rust.encode_ordinary(tiktoken_text),
    }
    slow_chunks = {}
    if "tokenizers" in have:
        from tokenizers import pre_tokenizers

        split, levels = pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel
        alphabet = len({*text}) + len({word[-1] for word in text.split()})
        words["Hugging Face (Rust), words"] = lambda: train_rust(
            text, split, alphabet + MERGES, end_of_word_suffix="</w>"
        )
        chunks["Hugging Face (Rust), bytes"] = lambda: train_rust(
            text, levels(add_prefix_space=False), 256 + MERGES, initial_alphabet=levels.alphabet()
        )
    if "minbpe" in have:
        from minbpe import RegexTokenizer

        slow_chunks["minbpe, RegexTokenizer"] = lambda: RegexTokenizer().train(
            text, 256 + slow_merges
        )
    note = f" ({slow_merges} merges only)" if few else ""
    textbook = {f"textbook recount{note}": lambda: train_textbook(text, slow_merges)}
    table("Training on words", words, "ours, words", textbook)
    table("Training on bytes", chunks, "ours, bytes", slow_chunks)
    table("Encoding the whole corpus", encoders, "ours, fresh cache")


if __name__ == "__main__":
    main()
