"""`diagnose`: which of the things that hold for every causal language model hold for this one.

No such test sees what is another architecture rather than a broken one: queries and keys exchanged,
a forgotten activation, residual or last norm, another base of a rotation, a norm written out inside
a block. For these, copy the weights into a second implementation and compare. Nor does a test see
that a run was badly tuned.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from scratchformer.diagnosis import attention_tests as inside
from scratchformer.diagnosis import invariant_tests as must
from scratchformer.diagnosis import text_tests as text
from scratchformer.diagnosis import weight_tests as own
from scratchformer.diagnosis.case import Case, sizes_of
from scratchformer.diagnosis.norm_tests import norms
from scratchformer.diagnosis.probes import cache_of, padding_of
from scratchformer.diagnosis.report import Report, run_tests

TESTS = [must.logits, must.evaluation, norms, must.rows]
TESTS += [inside.attention_axis, inside.attention_scale, inside.attention_span]
TESTS += [inside.attention_sharing, must.causality, must.context, must.prefix, must.positions]
TESTS += [must.padding, must.cache, own.initial_loss, own.overfitting, own.gradients]
TESTS += [own.shared_weights, own.saved]
TESTS += [text.targets, text.padded_targets, text.batches, text.splits]
# A test means something where another holds: a dropout in evaluation, say, would fail them all.
AFTER = dict.fromkeys((test.__name__.replace("_", " ") for test in TESTS[1:]), "logits")
AFTER |= {"rows": "evaluation", "causality": "rows", "context": "causality", "prefix": "context"}
AFTER |= {"positions": "prefix", "padding": "positions", "cache": "prefix", "saved": "prefix"}


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
    config = getattr(model, "config", None)
    window = window or getattr(config, "window", None) or getattr(config, "sliding_window", None)
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
        return run_tests(TESTS, AFTER, case)
