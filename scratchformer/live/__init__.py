"""Live figures: what a reader can touch, in a notebook and on the site, without any server.

A figure is a function in a module of its own, and a file of JavaScript with the same name in
`figures/`. The function takes the numbers that the page's cells computed.
"""

from scratchformer.live.attention_steps import attention_steps
from scratchformer.live.figure import LiveFigure

__all__ = ["LiveFigure", "attention_steps"]
