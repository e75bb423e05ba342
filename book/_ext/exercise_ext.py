"""A Sphinx extension: an exercise is one box, from its task to its usual mistakes."""

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks."""
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
