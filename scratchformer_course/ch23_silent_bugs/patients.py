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

USE = [
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
        found="The function is no module, so it does not know that the "
        "model is in evaluation mode.",
    ),
    Patient(
        "conv1d_not_transposed", "A square matrix is not transposed", "file",
        "A run resumed from its file starts with a higher loss, although every shape fits.",
        "load", p.load_by_shape, inv.a_file_changes_nothing, "resumed",
        cause="The shape decides what is transposed, and a square matrix fits either way.",
        short="matrix not transposed",
        thread=GITHUB + "AutoGPTQ/AutoGPTQ/pull/139",
        found="GPT-2's transposed layers were transposed back in one of "
        "two files, but not in the other.",
    ),
    Patient(
        "untied", "Tied weights are untied by loading", "file",
        "A resumed run continues as before, but the model has more parameters than it had.",
        "load", p.load_by_assigning, inv.what_is_tied_stays_tied, "resumed",
        cause="The file's tensors replace the model's, so table and head become two matrices that "
        "training moves apart.",
        short="weights untied",
        thread=GITHUB + "pytorch/pytorch/issues/188346",
        found="Loading by assignment gives each name of a shared tensor a tensor of its own.",
    ),
    Patient(
        "nucleus_one_short", "Top-p drops the token that reaches p", "writing",
        "Texts are duller than they should be at the chosen top_p.",
        "nucleus", p.nucleus_one_short, inv.a_nucleus_reaches_its_share, how="writing",
        trained=False,
        cause="The token that carries the sum past p is dropped, so the kept ones hold less than "
        "p together.",
        short="top-p one short",
        thread=GITHUB + "fishaudio/fish-speech/pull/1171",
        found="The mask was not shifted, so the token that crosses the threshold was removed.",
    ),
]  # fmt: skip

LEARNING = [
    Patient(
        "decay_on_norms", "Weight decay on norms and biases", "training",
        "The curve looks healthy, but the scales of the norms end up too small.",
        "groups", p.one_group, inv.norms_do_not_decay,
        cause="One group of parameters holds everything, so norms and biases are drawn toward 0 "
        "like matrices.",
        thread=GITHUB + "huggingface/transformers/issues/4360",
        found="The rule that includes was asked before the rule that excludes, so norms decayed.",
    ),
    Patient(
        "gradients_not_zeroed", "Gradients are not zeroed", "training",
        "The loss falls, but far more slowly than the healthy run's.",
        "update", p.update_without_zeroing, inv.a_step_forgets_the_one_before,
        cause="Each step follows a sum over all the steps before it, and clipping hides how long "
        "that sum is.",
        thread=GITHUB + "pytorch/pytorch/issues/47175",
        found="A request for a warning: the mistake is nasty, easily made, and nothing tells you.",
    ),
    Patient(
        "mean_of_means", "A mean of means in accumulation", "training",
        "Cutting the same batch into micro-batches of unequal lengths changes its gradient.",
        "update", p.update_by_means, inv.micro_batches_make_one_batch, "lines",
        cause="Each micro-batch is averaged by itself, so a token counts for more where there are "
        "few of them.",
        thread=GITHUB + "huggingface/blog/pull/2414",
        found="The accumulated loss of texts of different lengths was not the loss of the batch.",
    ),
    Patient(
        "clipped_early", "Gradients are clipped before accumulation ends", "training",
        "Cutting the same batch into micro-batches, even into equal ones, changes its gradient.",
        "update", p.update_clipped_early, inv.micro_batches_make_one_batch, "lines",
        cause="The sum is clipped while it still grows, so the first micro-batches are cut again "
        "and again.",
        short="clipped too early",
        thread=GITHUB + "facebookresearch/lingua/pull/59",
        found="Gradients were clipped after each micro-batch; the "
        "repair called this often harmless.",
    ),
    Patient(
        "schedule_too_fast", "The schedule is stepped once per micro-batch", "training",
        "The loss falls faster than the healthy run's at first, then stands still.",
        "rate", p.rate_by_batches, inv.the_rate_counts_updates, "lines",
        cause="The schedule counts micro-batches, and the rate has reached 0 after a quarter of "
        "the run.",
        short="schedule too fast",
        thread=GITHUB + "Lightning-AI/pytorch-lightning/issues/1476",
        found="A warm-up of 16,000 steps took 1,000, because 16 micro-batches made a step.",
    ),
    Patient(
        "weights_stand_still", "Bfloat16 weights that stop moving", "training",
        "Training looks healthy while the steps are large; with small "
        "ones some weights stop changing.",
        "prepare", p.prepare_in_bfloat16, inv.all_weights_move,
        cause="A bfloat16 number has 8 significant bits, so a step much smaller than a weight is "
        "rounded away.",
        short="bfloat16 weights",
        thread=GITHUB + "pytorch/ao/pull/1124",
        found="Small updates of bfloat16 weights were rounded away; stochastic rounding keeps "
        "them on average.",
    ),
]  # fmt: skip

