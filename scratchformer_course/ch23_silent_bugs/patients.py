"""Thirty faults that raise no error and let the loss fall, each beside its healthy twin.

A patient is a healthy program in which one part is replaced. It knows the invariant that would
have found the fault. What else there is to say of it stands on the page *Thirty silent bugs*, in
whose order they are here.
"""

from scratchformer_course.ch23_silent_bugs import invariants as inv
from scratchformer_course.ch23_silent_bugs import model_faults as m
from scratchformer_course.ch23_silent_bugs import program_faults as p
from scratchformer_course.ch23_silent_bugs.patient import Patient

ALL = (
    Patient(
        name="missing_root", place="attention", short="√D forgotten",
        title="The scores are not divided by √D",
        part="scores", faulty=m.scores_without_root,
        invariant=inv.scores_keep_variance_one,
    ),
    Patient(
        name="mask_one_off", place="attention", short="mask off by one",
        title="The mask is off by one",
        part="causal", faulty=m.causal_and_one,
        invariant=inv.the_future_changes_nothing, how="prefixes",
    ),
    Patient(
        name="mask_after_softmax", place="attention",
        title="The mask comes after the softmax",
        part="weights", faulty=m.weights_masked_late,
        invariant=inv.weights_sum_to_one, how="prefixes",
    ),
    Patient(
        name="wrong_axis", place="attention", short="softmax, wrong axis",
        title="The softmax runs over the wrong axis",
        part="weights", faulty=m.weights_over_queries,
        invariant=inv.the_future_changes_nothing, how="prefixes",
    ),
    Patient(
        name="heads_mixed", place="attention", short="heads reshaped",
        title="Heads are merged by a bare `reshape`",
        part="merge_heads", faulty=m.merge_by_reshape,
        invariant=inv.merging_undoes_splitting, how="prefixes",
    ),
    Patient(
        name="padding_attended", place="attention", short="padding attended to",
        title="Padding is attended to",
        part="hide_padding", faulty=m.padding_in_sight,
        invariant=inv.padding_changes_nothing, twin="lines",
    ),
    Patient(
        name="window_one_off", place="attention", short="window off by one",
        title="The window is off by one",
        part="within", faulty=m.within_and_one,
        invariant=inv.a_window_holds_as_many_as_it_says, twin="modern",
    ),
    Patient(
        name="repeat_for_interleave", place="attention", short="repeat, not interleave",
        title="`repeat` in place of `repeat_interleave`",
        part="share_heads", faulty=m.share_in_turns,
        invariant=inv.neighbours_share_a_key, twin="modern",
    ),
    Patient(
        name="values_turned", place="attention", short="values rotated",
        title="Values are rotated as well",
        part="turn", faulty=m.turn_values,
        invariant=inv.values_do_not_turn, twin="modern",
    ),
    Patient(
        name="two_bases", place="attention", short="two rotary bases",
        title="Queries and keys are rotated at different rates",
        part="turn", faulty=m.turn_by_two_bases,
        invariant=inv.scores_know_distances_only, twin="modern",
    ),
    Patient(
        name="positions_forgotten", place="cache",
        title="Positions are forgotten under a cache",
        part="positions", faulty=m.positions_from_zero,
        invariant=inv.a_cache_changes_nothing, how="cache", trained=False,
    ),
    Patient(
        name="cache_not_reset", place="cache",
        title="The cache is not reset",
        part="start_again", faulty=m.start_again_in_part,
        invariant=inv.a_new_text_starts_afresh, how="cache", trained=False,
    ),
    Patient(
        name="deviation_for_root", place="block", short="norm by std + ε",
        title="The norm divides by std + ε",
        part="norm", faulty=m.LayerNormByStd,
        invariant=inv.the_norm_is_pytorchs,
    ),
    Patient(
        name="norm_over_time", place="block",
        title="The norm runs over time",
        part="norm", faulty=m.LayerNormOverTime,
        invariant=inv.a_position_is_normed_alone, how="prefixes",
    ),
    Patient(
        name="dropout_in_evaluation", place="block",
        title="Dropout in evaluation",
        part="drop", faulty=m.drop_always,
        invariant=inv.evaluation_repeats_itself, twin="dropout", trained=False,
    ),
    Patient(
        name="not_shifted", place="text", short="targets not shifted",
        title="Targets are not shifted",
        part="next_tokens", faulty=p.same_tokens,
        invariant=inv.targets_are_the_next_tokens,
    ),
    Patient(
        name="shifted_twice", place="text", short="targets shifted twice",
        title="Targets are shifted twice",
        part="loss", faulty=p.loss_shifted_again,
        invariant=inv.an_oracle_loses_nothing,
    ),
    Patient(
        name="loss_on_padding", place="text",
        title="Padding counts in the loss",
        part="real_targets", faulty=p.all_targets,
        invariant=inv.padding_is_no_target, twin="lines",
    ),
    Patient(
        name="validation_trained_on", place="text", short="validation trained on",
        title="Training text in the validation split",
        part="split", faulty=p.split_by_length,
        invariant=inv.splits_share_nothing, twin="little", trained=False,
    ),
    Patient(
        name="ids_wrapped", place="text", short="ids overflow",
        title="Token ids overflow their type",
        part="stored", faulty=p.stored_in_bytes,
        invariant=inv.ids_survive_the_file, twin="subwords",
    ),
    Patient(
        name="workers_alike", place="text", short="workers of one seed",
        title="All workers draw with the same seed",
        part="worker_seed", faulty=p.same_seed,
        invariant=inv.workers_draw_different_rows,
    ),
    Patient(
        name="decay_on_norms", place="training",
        title="Weight decay on norms and biases",
        part="groups", faulty=p.one_group,
        invariant=inv.norms_do_not_decay,
    ),
    Patient(
        name="gradients_not_zeroed", place="training",
        title="Gradients are not zeroed",
        part="update", faulty=p.update_without_zeroing,
        invariant=inv.a_step_forgets_the_one_before,
    ),
    Patient(
        name="mean_of_means", place="training",
        title="A mean of means in accumulation",
        part="update", faulty=p.update_by_means,
        invariant=inv.micro_batches_make_one_batch, twin="lines",
    ),
    Patient(
        name="clipped_early", place="training", short="clipped too early",
        title="Gradients are clipped before accumulation ends",
        part="update", faulty=p.update_clipped_early,
        invariant=inv.micro_batches_make_one_batch, twin="lines",
    ),
    Patient(
        name="schedule_too_fast", place="training", short="schedule too fast",
        title="The schedule is stepped once per micro-batch",
        part="rate", faulty=p.rate_by_batches,
        invariant=inv.the_rate_counts_updates, twin="lines",
    ),
    Patient(
        name="weights_stand_still", place="training", short="bfloat16 weights",
        title="Bfloat16 weights that stop moving",
        part="prepare", faulty=p.prepare_in_bfloat16,
        invariant=inv.all_weights_move,
    ),
    Patient(
        name="conv1d_not_transposed", place="file", short="matrix not transposed",
        title="A square matrix is not transposed",
        part="load", faulty=p.load_by_shape,
        invariant=inv.a_file_changes_nothing, twin="resumed",
    ),
    Patient(
        name="untied", place="file", short="weights untied",
        title="Tied weights are untied by loading",
        part="load", faulty=p.load_by_assigning,
        invariant=inv.what_is_tied_stays_tied, twin="resumed",
    ),
    Patient(
        name="nucleus_one_short", place="writing", short="top-p one short",
        title="Top-p drops the token that reaches p",
        part="nucleus", faulty=p.nucleus_one_short,
        invariant=inv.a_nucleus_reaches_its_share, how="writing", trained=False,
    ),
)  # fmt: skip
PATIENTS = {patient.name: patient for patient in ALL}
