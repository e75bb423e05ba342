"""What the lab trains and measures is what a chapter shows."""

import math

import pytest
import torch

from lab import answers, film, first_network, object_first
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.ch11_training.stored_steps import load_checkpoints, training_record
from scratchformer_course.ch22_answers.world import demonstrations, new_model
from scratchformer_course.measurements import load_measurements


def test_each_frame_of_the_film_is_what_its_checkpoint_gives():
    stored, models = load_measurements("film"), dict(load_checkpoints())
    tok, losses = CharTokenizer.pretrained("tiny-shakespeare"), training_record()["validation"]
    assert stored["curve"] == [[int(step), loss] for step, loss in losses.items()]
    for frame in stored["frames"][::3]:
        again = film.frame(models[frame["step"]], tok)
        assert (frame["text"], frame["loss"]) == (again["text"], losses[str(frame["step"])])
        for row, expected in zip(frame["weights"], again["weights"], strict=True):
            assert row == pytest.approx(expected, abs=0.011)  # two roundings


def test_only_texts_are_turned_in_which_an_article_says_who_acts():
    allowed = {
        "der Hund sieht jede Katze": True,
        "jede Katze sieht den Hund": True,
        "jede Katze sieht die Kuh": False,
        "der Hund sieht den Hund": False,  # both nouns are one
        "heute sieht der Hund jede Katze": False,
        "wir wissen , dass der Hund jede Katze sieht": False,
    }
    assert {text: object_first.allows_it(text.split()) for text in allowed} == allowed
    turned = object_first.object_first("der alte Hund kann jede Katze sehen".split())
    assert " ".join(turned) == "jede Katze kann der alte Hund sehen"


def test_the_first_network_has_the_weights_that_the_page_draws_and_honest_rivals():
    network = first_network.of_the_page(65)
    draws = torch.Generator().manual_seed(first_network.SEED)
    E = torch.randn(65, 32, generator=draws, dtype=torch.float64)
    W1 = torch.randn(256, 128, generator=draws, dtype=torch.float64) / 16
    assert torch.equal(network.embed.weight, E) and torch.equal(network.hidden.weight.T, W1)
    loss = first_network.ngram_loss("aaaa", "aa", 2, 1e-9, 2)  # after an a: three a, and the end
    assert loss == pytest.approx(math.log(4 / 3), abs=1e-6)


def test_the_log_chance_is_that_of_the_answer_alone():
    model = new_model(seed=0)
    ids = demonstrations(5, seed=0)[:, :8]
    log_p = model(ids).log_softmax(dim=-1)
    by_hand = sum(log_p[torch.arange(5), i - 1, ids[:, i]] for i in range(3, 8))
    assert torch.allclose(answers.log_prob(model, ids), by_hand, atol=1e-5)
