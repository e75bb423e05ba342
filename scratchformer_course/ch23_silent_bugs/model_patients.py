"""The patients whose model is at fault: attention, caches, norms, dropout."""

from scratchformer_course.ch23_silent_bugs import invariants as inv
from scratchformer_course.ch23_silent_bugs import model_faults as m
from scratchformer_course.ch23_silent_bugs.patient import Patient

GITHUB = "https://github.com/"

ATTENTION = [
    Patient(
        "missing_root", "The scores are not divided by √D", "attention",
        "Training looks healthy, but with weights trained elsewhere attention is sharper and the "
        "loss higher.",
        "scores", m.scores_without_root, inv.scores_keep_variance_one,
        cause="Scores are √D times too large, so each softmax is too sure of itself; training can "
        "make up for it by smaller queries and keys.",
        short="√D forgotten",
        thread=GITHUB + "mlc-ai/mlc-llm/pull/3426",
        found="A fallback path forgot the factor, and embeddings had a similarity of 0.86 to the "
        "right ones.",
    ),
    Patient(
        "mask_one_off", "The mask is off by one", "attention",
        "The loss falls to almost nothing, yet what the model writes is worthless.",
        "causal", m.causal_and_one, inv.the_future_changes_nothing, how="prefixes",
        cause="Each position sees the token that it is to predict, which is missing when the "
        "model writes.",
        short="mask off by one",
        thread=GITHUB + "huggingface/transformers/issues/48745",
        near=True,
        found="Four decoders could see all later tokens; on random ones "
        "the loss fell to almost zero.",
    ),
    Patient(
        "mask_after_softmax", "The mask comes after the softmax", "attention",
        "Validation looks better than it should, and the rows of an "
        "attention map sum to less than 1.",
        "weights", m.weights_masked_late, inv.weights_sum_to_one, how="prefixes",
        cause="The future stays in the sum that each row is divided by, so the weights tell "
        "something of what comes.",
        thread=GITHUB + "huggingface/pytorch-image-models/pull/2236",
        found="A vision model applied its attention mask to the weights instead of the scores.",
    ),
    Patient(
        "wrong_axis", "The softmax runs over the wrong axis", "attention",
        "The loss falls far below the healthy run's, and each column "
        "of an attention map sums to 1.",
        "weights", m.weights_over_queries, inv.the_future_changes_nothing, how="prefixes",
        cause="Each key is shared out among the queries, so a weight depends on later queries.",
        short="softmax, wrong axis",
        thread=GITHUB + "labmlai/annotated_deep_learning_paper_implementations/issues/146",
        found="In a diffusion model the wrong axis went unnoticed, "
        "because the images were just as good.",
    ),
    Patient(
        "heads_mixed", "Heads are merged by a bare `reshape`", "attention",
        "The loss falls far below the healthy run's, and the texts are worse.",
        "merge_heads", m.merge_by_reshape, inv.merging_undoes_splitting, how="prefixes",
        cause="A row holds one head at several positions, later ones among them.",
        short="heads reshaped",
        thread=GITHUB + "jsbaan/transformer-from-scratch/pull/6",
        found="A missing permute scrambled the tokens; a copy task was still learned.",
    ),
    Patient(
        "padding_attended", "Padding is attended to", "attention",
        "A text's logits depend on how long its neighbours in the batch are.",
        "hide_padding", m.padding_in_sight, inv.padding_changes_nothing, "lines",
        cause="Padding is a key like any other and takes a share of each row's attention.",
        short="padding attended to",
        thread=GITHUB + "TransformerLensOrg/TransformerLens/issues/1005",
        found="Prompts in a batch were continued differently from the same prompts alone.",
    ),
    Patient(
        "window_one_off", "The window is off by one", "attention",
        "Two programs with the same weights and the same window give slightly different logits.",
        "within", m.within_and_one, inv.a_window_holds_as_many_as_it_says, "modern",
        cause="One program counts the query's own token as part of the window, and the other does "
        "not.",
        short="window off by one",
        thread=GITHUB + "huggingface/transformers/issues/39408",
        found="The kernel counted the tokens before the current one, the configuration counted "
        "all of them.",
    ),
    Patient(
        "repeat_for_interleave", "`repeat` in place of `repeat_interleave`", "attention",
        "Training looks healthy, but weights trained elsewhere give a much higher loss.",
        "share_heads", m.share_in_turns, inv.neighbours_share_a_key, "modern",
        cause="The shared heads stand in another order, so queries meet keys that others were "
        "trained with.",
        short="repeat, not interleave",
        thread=GITHUB + "onnx/onnx/pull/7274",
        found="A standard laid out the shared heads in turns, where PyTorch repeats each of them.",
    ),
    Patient(
        "values_turned", "Values are rotated as well", "attention",
        "In a text of one repeated token, attention gives another result at each position.",
        "turn", m.turn_values, inv.values_do_not_turn, "modern",
        cause="Each value is rotated by its position, so values that agree no longer add up.",
        short="values rotated",
        thread=GITHUB + "labmlai/annotated_deep_learning_paper_implementations/issues/251",
        near=True,
        found="In a variant that rotates values on purpose, they were rotated twice.",
    ),
    Patient(
        "two_bases", "Queries and keys are rotated at different rates", "attention",
        "The same tokens get other attention scores when the text starts at a later position.",
        "turn", m.turn_by_two_bases, inv.scores_know_distances_only, "modern",
        cause="The angle between a query and a key depends on where both stand, not on their "
        "distance alone.",
        short="two rotary bases",
        thread=GITHUB + "sgl-project/SpecForge/issues/265",
        near=True,
        found="The base in the configuration was not read, and the "
        "default was used; little was lost.",
    ),
]  # fmt: skip

