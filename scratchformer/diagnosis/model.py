"""`diagnose`: which of the things that hold for every causal language model hold for this one.

No such test sees what is another architecture rather than a broken one: queries and keys exchanged,
a forgotten activation, residual or last norm, another base of a rotation, a norm written out inside
a block. For these, copy the weights into a second implementation and compare. Nor does a test see
that a run was badly tuned.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from scratchformer.diagnosis import attention_weights as attention
from scratchformer.diagnosis import causality as outside
from scratchformer.diagnosis import targets as text
from scratchformer.diagnosis import weights
from scratchformer.diagnosis.case import Case, sizes_of
from scratchformer.diagnosis.norm_formulas import norms
from scratchformer.diagnosis.probes import cache_of, padding_of
from scratchformer.diagnosis.report import Report, Test, run_tests

# A test means something where another holds: a dropout in evaluation, say, would fail them all.
TESTS = (
    Test(outside.logits),
    Test(outside.evaluation, after=outside.logits),
    Test(norms, after=outside.logits),
    Test(outside.rows, after=outside.evaluation),
    Test(attention.attention_axis, after=outside.logits),
    Test(attention.attention_scale, after=outside.logits),
    Test(attention.attention_span, after=outside.logits),
    Test(attention.attention_sharing, after=outside.logits),
    Test(outside.causality, after=outside.rows),
    Test(outside.context, after=outside.causality),
    Test(outside.prefix, after=outside.context),
    Test(outside.positions, after=outside.prefix),
    Test(outside.padding, after=outside.positions),
    Test(outside.cache, after=outside.prefix),
    Test(weights.initial_loss, after=outside.logits),
    Test(weights.overfitting, after=outside.logits),
    Test(weights.gradients, after=outside.logits),
    Test(weights.shared_weights, after=outside.logits),
    Test(weights.saved, after=outside.prefix),
    Test(text.targets, after=outside.logits),
    Test(text.padded_targets, after=outside.logits),
    Test(text.batches, after=outside.logits),
    Test(text.splits, after=outside.logits),
)


def window_of(config: Any) -> int | None:
    """How many tokens a layer sees, as a configuration says; None where no window is on."""
    window = getattr(config, "window", None) or getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    is_on = getattr(config, "use_sliding_window", None) in (None, True)
    return window if is_on and "sliding_attention" in kinds and (window or 0) > 0 else None


def diagnose(
    model: nn.Module,
    vocab_size: int | None = None,
    context_length: int | None = None,
    *,
    cache: Callable | None = None,
    padding: Callable | None = None,
    pad_id: int | None = None,
    window: int | None = None,
    loss: Callable | None = None,
    batches: Iterable[Sequence[Tensor]] = (),
    tokens: Tensor | tuple[Tensor, Tensor] | None = None,
    reload: Callable | None = None,
) -> Report:
    """Test a causal model, ids (B, T) -> logits (B, T, V); what is not given is found or left out.

    `cache(model)` begins a text and returns a function from its next ids to their logits;
    `padding(model, ids, real)` calls the model, told by `real` (B, T) which tokens are real. Both
    are found for models of this package. `pad_id` stands for padding, among targets too unless
    batches hold -100 there. `window` says how many tokens a layer sees.

    `loss(logits, y)` or `loss(model, x, y)` is a mean, or a sum and a count; `batches` are pairs
    (x, y) as in training, of which two are taken; `tokens` is the text that they are cut from, as
    the tokenizer gave it, or that and the text held out. `reload(model)` returns another model,
    with the weights of this one from a file.

    The model stays as it is, and so does torch's random state: all runs on copies. Raises TypeError
    for what is no module, or a scripted one, and ValueError for sizes and shapes that do not fit.
    """
    V, length = sizes_of(model, vocab_size, context_length)
    window = window or window_of(getattr(model, "config", None))
    with torch.random.fork_rng(), torch.inference_mode(False), torch.enable_grad():
        torch.manual_seed(0)
        pairs = [pair for pair, _ in zip(batches, range(2), strict=False)]
        for shapes in [[tuple(getattr(t, "shape", ())) for t in pair] for pair in pairs]:
            if len(shapes) != 2 or shapes[0] != shapes[1] or len(shapes[0]) != 2:
                raise ValueError(f"a batch has shapes {shapes}, expected x and y, (B, T) each")
        texts = tokens if tokens is None or isinstance(tokens, tuple) else (tokens,)
        given = {"loss": loss, "batches": pairs, "tokens": texts, "reload": reload}
        given |= {"cache": cache or cache_of(model), "padding": padding or padding_of(model)}
        case = Case(model, V, length, pad_id=pad_id, window=window, **given)
        return run_tests(TESTS, case)
