"""The helper package of *Transformers from Scratch*: what a chapter has built, ready to import.

Text flows one way through the rooms, and a room imports only from those before it: files, data,
tokenizers, positions, attention, blocks, models, training, generation. Before data stand drawings,
measurements, shipped (a trained model) and live (the harness of live figures). At the end stand
scaling, plots, explorer (a model alive in a page), trainer (training in a page), chapter (a
notebook's setup), checks (the exercises' instant checks) and cli (the command line). Importing this
module loads nothing else: the rooms that need torch import it themselves.
"""

__version__ = "0.2.0"