CACHE_AND_BLOCK = [
    Patient(
        "positions_forgotten", "Positions are forgotten under a cache", "cache",
        "Validation looks healthy, but texts written with a cache "
        "are worse than those without one.",
        "positions", m.positions_from_zero, inv.a_cache_changes_nothing, how="cache",
        trained=False,
        cause="Each new token arrives alone and is given position 0.",
        thread=GITHUB + "lucidrains/rotary-embedding-torch/issues/11",
        found="Stored rotations ignored the offset, so every token was rotated like the first.",
    ),
    Patient(
        "cache_not_reset", "The cache is not reset", "cache",
        "The first text is fine; the second one remembers it.",
        "start_again", m.start_again_in_part, inv.a_new_text_starts_afresh, how="cache",
        trained=False,
        cause="Only the first block's cache is emptied, so the other blocks still attend to the "
        "text before.",
        thread=GITHUB + "mybigday/llama.rn/issues/259",
        found="Some layers kept the old context after a conversation had been cleared.",
    ),
    Patient(
        "deviation_for_root", "The norm divides by std + ε", "block",
        "Training looks healthy, and published weights give logits that are slightly off.",
        "norm", m.LayerNormByStd, inv.the_norm_is_pytorchs,
        cause="The standard deviation divides by C − 1, and ε stands outside the root, so all "
        "numbers come out a little too small.",
        short="norm by std + ε",
        thread=GITHUB + "codertimo/BERT-pytorch/issues/30",
        found="A much copied norm divides by the unbiased standard deviation plus ε.",
    ),
    Patient(
        "norm_over_time", "The norm runs over time", "block",
        "The loss falls far below the healthy run's, and a longer prompt changes earlier logits.",
        "norm", m.LayerNormOverTime, inv.a_position_is_normed_alone, how="prefixes",
        cause="Each position is scaled by statistics of all positions, later ones included.",
        thread=GITHUB + "jadore801120/attention-is-all-you-need-pytorch/pull/17",
        found="Mean and deviation were taken along the sequence instead of along the features.",
    ),
    Patient(
        "dropout_in_evaluation", "Dropout in evaluation", "block",
        "The validation loss is higher than it need be, and different each time it is computed.",
        "drop", m.drop_always, inv.evaluation_repeats_itself, "dropout", trained=False,
        cause="`F.dropout` drops by default, because a function does not know the model's mode.",
        thread=GITHUB + "pytorch/pytorch/issues/124464",
        found="The function is not a module, so it does not know that the "
        "model is in evaluation mode.",
    ),
]  # fmt: skip
