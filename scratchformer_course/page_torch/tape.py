"""The tape: what has been computed from what, so that slopes can be carried back.

Each operation on a tensor that needs slopes writes a node: for each input, how its slope follows
from that of the result. `backward()` reads the nodes from the last one to the first and adds up
what arrives at each. An input without a node is a leaf, and keeps its sum in `.grad`.

A slope may need numbers of the way there, as that of a product needs the other factor. Such a
tensor is saved with the count of changes to its memory. If the count is another one on the way
back, the slopes would be wrong, and an error says so.
"""

import functools
import heapq
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scratchformer_course.page_torch.layout import Size, overlaps
from scratchformer_course.page_torch.missing import lack, torch_error

Tensor = Any  # tensors write on the tape, which knows little of them
Slope = Callable[[Tensor], Tensor]

TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
NO_SLOPES = "element 0 of tensors does not require grad and does not have a grad_fn"

_numbers = itertools.count()
_is_recording = [True]


class Node:
    """One operation: from the slope of its result to those of its inputs."""

    def __init__(self, name: str, edges: list[tuple["Node", Slope]], saved: Iterable[Tensor] = ()):
        self._name = name
        self.edges = edges
        self.saved = [(tensor, tensor._version) for tensor in saved]
        self.result: Tensor = None  # if it is saved
        self.is_freed = False
        self.number = next(_numbers)
        self.keeps: list[Tensor] = []  # results that have asked for their own slope

    def name(self) -> str:
        """Such as "MulBackward0"."""
        return self._name

    def __repr__(self) -> str:
        return f"<{self._name} object>"

    @property
    def next_functions(self) -> tuple:
        """The nodes of the inputs."""
        return tuple((node, 0) for node, _ in self.edges)

    def check(self) -> None:
        """Raise if a saved tensor is gone or was changed since."""
        if self.is_freed:
            raise torch_error(RuntimeError, TWICE)
        for tensor, version in self.saved:
            if tensor._version != version:
                node = self if tensor is self.result else node_of(tensor)
                which = ""
                if node is not None and not isinstance(node, Leaf):
                    made_by = node.name().replace("Backward", "").removesuffix("0")
                    made_by = made_by.replace("CopySlices", "torch::autograd::CopySlices")
                    which = f", which is output 0 of {made_by},"
                raise torch_error(
                    RuntimeError,
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: [torch.{tensor.dtype.word}Tensor {list(tensor.shape)}]"
                    f"{which} is at version {tensor._version}; expected version {version} instead."
                    " Hint: enable anomaly detection to find the operation that failed to compute "
                    "its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).",
                )


class Leaf(Node):
    """The end of a way back: a tensor that nothing has computed."""

    def __init__(self, tensor: Tensor):
        super().__init__("AccumulateGrad", [])
        self.tensor, self.number = tensor, -1


class GradMode:
    """Whether operations are written on the tape: for a `with`, or as a decorator."""

    def __init__(self, is_on: bool):
        self.is_on, self.before = is_on, []

    def __enter__(self) -> None:
        self.before.append(_is_recording[0])
        _is_recording[0] = self.is_on

    def __exit__(self, *_: object) -> None:
        _is_recording[0] = self.before.pop()

    def __call__(self, function: Callable) -> Callable:
        if inspect.isgeneratorfunction(function):
            lack("a generator under `torch.no_grad`")

        @functools.wraps(function)
        def inside(*given: Any, **named: Any) -> Any:
            with GradMode(self.is_on):
                return function(*given, **named)

        return inside


class no_grad(GradMode):
    """Nothing inside is written on the tape."""

    mode = False

    def __new__(cls, function: Callable | None = None) -> Any:
        return object.__new__(cls) if function is None else GradMode(cls.mode)(function)

    def __init__(self, *_: Any):
        super().__init__(self.mode)


class enable_grad(no_grad):
    """All inside is written on the tape, even within `no_grad`."""

    mode = True


def inference_mode(mode: Any = True) -> Any:
    """Nothing inside is written on the tape."""
    if mode is False:
        lack("`torch.inference_mode(False)`")
    return no_grad() if mode is True else no_grad(mode)


