"""The model alive in the page: a Python exporter, and the same model in readable JavaScript."""

from scratchformer.explorer.export import describe
from scratchformer.explorer.time_machine import time_machine
from scratchformer.explorer.view import explore

__all__ = ["describe", "explore", "time_machine"]
