"""Thirty faults that raise no error and let the loss fall, each an edit of one healthy function.

A fault knows the invariant that would have found it. What else there is to say of it is on the
page *Thirty silent bugs*, in whose order they are here.
"""

import difflib
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from scratchformer import attention
from scratchformer.data import corpora
from scratchformer.generation import sampling
from scratchformer.models import GPT, llama
from scratchformer.training import parameter_groups, token_loss
from scratchformer_course.ch25_silent_bugs import invariants as inv
from scratchformer_course.ch25_silent_bugs import program as p
from scratchformer_course.ch25_silent_bugs.edited_library import Edit, body, edited_program
from scratchformer_course.ch25_silent_bugs.program import Program, Setting

# What healthy programs are trained on, and with; a fault says in which setting it shows.
HEALTHY = {
    "plain": Setting(),
    "modern": Setting(modern=True, sizes={"n_kv_heads": 2, "window": 8}),
    "lines": Setting(lines=True, micro_batches=4),
    "dropout": Setting(sizes={"dropout": 0.1}),
    "resumed": Setting(resumed=True),
    "little": Setting(characters=20_000),
    "subwords": Setting(tokens="subwords", characters=200_000),
}
IN_MODEL = ("attention", "cache", "block")  # places that are parts of the model


@dataclass(frozen=True)
class Fault:
    """A function of the library, or of `program.py`, and an edit of it that breaks an invariant.

    `how` says how a right evaluation uses the model (see `scores.right`), and `trained` whether
    training differs from the healthy program's: where it does not, the healthy weights serve.
    """

    name: str
    place: str  # attention, cache, block, text, training, file or writing
    title: str
    function: Callable
    edit: Edit
    invariant: Callable[[Program], None]
    setting: str = "plain"
    how: str = "pass"
    trained: bool = True
    short: str = ""  # for a row of a figure; else the name will do

    @property
    def healthy(self) -> Program:
        """The program without the fault."""
        return Program(HEALTHY[self.setting])

    @cached_property
    def program(self) -> Program:
        """The program with the fault."""
        return edited_program(self.function, self.edit, HEALTHY[self.setting])

    def code(self) -> tuple[list[str], list[str]]:
        """The broken lines, and those of the healthy function that repair them."""
        lines = difflib.ndiff(body(self.function, self.edit), body(self.function))
        changed = sorted((x for x in lines if x[0] in "-+"), key=lambda x: x[0], reverse=True)
        code = textwrap.dedent("\n".join(x[2:] for x in changed)).splitlines()
        n = sum(x[0] == "-" for x in changed)
        return code[:n], code[n:]

    def diff(self) -> list[str]:
        """The repair as a diff, with at most two lines around each change."""
        pair = body(self.function, self.edit), body(self.function)
        lines = list(difflib.unified_diff(*pair, n=2, lineterm=""))[2:]
        return ["…" if line.startswith("@@") else line for line in lines][1:]


