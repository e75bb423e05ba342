"""How models learn: one plain loop for all of them, and what it is made of."""

from scratchformer.training.checkpoints import load_checkpoint, save_checkpoint
from scratchformer.training.loop import History, eval_mode, evaluate, fit, parameter_groups, train
from scratchformer.training.losses import IGNORED, token_loss
from scratchformer.training.schedules import learning_rate

__all__ = [
    "IGNORED",
    "History",
    "eval_mode",
    "evaluate",
    "fit",
    "learning_rate",
    "load_checkpoint",
    "parameter_groups",
    "save_checkpoint",
    "token_loss",
    "train",
]
