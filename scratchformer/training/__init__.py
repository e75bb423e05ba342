"""How models learn: one plain loop for all of them, and what it is made of."""

from scratchformer.training.checkpoints import (
    History,
    TrainingState,
    load_checkpoint,
    save_checkpoint,
)
from scratchformer.training.config import (
    TrainingConfig,
    learning_rate,
    make_optimizer,
    parameter_groups,
)
from scratchformer.training.loop import fit, train, train_on, update
from scratchformer.training.losses import (
    IGNORED,
    bits_per_byte,
    eval_mode,
    evaluate,
    token_loss,
)

__all__ = [
    "IGNORED",
    "History",
    "TrainingConfig",
    "TrainingState",
    "bits_per_byte",
    "eval_mode",
    "evaluate",
    "fit",
    "learning_rate",
    "load_checkpoint",
    "make_optimizer",
    "parameter_groups",
    "save_checkpoint",
    "token_loss",
    "train",
    "train_on",
    "update",
]