TEXT = [
    Patient(
        "not_shifted", "Targets are not shifted", "text",
        "The loss falls to zero, and the model repeats the last token for ever.",
        "next_tokens", p.same_tokens, inv.targets_are_the_next_tokens,
        cause="The target is the token itself, so the model learns to copy what it reads.",
        short="targets not shifted",
        thread=GITHUB + "KempnerInstitute/KempnerForge/issues/154",
        found="Captions were scored against the token just read, and the loss went from 8.6 to 0.",
    ),
    Patient(
        "shifted_twice", "Targets are shifted twice", "text",
        "The loss stays well above the healthy run's, and the texts "
        "read as if letters were missing.",
        "loss", p.loss_shifted_again, inv.an_oracle_loses_nothing,
        cause="Batch and loss both shift, so the model learns to predict the token after the "
        "next.",
        short="targets shifted twice",
        thread=GITHUB + "huggingface/transformers/pull/46898",
        found="A model shifted its labels to the right, and its loss shifted them again.",
    ),
    Patient(
        "loss_on_padding", "Padding counts in the loss", "text",
        "The loss is far lower than the healthy run's, but the texts are no better.",
        "real_targets", p.all_targets, inv.padding_is_no_target, "lines",
        cause="Many targets are padding, which is easy to predict, and the mean is taken over "
        "them too.",
        thread=GITHUB + "01-ai/Yi/issues/110",
        found="The labels of padding were not set to the index that the loss ignores.",
    ),
    Patient(
        "validation_trained_on", "Training text in the validation split", "text",
        "The validation loss follows the training loss all the way down; nothing seems to overfit.",
        "split", p.split_by_length, inv.splits_share_nothing, "little", trained=False,
        cause="A minus sign makes validation the last nine tenths of the text, and most of that "
        "is trained on.",
        short="validation trained on",
        thread=GITHUB + "marin-community/marin/pull/2700",
        found="One split was cut after shuffling and the other before, so they overlapped.",
    ),
    Patient(
        "ids_wrapped", "Token ids overflow their type", "text",
        "The loss falls as it should, but decoded training data is not the text it came from.",
        "stored", p.stored_in_bytes, inv.ids_survive_the_file, "subwords",
        cause="Eight bits hold 256 ids, so id 256 becomes 0 and id 257 becomes 1.",
        short="ids overflow",
        thread=GITHUB + "huggingface/transformers/issues/2825",
        found="With 16 bits for 119,547 tokens, nearly half of them "
        "turned into others in the file.",
    ),
    Patient(
        "workers_alike", "All workers draw with the same seed", "text",
        "The loss falls more slowly, as it would with a smaller batch.",
        "worker_seed", p.same_seed, inv.workers_draw_different_rows,
        cause="Each worker draws the same rows, so a batch holds a quarter of the rows that it "
        "seems to hold.",
        short="workers of one seed",
        thread=GITHUB + "pytorch/pytorch/issues/5059",
        found="Each worker is a copy, random generator included, so all draw the same numbers.",
    ),
]  # fmt: skip

PATIENTS = {patient.name: patient for patient in [*ATTENTION, *USE, *LEARNING, *TEXT]}
