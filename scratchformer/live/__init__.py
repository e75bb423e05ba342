"""Live figures: what a reader can touch, in a notebook and on the site, without any server.

A figure is a function in a module of its own, and a file of JavaScript with the same name in
`figures/`. The function takes the numbers that the page's cells computed.
"""

from scratchformer.live.costs import costs
from scratchformer.live.figure import LiveFigure
from scratchformer.live.law import law

__all__ = ["LiveFigure", "costs", "law"]
