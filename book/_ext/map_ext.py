"""A Sphinx extension: on every chapter, the whole machine with a mark where the reader is."""

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks."""
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