ALL = (
    Fault(
        "missing_root", "attention", "The scores are not divided by √D",
        attention.scaled_dot_product_attention, {" / math.sqrt(q.shape[-1])": ""},
        inv.scores_keep_variance_one, short="√D forgotten",
    ),
    Fault(
        "mask_one_off", "attention", "The mask is off by one",
        attention.causal_mask, {".tril()": ".tril(1)"},
        inv.the_future_changes_nothing, how="prefixes", short="mask off by one",
    ),
    Fault(
        "mask_after_softmax", "attention", "The mask comes after the softmax",
        attention.scaled_dot_product_attention,
        {
            "        scores = scores.masked_fill(~(mask | fully_masked), -math.inf)\n": "",
            "masked_fill(fully_masked, 0.0)": "masked_fill(~mask, 0.0)",
        },
        inv.weights_sum_to_one, how="prefixes",
    ),
    Fault(
        "wrong_axis", "attention", "The softmax runs over the wrong axis",
        attention.scaled_dot_product_attention,
        {"softmax(dim=-1).masked_fill": "softmax(dim=-2).masked_fill"},
        inv.the_future_changes_nothing, how="prefixes", short="softmax, wrong axis",
    ),
    Fault(
        "heads_mixed", "attention", "Heads are merged by a bare `reshape`",
        attention._attend,
        {"heads.transpose(1, 2).flatten(2)": "heads.reshape(q.shape[0], q.shape[2], -1)"},
        inv.merging_undoes_splitting, how="prefixes", short="heads reshaped",
    ),
    Fault(
        "padding_attended", "attention", "Padding is attended to",
        GPT.forward, {"mask = mask.unsqueeze(1)": "mask = None"},
        inv.padding_changes_nothing, "lines", short="padding attended to",
    ),
    Fault(
        "window_one_off", "attention", "The window is off by one",
        llama.Attention.may_attend, {"key > query -": "key >= query -"},
        inv.a_window_holds_as_many_as_it_says, "modern", short="window off by one",
    ),
    Fault(
        "repeat_for_interleave", "attention", "`repeat` in place of `repeat_interleave`",
        llama.Attention.forward, {".repeat_interleave(group, dim=1)": ".repeat(1, group, 1, 1)"},
        inv.neighbours_share_a_key, "modern", short="repeat, not interleave",
    ),
    Fault(
        "values_turned", "attention", "Values are rotated as well",
        llama.Attention.project,
        {"return q, k, v": "return q, k, rotate_halves(v, start, c.rope_base)"},
        inv.values_do_not_turn, "modern", short="values rotated",
    ),
    Fault(
        "two_bases", "attention", "Queries and keys are rotated at different rates",
        llama.Attention.project,
        {"(q.transpose(1, 2), start, c.rope_base)": "(q.transpose(1, 2), start, 500_000.0)"},
        inv.scores_know_distances_only, "modern", short="two rotary bases",
    ),
    Fault(
        "positions_forgotten", "cache", "Positions are forgotten under a cache",
        GPT.forward, {"torch.arange(old, S,": "torch.arange(S - old,"},
        inv.a_cache_changes_nothing, how="cache", trained=False,
    ),
    Fault(
        "cache_not_reset", "cache", "The cache is not reset",
        GPT.new_cache,
        {
            "return [KeyValueCache(self.context_length) for _ in self.h]":
            'if not hasattr(self, "caches"):\n'
            "            self.caches = [KeyValueCache() for _ in self.h]\n"
            "        return [KeyValueCache(), *self.caches[1:]]"
        },
        inv.a_new_text_starts_afresh, how="cache", trained=False,
    ),
    Fault(
        "deviation_for_root", "block", "The norm divides by std + ε",
        p.LayerNorm.forward,
        {
            "var = x.var(dim=-1, unbiased=False,": "std = x.std(dim=-1,",
            "torch.sqrt(var + 1e-5)": "(std + 1e-5)",
        },
        inv.the_norm_is_pytorchs, short="norm by std + ε",
    ),
    Fault(
        "norm_over_time", "block", "The norm runs over time",
        p.LayerNorm.forward, {"dim=-1": "dim=1"},
        inv.a_position_is_normed_alone, how="prefixes",
    ),
    Fault(
        "dropout_in_evaluation", "block", "Dropout in evaluation",
        attention.MultiHeadAttention.forward,
        {
            "self.dropout if self.training else 0.0": "self.dropout",
            "self.dropout, self.training)": "self.dropout)",
        },
        inv.evaluation_repeats_itself, "dropout", trained=False,
    ),
    Fault(
        "not_shifted", "text", "Targets are not shifted",
        p.next_tokens, {"rows[:, 1:]": "rows[:, :-1]"},
        inv.targets_are_the_next_tokens, short="targets not shifted",
    ),
    Fault(
        "shifted_twice", "text", "Targets are shifted twice",
        token_loss,
        {
            "logits = logits.reshape(-1, logits.shape[-1])":
            "logits, targets = logits[:, :-1].flatten(0, 1), targets[:, 1:]"
        },
        inv.an_oracle_loses_nothing, short="targets shifted twice",
    ),
    Fault(
        "loss_on_padding", "text", "Padding counts in the loss",
        p.real_targets, {"y.masked_fill(x == pad, IGNORED)": "y"},
        inv.padding_is_no_target, "lines",
    ),
    Fault(
        "validation_trained_on", "text", "Training text in the validation split",
        corpora.train_val_split, {"sequence[n:]": "sequence[-n:]"},
        inv.splits_share_nothing, "little", trained=False, short="validation trained on",
    ),
    Fault(
        "ids_wrapped", "text", "Token ids overflow their type",
        p.stored, {"uint16": "uint8"},
        inv.ids_survive_the_file, "subwords", short="ids overflow",
    ),
    Fault(
        "workers_alike", "text", "All workers draw with the same seed",
        p.worker_seed, {"1000 * seed + worker": "1000 * seed"},
        inv.workers_draw_different_rows, short="workers of one seed",
    ),
    Fault(
        "decay_on_norms", "training", "Weight decay on norms and biases",
        parameter_groups, {'"weight_decay": 0.0': '"weight_decay": weight_decay'},
        inv.norms_do_not_decay,
    ),
    Fault(
        "gradients_not_zeroed", "training", "Gradients are not zeroed",
        p.update, {"    optimizer.zero_grad()\n": ""},
        inv.a_step_forgets_the_one_before,
    ),
    Fault(
        "mean_of_means", "training", "A mean of means in accumulation",
        p.update,
        {
            "batch_nats, _": "batch_nats, targets",
            "(batch_nats / n)": "(batch_nats / targets / len(batches))",
        },
        inv.micro_batches_make_one_batch, "lines",
    ),
    Fault(
        "clipped_early", "training", "Gradients are clipped before accumulation ends",
        p.update, {"    clip_grad": "        clip_grad"},
        inv.micro_batches_make_one_batch, "lines", short="clipped too early",
    ),
    Fault(
        "schedule_too_fast", "training", "The schedule is stepped once per micro-batch",
        p.rate, {"learning_rate(updates,": "learning_rate(batches,"},
        inv.the_rate_counts_updates, "lines", short="schedule too fast",
    ),
    Fault(
        "weights_stand_still", "training", "Bfloat16 weights that stop moving",
        p.prepare, {"model.float()": "model.bfloat16()"},
        inv.all_weights_move, short="bfloat16 weights",
    ),
    Fault(
        "conv1d_not_transposed", "file", "A square matrix is not transposed",
        p.load,
        {"name.endswith(CONV1D)": "file[name].shape != model.state_dict()[name].shape"},
        inv.a_file_changes_nothing, "resumed", short="matrix not transposed",
    ),
    Fault(
        "untied", "file", "Tied weights are untied by loading",
        p.load, {"load_state_dict(weights)": "load_state_dict(weights, assign=True)"},
        inv.what_is_tied_stays_tied, "resumed", short="weights untied",
    ),
    Fault(
        "nucleus_one_short", "writing", "Top-p drops the token that reaches p",
        sampling._truncate, {"p.cumsum(dim=-1) - p": "p.cumsum(dim=-1)"},
        inv.a_nucleus_reaches_its_share, how="writing", trained=False, short="top-p one short",
    ),
)  # fmt: skip
FAULTS = {fault.name: fault for fault in ALL}
