"""Text from a model: sampling token by token, and the search for a likely whole."""

from scratchformer.generation.sampling import generate

__all__ = ["generate"]
