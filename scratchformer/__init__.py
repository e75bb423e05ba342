"""The library of *Transformers from Scratch*: what a chapter has built, ready to import.

Text flows one way through the rooms, and a room imports only from those before it: files, data,
tokenizers, positions, attention, blocks, models, training, generation. Beside files stands shipped
(a trained model and its tokenizer); at the end stand scaling, plots, diagnosis and cli (the command
line). Importing this module loads nothing else: the rooms that need torch import it themselves.
"""

__version__ = "0.2.0"
