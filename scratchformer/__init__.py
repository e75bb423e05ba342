"""The helper package of *Transformers from Scratch*: what a chapter has built, ready to import.

Text flows one way through the modules, and a module imports only from those before it:
data, tokenizers, positions, attention, blocks, models, training, generation. Beside that line stand
plots, checks (the exercises' instant checks) and chapter (a notebook's setup).
Importing this module loads nothing else: the rooms that need torch import it themselves.
"""

__version__ = "0.1.0"
