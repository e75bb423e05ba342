"""`torch.optim`: gradient descent, Adam and AdamW (Kingma and Ba, 2015; Loshchilov and Hutter)."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from scratchformer_course.page_torch.creation import zeros_like
from scratchformer_course.page_torch.missing import bind_methods, lack, missing_from, torch_error
from scratchformer_course.page_torch.tape import GradMode
from scratchformer_course.page_torch.tensor import Tensor, new_tensor


class Optimizer:
    """Groups of parameters with their settings, and what is remembered of each parameter."""

    def __init__(self, params: Any, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            text = "params argument given to the optimizer should be an iterable of Tensors or"
            raise torch_error(TypeError, f"{text} dicts, but got torch.{params.dtype.word}Tensor")
        groups = list(params)
        if not groups:
            raise torch_error(ValueError, "optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        if not defaults.get("lr", 0) >= 0:
            raise torch_error(ValueError, f"Invalid learning rate: {defaults['lr']}")
        self.defaults, self.state = defaults, defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """One more group, with settings of its own."""
        own = param_group["params"]
        if isinstance(own, set):
            lack("a set of parameters")
        own = [own] if isinstance(own, Tensor) else list(own)
        for parameter in own:
            if isinstance(parameter, tuple):
                lack("named parameters in an optimizer")
            if not isinstance(parameter, Tensor):
                text = "optimizer can only optimize Tensors, but one of the params is"
                raise torch_error(TypeError, f"{text} {type(parameter).__name__}")
            if not parameter.is_leaf:
                raise torch_error(ValueError, "can't optimize a non-leaf Tensor")
        known = {id(x) for group in self.param_groups for x in group["params"]}
        if len({id(x) for x in own}) < len(own):
            lack("a parameter twice in a group")
        if any(id(x) in known for x in own):
            text = "some parameters appear in more than one parameter group"
            raise torch_error(ValueError, text)
        self.param_groups.append({**self.defaults, **param_group, "params": own})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the slopes of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.zero_()

    def __repr__(self) -> str:
        lack("printing an optimizer")

    def step(self) -> None:
        """Change each parameter that has a slope."""
        with GradMode(False):
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self.update(parameter, parameter.grad, group, self.state[parameter])

    def update(self, parameter: Tensor, slope: Tensor, group: dict, memory: dict) -> None:
        """Change one parameter."""
        raise NotImplementedError

    def state_dict(self) -> Any:
        """Not here."""
        lack("`Optimizer.state_dict`")

    def load_state_dict(self, _: Any) -> Any:
        """Not here."""
        lack("`Optimizer.load_state_dict`")


class SGD(Optimizer):
    """Against the slope, with momentum if that is asked for."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ):
        if min(momentum, weight_decay, dampening) < 0 or (nesterov and not momentum):
            lack("such settings of `SGD`")
        names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
        values = (lr, momentum, dampening, weight_decay, nesterov)
        super().__init__(params, dict(zip(names, values, strict=True)))

    def update(self, parameter: Tensor, slope: Tensor, group: dict, memory: dict) -> None:
        """Change one parameter."""
        if group["weight_decay"]:
            slope = slope + group["weight_decay"] * parameter
        if group["momentum"]:
            before = memory.get("momentum_buffer")
            if before is None:
                speed = slope.clone()
            else:
                speed = before * group["momentum"] + slope * (1 - group["dampening"])
            memory["momentum_buffer"] = speed
            slope = slope + group["momentum"] * speed if group["nesterov"] else speed
        parameter.sub_(group["lr"] * slope)


class Adam(Optimizer):
    """A step of about the rate for each number, whatever the size of its slopes."""

    decay_is_apart = False

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
    ):
        if min(eps, weight_decay, *betas) < 0 or max(betas) >= 1:
            lack("such settings of `Adam`")
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, settings)

    def update(self, parameter: Tensor, slope: Tensor, group: dict, memory: dict) -> None:
        """Change one parameter."""
        (beta1, beta2), rate, decay = group["betas"], group["lr"], group["weight_decay"]
        if decay and self.decay_is_apart:
            parameter.mul_(1 - rate * decay)
        elif decay:
            slope = slope + decay * parameter
        step = int(memory.get("step", 0)) + 1
        mean = memory.get("exp_avg", zeros_like(parameter)).lerp(slope, 1 - beta1)
        square = memory.get("exp_avg_sq", zeros_like(parameter)) * beta2
        square = square + slope * slope * (1 - beta2)
        memory.update(step=new_tensor([float(step)], ()), exp_avg=mean, exp_avg_sq=square)
        divisor = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        parameter.sub_(mean / divisor * (rate / (1 - beta1**step)))


class AdamW(Adam):
    """Adam, whose weight decay is no part of the slope."""

    decay_is_apart = True

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)


for _cls in (Optimizer, SGD, Adam, AdamW):
    bind_methods(_cls)
__getattr__ = missing_from("optim", "torch.optim")
