"""Thirty faults that raise no error and let the loss fall, each beside its healthy twin.

A patient is a healthy program in which one part is replaced. It knows the invariant that would
have found the fault, and a public thread in which others have met it, or a near relation of it.
"""

from scratchformer_course.ch23_silent_bugs import invariants as inv
from scratchformer_course.ch23_silent_bugs import model_faults as m
from scratchformer_course.ch23_silent_bugs import program_faults as p
from scratchformer_course.ch23_silent_bugs.patient import Patient

GITHUB = "https://github.com/"

ATTENTION = [
    Patient(
        "missing_root", "√D is missing", "attention",
        "Scores are √D times too large, and each softmax is sure of itself before it has learned.",
        "scores", m.scores_without_root, inv.scores_keep_variance_one,
        thread=GITHUB + "mlc-ai/mlc-llm/pull/3426",
        found="A fallback path forgot the factor: embeddings were 0.86 similar to the right ones.",
    ),
    Patient(
        "mask_one_off", "The mask is off by one", "attention",
        "The loss falls to almost nothing, and the model writes rubbish.",
        "causal", m.causal_and_one, inv.the_future_changes_nothing, how="prefixes",
        thread=GITHUB + "huggingface/transformers/issues/48745",
        found="Four decoders saw all later tokens; on random ones the loss fell to almost zero.",
    ),
    Patient(
        "mask_after_softmax", "The mask comes after the softmax", "attention",
        "The future stays in each row's sum: the weights add up to less, and tell of what comes.",
        "weights", m.weights_masked_late, inv.weights_sum_to_one, how="prefixes",
        thread=GITHUB + "huggingface/pytorch-image-models/pull/2236",
        found="A vision model applied its attention mask to the weights instead of the scores.",
    ),
    Patient(
        "wrong_axis", "The softmax runs over the wrong axis", "attention",
        "A key is shared out among the queries, so that a weight depends on later ones.",
        "weights", m.weights_over_queries, inv.the_future_changes_nothing, how="prefixes",
        thread=GITHUB + "labmlai/annotated_deep_learning_paper_implementations/issues/146",
        found="In a diffusion model the wrong axis stayed unseen: its images were as good.",
    ),
    Patient(
        "heads_mixed", "Heads are merged by a bare reshape", "attention",
        "A row holds one head at several positions, those of the future among them.",
        "merge_heads", m.merge_by_reshape, inv.merging_undoes_splitting, how="prefixes",
        thread=GITHUB + "jsbaan/transformer-from-scratch/pull/6",
        found="A missing permute scrambled the tokens; a copy task was still learned.",
    ),
    Patient(
        "padding_attended", "Padding is attended", "attention",
        "A text's logits depend on how long its neighbour in the batch is.",
        "hide_padding", m.padding_in_sight, inv.padding_changes_nothing, "lines",
        thread=GITHUB + "TransformerLensOrg/TransformerLens/issues/1005",
        found="Prompts in a batch went on differently from the same prompts alone.",
    ),
    Patient(
        "window_one_off", "The window is off by one", "attention",
        "One more token is seen than the window says, in one of two programs.",
        "within", m.within_and_one, inv.a_window_holds_as_many_as_it_says, "modern",
        thread=GITHUB + "huggingface/transformers/issues/39408",
        found="A kernel counts the tokens before, the configuration counts all: one too many.",
    ),
    Patient(
        "repeat_for_interleave", "`repeat` in place of `repeat_interleave`", "attention",
        "Training forgives it; weights that others have trained are read by the wrong heads.",
        "share_heads", m.share_in_turns, inv.neighbours_share_a_key, "modern",
        thread=GITHUB + "onnx/onnx/pull/7274",
        found="A standard laid out the shared heads in turns, where PyTorch repeats each.",
    ),
    Patient(
        "values_turned", "Rotary positions on values", "attention",
        "What is mixed has been turned by its position, and no longer adds up.",
        "turn", m.turn_values, inv.values_do_not_turn, "modern",
        thread=GITHUB + "labmlai/annotated_deep_learning_paper_implementations/issues/251",
        found="In a variant that turns values on purpose they were turned twice.",
    ),
    Patient(
        "two_bases", "Queries and keys turn at different rates", "attention",
        "A score depends on where a text begins, not on distances alone.",
        "turn", m.turn_by_two_bases, inv.scores_know_distances_only, "modern",
        thread=GITHUB + "sgl-project/SpecForge/issues/265",
        found="The base of the configuration was not read, and the default used; little was lost.",
    ),
]  # fmt: skip