class set_grad_enabled(GradMode):
    """Turn the tape on or off, at once or for a `with`."""

    def __init__(self, mode: bool):
        super().__init__(mode)
        self.before = [_is_recording[0]]
        _is_recording[0] = mode

    def __enter__(self) -> None:
        pass

    def __call__(self, function: Callable) -> Callable:
        _is_recording[0] = self.before[0]  # it was meant for the function alone
        return GradMode(self.is_on)(function)


def is_grad_enabled() -> bool:
    """Whether operations are written on the tape."""
    return _is_recording[0]


def record(result: Tensor, name: str, *inputs: tuple) -> Tensor:
    """Write the operation that gave `result`. Each input is (tensor, its slope, *saved tensors)."""
    if not _is_recording[0]:
        return result
    needed = [one for one in inputs if one[0].requires_grad]
    if needed:
        edges = [(node_of(tensor), slope) for tensor, slope, *_ in needed]
        node = Node(name, edges, [kept for _, _, *saved in needed for kept in saved])
        node.result, result._node = result, node
    return result


def named(result: Tensor, name: str) -> Tensor:
    """Give the operation behind a result the name that real PyTorch prints."""
    if result._node is not None:
        result._node._name = name
    return result


def save(result: Tensor, *tensors: Tensor) -> Tensor:
    """Save tensors for the way back through a result that other operations have computed."""
    if result._node is not None:
        result._node.saved += [(tensor, tensor._version) for tensor in tensors]
    return result


def node_of(tensor: Tensor) -> Node | None:
    """The node that gave what a tensor holds now; a leaf's own node; None if it needs no slopes.

    A view whose memory was written through another tensor is now a part of what that one holds.
    """
    base = tensor._base
    if base is not None and tensor._seen != tensor._version and base.requires_grad:
        tensor._seen = tensor._version
        tensor._node = Node("AsStridedBackward0", [(node_of(base), tensor._into_base())])
    if tensor._node is None and tensor._is_leaf_with_slopes:
        tensor._node_of_leaf = tensor._node_of_leaf or Leaf(tensor)
        return tensor._node_of_leaf
    return tensor._node


def carry_back(
    roots: Sequence[Tensor],
    slopes: Sequence[Tensor],
    wanted: Sequence[Tensor] | None,
    retain_graph: bool,
) -> list[Tensor]:
    """Carry slopes from the roots to all leaves, or give those of the `wanted` tensors."""
    arrived: dict[Node, Tensor] = {}
    waiting: list[tuple[int, int, Node]] = []

    def arrive(node: Node, slope: Tensor) -> None:
        if node in arrived:
            arrived[node] = arrived[node] + slope
        else:
            arrived[node] = slope
            heapq.heappush(waiting, (-node.number, id(node), node))

    for tensor in wanted or ():
        if overlaps(tensor._shape, tensor._strides):
            lack("slopes at a tensor that was expanded")
    targets = [node_of(tensor) for tensor in wanted or ()]
    found: dict[Node, Tensor] = {}
    with GradMode(False):
        for root, slope in zip(roots, slopes, strict=True):
            arrive(node_of(root), slope)
        while waiting:
            node = heapq.heappop(waiting)[2]
            slope = arrived.pop(node)
            if node in targets:
                found[node] = slope
            if wanted is None:
                for tensor in [node.tensor] if isinstance(node, Leaf) else node.keeps:
                    add_to_grad(tensor, slope)
            node.check()
            for source, rule in node.edges:
                arrive(source, rule(slope))
            if not retain_graph and node.saved:
                node.saved, node.edges, node.is_freed = [], [], True
    return [found.get(node) for node in targets]


def add_to_grad(tensor: Tensor, slope: Tensor) -> None:
    """Add to what earlier calls of `backward()` have left."""
    if tensor.grad is None:
        tensor.grad = slope.clone()
    else:
        tensor.grad += slope


def first_slope(root: Tensor, given: Tensor | None) -> Tensor:
    """The slope that the way back begins with: 1 for a single number, unless one is given."""
    if given is None:
        if root.numel() != 1:
            text = "grad can be implicitly created only for scalar outputs"
            raise torch_error(RuntimeError, text)
        return root._filled_with(1.0)
    if given.shape != root.shape:
        text = f"grad_output[0] has a shape of {Size(given.shape)} and output[0] has a shape of"
        raise torch_error(RuntimeError, f"Mismatch in shape: {text} {Size(root.shape)}.")
    return given
