"""Chapter 06's contest of widths: nothing but the scores' size differs, and it can be learned."""

import pytest
import torch

from lab import runs, widths


def heads(width):
    found = {}
    for kind in widths.KINDS:
        torch.manual_seed(0)
        found[kind] = widths.Head(kind, width)
    return found


@pytest.mark.parametrize("width", widths.WIDTHS)
def test_a_small_start_has_the_first_scores_of_the_divided_head_and_the_plain_one_root_d_times(
    width,
):
    *asked, _ = widths.questions(5, torch.Generator().manual_seed(1))
    found = heads(width)
    for head in found.values():
        head.values = found["divided"].values
    torch.testing.assert_close(found["small"](*asked), found["divided"](*asked))
    found["divided"].factor *= width**0.5
    torch.testing.assert_close(found["plain"](*asked), found["divided"](*asked))


def test_the_question_is_a_key_turned_and_no_longer_than_it_was():
    asked, keys, digits, answer = widths.questions(50, torch.Generator().manual_seed(2))
    back = asked.squeeze(1) @ widths.turn().T  # (50, 16)
    which = torch.cdist(back.unsqueeze(1), keys).squeeze(1).argmin(dim=1)
    assert digits[torch.arange(50), which].equal(answer)
    torch.testing.assert_close(back.norm(dim=1), asked.squeeze(1).norm(dim=1))


def test_the_script_stores_every_trial(monkeypatch, tmp_path):
    monkeypatch.setattr(widths, "FILE", tmp_path / "widths.json")
    monkeypatch.setattr(widths, "SEEDS", range(2))
    monkeypatch.setattr(widths, "STEPS", 1)
    monkeypatch.setattr(widths, "WIDTHS", (4,))
    widths.main(["--write"])
    found = runs.read(tmp_path / "widths.json")["found"]["4"]
    assert set(found) == set(widths.KINDS)
    assert all(len(tries) == 2 for rates in found.values() for tries in rates.values())