USE = [
    Patient(
        "positions_forgotten", "Positions are forgotten under a cache", "cache",
        "Validation is fine; with a cache each new token is read as if it were the first.",
        "positions", m.positions_from_zero, inv.a_cache_changes_nothing, how="cache",
        trained=False,
        thread=GITHUB + "lucidrains/rotary-embedding-torch/issues/11",
        found="Stored rotations did not know the offset, and the first one was used for all.",
    ),
    Patient(
        "cache_not_reset", "The cache's pointer is not reset", "cache",
        "The first text is right; the second one attends to what is left of it.",
        "start_again", m.start_again_in_part, inv.a_new_text_starts_afresh, how="cache",
        trained=False,
        thread=GITHUB + "mybigday/llama.rn/issues/259",
        found="Some layers kept the old context after a conversation had been cleared.",
    ),
    Patient(
        "deviation_for_root", "The deviation plus eps in place of the root", "block",
        "All is a little smaller than in PyTorch, and published weights are off by as much.",
        "norm", m.LayerNormByStd, inv.the_norm_is_pytorchs,
        thread=GITHUB + "codertimo/BERT-pytorch/issues/30",
        found="A much copied norm divides by the unbiased deviation plus eps.",
    ),
    Patient(
        "norm_over_time", "The norm runs over time", "block",
        "Each position is measured by all others, those of the future included.",
        "norm", m.LayerNormOverTime, inv.a_position_is_normed_alone, how="prefixes",
        thread=GITHUB + "jadore801120/attention-is-all-you-need-pytorch/pull/17",
        found="Mean and deviation were taken along the sequence, not along the features.",
    ),
    Patient(
        "dropout_in_evaluation", "Dropout in evaluation", "block",
        "The validation loss is higher than it need be, and another one each time.",
        "drop", m.drop_always, inv.evaluation_repeats_itself, "dropout", trained=False,
        thread=GITHUB + "pytorch/pytorch/issues/124464",
        found="A function that is no module does not know that the model is in evaluation.",
    ),
    Patient(
        "conv1d_not_transposed", "A square matrix is not transposed", "file",
        "All shapes fit and the loss is high at first; training then repairs what it can.",
        "load", p.load_by_shape, inv.a_file_changes_nothing, "resumed",
        thread=GITHUB + "AutoGPTQ/AutoGPTQ/pull/139",
        found="GPT-2's transposed layers were turned back in one of two files, not in the other.",
    ),
    Patient(
        "untied", "Tied weights are untied by loading", "file",
        "The loaded model says the same; after the next step it is another, larger one.",
        "load", p.load_by_assigning, inv.what_is_tied_stays_tied, "resumed",
        thread=GITHUB + "pytorch/pytorch/issues/188346",
        found="Loading by assignment gives each name of a shared tensor one of its own.",
    ),
    Patient(
        "nucleus_one_short", "Top-p drops the token that reaches p", "writing",
        "Texts are duller than top_p says: the kept tokens hold less than p together.",
        "nucleus", p.nucleus_one_short, inv.a_nucleus_reaches_its_share, how="writing",
        trained=False,
        thread=GITHUB + "fishaudio/fish-speech/pull/1171",
        found="The mask was not shifted, and the token that crosses the threshold was removed.",
    ),
]  # fmt: skip

