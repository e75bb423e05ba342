"""The model alive in the page: a Python exporter, and the same model in readable JavaScript."""

from scratchformer_course.page_model.description import describe
from scratchformer_course.page_model.explorer import explore

__all__ = ["describe", "explore"]
