"""The patients whose model is sound: the fault is in text, training, files or writing."""

from scratchformer_course.ch23_silent_bugs import invariants as inv
from scratchformer_course.ch23_silent_bugs import program_faults as p
from scratchformer_course.ch23_silent_bugs.patient import Patient

GITHUB = "https://github.com/"

TEXT = [
    Patient(
        "not_shifted", "Targets are not shifted", "text",
        "The loss falls to zero, and the model repeats the last token forever.",
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

TRAINING = [
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

FILE_AND_WRITING = [
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
