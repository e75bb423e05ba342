"""How models learn: one plain loop for all of them, and what it is made of."""

from scratchformer.training.checkpoints import load_checkpoint, save_checkpoint
from scratchformer.training.config import TrainingConfig
from scratchformer.training.evaluation import eval_mode, evaluate
from scratchformer.training.loop import fit, train, update
from scratchformer.training.losses import IGNORED, token_loss
from scratchformer.training.optimizers import parameter_groups
from scratchformer.training.schedules import learning_rate
from scratchformer.training.state import History, TrainingState

__all__ = [
    "IGNORED",
    "History",
    "TrainingConfig",
    "TrainingState",
    "eval_mode",
    "evaluate",
    "fit",
    "learning_rate",
    "load_checkpoint",
    "parameter_groups",
    "save_checkpoint",
    "token_loss",
    "train",
    "update",
]
