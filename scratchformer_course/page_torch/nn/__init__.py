"""`torch.nn`: modules, layers, and the functions behind them."""

from scratchformer_course.page_torch.missing import missing_from
from scratchformer_course.page_torch.nn import functional, init, utils
from scratchformer_course.page_torch.nn.containers import *  # noqa: F403
from scratchformer_course.page_torch.nn.layers import *  # noqa: F403
from scratchformer_course.page_torch.nn.module import Module
from scratchformer_course.page_torch.nn.parameter import Parameter

__all__ = ["Module", "Parameter", "functional", "init", "utils"]
__getattr__ = missing_from("nn", "torch.nn")
