"""The old king's words as vectors, and the weights of a block that are set by hand for them."""

import torch
from torch import Tensor

WORDS = "the old king sleeps".split()
CHANNELS = "article adjective noun verb royal aged asleep hush".split()
FEATURES = {
    "the": "article",
    "old": "adjective aged",
    "king": "noun royal",
    "sleeps": "verb asleep",
}


def sentence() -> Tensor:
    """The vectors of *the old king sleeps*, (4, 8): those of chapter 06, and a channel for hush."""
    return torch.tensor([[float(c in FEATURES[w].split()) for c in CHANNELS] for w in WORDS])


@torch.no_grad()
def set_by_hand(block):
    """Fill a block with one head: a word reads its noun or verb, and who is royal and asleep, hush.

    The head is chapter 06's: without norms *old* gives *king* 0.85 of its attention. The first
    hidden number of the feed-forward network is 8 · royal + 8 · asleep − 10, a quarter of which,
    bent, goes to hush. All other hidden numbers are 0.
    """
    article, adjective, noun, verb, *meaning, hush = range(len(CHANNELS))
    royal, _, asleep = meaning
    for p in block.parameters():
        p.zero_()
    for norm in (block.ln_1, block.ln_2):
        norm.weight.fill_(0.5)
        norm.bias.fill_(0.3)
    q, k, v = block.attn.c_attn.weight.chunk(3)  # (C, C) each, a row for each number made
    q[0, [article, adjective, verb]] = 8.0  # these look for a noun
    q[1, noun] = 8.0  # and a noun for its verb
    k[0, noun] = k[1, verb] = 1.0
    for i, channel in enumerate(meaning):
        v[i, channel] = block.attn.c_proj.weight[channel, i] = 1.0
    block.mlp.c_fc.weight[0, [royal, asleep]] = 8.0
    block.mlp.c_fc.bias[0] = -10.0
    block.mlp.c_proj.weight[hush, 0] = 0.25
    return block
