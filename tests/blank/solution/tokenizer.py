from itertools import pairwise

import regex

CHUNKS = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def count_pairs(words):
    counts = {}
    for word, n in words.items():
        for pair in pairwise(word):
            counts[pair] = counts.get(pair, 0) + n
    return counts


def merge_pair(word, pair):
    pieces, i = [], 0
    while i < len(word):
        if word[i : i + 2] == pair:
            pieces.append(word[i] + word[i + 1])
            i += 2
        else:
            pieces.append(word[i])
            i += 1
    return tuple(pieces)


def train(text, n_merges):
    tokens, words = [bytes([b]) for b in range(256)], {}
    for chunk in CHUNKS.findall(text):
        word = tuple(bytes([b]) for b in chunk.encode())
        words[word] = words.get(word, 0) + 1
    for _ in range(n_merges):
        counts = count_pairs(words)
        best = max(counts, key=lambda pair: counts[pair])
        tokens.append(best[0] + best[1])
        merged = {}
        for word, n in words.items():
            word = merge_pair(word, best)
            merged[word] = merged.get(word, 0) + n
        words = merged
    return tokens


class ByteTokenizer:
    def __init__(self, tokens):
        self.tokens, self.ids = tokens, {token: i for i, token in enumerate(tokens)}

    def encode(self, text):
        ids = []
        for chunk in CHUNKS.findall(text):
            word = tuple(bytes([b]) for b in chunk.encode("utf-8"))
            while len(word) > 1:
                known = [pair for pair in pairwise(word) if pair[0] + pair[1] in self.ids]
                if not known:
                    break
                word = merge_pair(word, min(known, key=lambda pair: self.ids[pair[0] + pair[1]]))
            ids += [self.ids[piece] for piece in word]
        return ids

    def decode(self, ids):
        return b"".join(self.tokens[i] for i in ids).decode("utf-8", errors="replace")
