"""Text from a model: sampling token by token, and the search for a likely target."""

from scratchformer.generation.beam import beam_search, greedy_decode
from scratchformer.generation.conversation import chat
from scratchformer.generation.sampling import generate

__all__ = ["beam_search", "chat", "generate", "greedy_decode"]
