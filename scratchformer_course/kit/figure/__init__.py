"""The harness of live figures: what a reader can touch, without any server."""

from scratchformer_course.kit.figure.live_figure import LiveFigure

__all__ = ["LiveFigure"]