LEARNING = [
    Patient(
        "decay_on_norms", "Weight decay on norms and biases", "training",
        "Norms and biases are drawn to 0 by a force that was meant for matrices.",
        "groups", p.one_group, inv.norms_do_not_decay,
        thread=GITHUB + "huggingface/transformers/issues/4360",
        found="A rule that includes was asked before the one that excludes; norms decayed.",
    ),
    Patient(
        "gradients_not_zeroed", "Gradients are not zeroed", "training",
        "Each step follows the sum of all gradients so far; clipping hides how long it is.",
        "update", p.update_without_zeroing, inv.a_step_forgets_the_one_before,
        thread=GITHUB + "pytorch/pytorch/issues/47175",
        found="A request for a warning: the fault is nasty, easily made and says nothing.",
    ),
    Patient(
        "mean_of_means", "A mean of means in accumulation", "training",
        "A token counts for more where its micro-batch has few of them.",
        "update", p.update_by_means, inv.micro_batches_make_one_batch, "lines",
        thread=GITHUB + "huggingface/blog/pull/2414",
        found="Accumulated losses of texts of different lengths were not those of the batch.",
    ),
    Patient(
        "clipped_early", "Clipped before the accumulation ends", "training",
        "The first micro-batches are cut again and again, and count for less.",
        "update", p.update_clipped_early, inv.micro_batches_make_one_batch, "lines",
        thread=GITHUB + "facebookresearch/lingua/pull/59",
        found="Gradients were clipped at each micro-batch; often harmless, said its repair.",
    ),
    Patient(
        "schedule_too_fast", "The schedule is stepped per micro-batch", "training",
        "The loss falls, then stands still: the rate has reached 0 after a quarter of the run.",
        "rate", p.rate_by_batches, inv.the_rate_counts_updates, "lines",
        thread=GITHUB + "Lightning-AI/pytorch-lightning/issues/1476",
        found="A warm-up of 16,000 steps took 1,000, as 16 micro-batches made a step.",
    ),
    Patient(
        "weights_stand_still", "Bfloat16 weights that stand still", "training",
        "The loss falls as long as steps are large; small ones are rounded away.",
        "prepare", p.prepare_in_bfloat16, inv.all_weights_move,
        thread=GITHUB + "pytorch/ao/pull/1124",
        found="Updates below a thousandth of a weight are lost; rounding at random helps.",
    ),
]  # fmt: skip

TEXT = [
    Patient(
        "not_shifted", "Targets are not shifted", "text",
        "The loss falls to zero: the model has learned to repeat what it reads.",
        "next_tokens", p.same_tokens, inv.targets_are_the_next_tokens,
        thread=GITHUB + "KempnerInstitute/KempnerForge/issues/154",
        found="Captions were scored against the token just read; the loss went from 8.6 to 0.",
    ),
    Patient(
        "shifted_twice", "Targets are shifted twice", "text",
        "The loss falls, if not as far: the model foretells the token after the next.",
        "loss", p.loss_shifted_again, inv.an_oracle_loses_nothing,
        thread=GITHUB + "huggingface/transformers/pull/46898",
        found="A model shifted its labels to the right, and its loss shifted them again.",
    ),
    Patient(
        "loss_on_padding", "Padding counts in the loss", "text",
        "The loss is low, as many of its targets are padding, which is easily foretold.",
        "real_targets", p.all_targets, inv.padding_is_no_target, "lines",
        thread=GITHUB + "01-ai/Yi/issues/110",
        found="The labels of padding were not set to the index that the loss ignores.",
    ),
    Patient(
        "validation_trained_on", "Training text in the validation split", "text",
        "The validation loss follows the training loss down; nothing seems to overfit.",
        "split", p.split_by_length, inv.splits_share_nothing, "little", trained=False,
        thread=GITHUB + "marin-community/marin/pull/2700",
        found="One split was cut after shuffling and the other before, so that they overlapped.",
    ),
    Patient(
        "ids_wrapped", "Token ids overflow their type", "text",
        "The loss falls as it should, on another text, in which two tokens share an id.",
        "stored", p.stored_in_bytes, inv.ids_survive_the_file, "subwords",
        thread=GITHUB + "huggingface/transformers/issues/2825",
        found="16 bits for 119,547 tokens: nearly half of them became others in the file.",
    ),
    Patient(
        "workers_alike", "All workers draw with the same seed", "text",
        "The batch has a quarter of the rows that it seems to have.",
        "worker_seed", p.same_seed, inv.workers_draw_different_rows,
        thread=GITHUB + "pytorch/pytorch/issues/5059",
        found="Each worker is a copy, random generator included: all draw the same numbers.",
    ),
]  # fmt: skip

PATIENTS = {patient.name: patient for patient in [*ATTENTION, *USE, *LEARNING, *TEXT]}
