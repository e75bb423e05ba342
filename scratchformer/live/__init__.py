"""Live figures: what a reader can touch, in a notebook and on the site, without any server.

A figure is a function in a module of its own, and a file of JavaScript with the same name in
`figures/`. The function takes the numbers that the page's cells computed.
"""

from scratchformer.live.attention_steps import attention_steps
from scratchformer.live.clock_hands import clock_hands
from scratchformer.live.costs import costs
from scratchformer.live.figure import LiveFigure
from scratchformer.live.law import law
from scratchformer.live.merges import merges
from scratchformer.live.parabola import parabola
from scratchformer.live.turning_pairs import turning_pairs

__all__ = [
    "LiveFigure",
    "attention_steps",
    "clock_hands",
    "costs",
    "law",
    "merges",
    "parabola",
    "turning_pairs",
]
