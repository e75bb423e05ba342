"""Why a class of transformers does not pass a test of `diagnose`: by design, or by a fault.

A test is named as in a report; "not built" stands for a class of which there is no small model.
"""

from typing import Any

ONE_A_CALL = {"falcon_mamba", "jamba", "mamba", "zamba", "zamba2"}  # if "several at once" fails
DESIGN: dict[tuple[str, str], str] = {
    ("cpmant", "causality"): "what it is given is context, read in both directions",
    ("cpmant", "initial loss"): "its biases of distances start with a deviation of 1 (`init_std`)",
    ("gpt_neo", "attention scale"): "scores are not divided, and its published weights know that",
    ("jetmoe", "attention sharing"): "the heads of an expert share keys with those of the next",
    ("recurrent_gemma", "cache"): "its layers keep their state themselves, and it returns no cache",
    ("reformer", "gradients"): "its own backward pass wants training mode",
    ("reformer", "overfitting"): "its own backward pass wants training mode",
    ("rwkv", "gradients"): "out of training it keeps a state, and changes it in place",
    ("rwkv", "overfitting"): "out of training it keeps a state, and changes it in place",
    ("xlnet", "causality"): "all tokens are read unless `perm_mask` says which are not",
    ("youtu", "initial loss"): "its table, the head as well, starts with a deviation of 4/√(5d)",
    ("zamba", "shared weights"): "its block of attention is one, which several layers share",
    ("xlm", "causality"): "it fills gaps unless its configuration says `causal=True`",
    ("blt", "not built"): "it reads bytes, in patches that a second model cuts",
    (
        "kimi_linear",
        "not built",
    ): "its recurrence is a loop of Python; small enough, it is done",
    ("nemotron_h", "not built"): "its recurrence is a loop of Python; in other releases it is done",
    ("dots3_note", "not built"): "its widths are set for each layer, and stay large",
    ("dots3_note_text", "not built"): "its widths are set for each layer, and stay large",
    (
        "gemma3n",
        "not built",
    ): "its eyes come from timm, which is not installed; `gemma3n_text` is built",
    ("gemma4_assistant", "not built"): "it drafts for another model, whose states it reads",
    ("gemma4_unified_assistant", "not built"): "it drafts for another model, whose states it reads",
}
EVERY_TOKEN = "a decoder, too, gets the mask of `create_bidirectional_mask`"
REWRITTEN = "the class was rewritten before 5.23, where it passes; the line was not looked for"
FAULTS: dict[tuple[str, str], str] = {
    ("deepseek_v4", "cache"): REWRITTEN,
    ("moshi", "cache"): REWRITTEN,
    **{
        (kind, "causality"): EVERY_TOKEN
        for kind in ("big_bird", "megatron-bert", "rembert", "roformer")
    },
    ("doge", "causality"): "`create_causal_mask` leaves the mask to the kernel (`is_causal`), "
    "which then gets the class's own mask of what to keep instead",
    ("bamba", "cache"): "positions of a call begin at 0 unless the caller gives them: "
    "`torch.arange(hidden_states.shape[1])`, whatever the cache holds",
    **{
        (kind, "cache"): "the step of one token leaves out the least Δt (`time_step_min`) "
        "that the scan over many tokens has"
        for kind in ("nemotron_h", "zamba2")
    },
    ("prophetnet", "causality"): "distances of the second stream are ordered (time, stream, head) "
    "by a `permute`, and read as (stream, head, time)",
    ("rwkv", "cache"): "a state of B rows has no axis for time: with one new token, "
    "logits have the shape (B, B, V)",
}
NOTED = {
    "gradients": "weights that no text needs, as those for pictures or another model's states, "
    "or that choose by rank alone, as an indexer's",
    "positions": "a norm, or learned scales of channels, stand behind the rotation",
    "cache": "after the first call, it reads one token a call",
    "padding": "a state, or keys that are compressed, take in the padding",
}


def explained(row: dict[str, Any]) -> dict[str, Any]:
    """A row with a verdict and a reason, both "" where nobody knows one."""
    key, by_design, why = (row["kind"], row["test"]), "by design", DESIGN
    if row["found"] == "noted":
        return row | {"verdict": by_design, "why": NOTED.get(row["test"], "")}
    if row["kind"] in ONE_A_CALL and row["measured"].startswith("several at once"):
        return row | {
            "verdict": by_design,
            "why": "after the first call, it reads one token a call",
        }
    if key in FAULTS:
        return row | {"verdict": "fault", "why": FAULTS[key]}
    if row["found"] == "not built":
        by_design = row["found"]
    return row | {"verdict": by_design if key in why else "", "why": why.get(key, "")}
