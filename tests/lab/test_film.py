"""The film that opens the course: what it shows is what the stored checkpoints give."""

import pytest
import torch

from lab import film
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.stored_steps import load_checkpoints, training_record
from scratchformer_course.measurements import load_measurements


def test_each_frame_is_what_its_checkpoint_gives():
    stored, models = load_measurements("film"), dict(load_checkpoints())
    tok, losses = CharTokenizer.pretrained("tiny-shakespeare"), training_record()["validation"]
    assert [frame["step"] for frame in stored["frames"]] == list(film.FRAMES)
    assert stored["curve"] == [[int(step), loss] for step, loss in losses.items()]
    for frame in stored["frames"][::3]:
        found = film.frame(models[frame["step"]], tok)
        assert found["text"] == frame["text"]
        assert frame["loss"] == losses[str(frame["step"])]
        for row, expected in zip(frame["weights"], found["weights"], strict=True):
            assert row == pytest.approx(expected, abs=0.011)  # two roundings


def test_the_share_of_right_guesses_counts_every_position():
    class Next(torch.nn.Module):
        context_length = 3

        def forward(self, x):  # holds the next number likeliest, but never 4
            return torch.nn.functional.one_hot((x + 1) % 4, 5).float()

    ids = torch.tensor([0, 1, 2, 3, 4, 0, 1, 1, 2, 3])
    # of the nine after the first: 1 2 3 are right, 4 0 are wrong, 1 right, 1 wrong, 2 3 right
    right = [1, 1, 1, 0, 0, 1, 0, 1, 1]
    following = torch.where(ids[:-1] == 4, torch.tensor(1), (ids[:-1] + 1) % 4)
    assert (following == ids[1:]).int().tolist() == right
    assert film.share_right(Next(), ids) == pytest.approx(sum(right) / 9, abs=1e-4)
