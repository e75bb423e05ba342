"""What looks inside a model is right: on vectors, songs and texts whose secret is known."""

import pytest
import torch

from lab import (
    bottleneck,
    circles,
    induction,
    inside,
    real_capitals,
    real_heads,
    real_lines,
    widths,
)
from scratchformer.models import Llama, LlamaConfig
from scratchformer_course.ch24_inside import play
from scratchformer_course.ch24_inside.songs import new_model


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# --- chapter 24's rhymes: probes, erasing, patches


@pytest.fixture(scope="module")
def model():
    """Untrained, with weights so large that its answers differ."""
    model = play.new_model(0)
    for p in model.parameters():
        p.data.mul_(4 if p.dim() == 2 else 1)
    return model.eval()


def test_all_places_patched_restore_everything(model):
    pairs = play.pairs()
    clean = inside.stream(model, pairs.clean)
    with inside.changed(model.h[0], lambda x: clean[1]), torch.no_grad():
        assert torch.allclose(model(pairs.other), model(pairs.clean), atol=1e-5)


# --- its songs: what is silenced or cut is that and nothing else


def score_by_loop(weights, ids):
    """The weight on all places after earlier plays of the present note; mean over such places."""
    scores = []
    for song, maps in zip(ids.tolist(), weights, strict=True):
        for t, note in enumerate(song):
            if after := [s + 1 for s in range(t) if song[s] == note]:
                scores.append(maps[:, t, after].sum(dim=-1))
    return torch.stack(scores).mean(dim=0)


def test_the_induction_score_is_that_of_a_loop():
    ids = induction.test_songs(32)[:, :-1]
    weights = induction.maps_of(new_model(0).eval(), ids)
    scores = induction.induction_score(weights, ids)
    for block in (0, 1):
        assert torch.allclose(scores[block], score_by_loop(weights[block], ids), atol=1e-6)


def test_a_silenced_head_gives_its_mean_and_a_cut_of_nobody_changes_nothing():
    ids, model, seen = induction.test_songs(32), new_model(1).eval(), []
    for p in model.h.parameters():
        p.data.mul_(5)  # untrained, but its heads matter
    for heads in ([], [(0, 2)]):
        with induction.silenced(model, heads):
            into = model.h[0].attn.c_proj
            hook = into.register_forward_pre_hook(lambda m, x: seen.append(x[0]))
            induction.losses(model, ids)
            hook.remove()
    (plain, without), head = seen, slice(16, 24)
    mean = plain[..., head].mean(dim=(0, 1)).expand_as(plain[..., head])
    assert torch.allclose(without[..., head], mean, atol=1e-6)
    assert torch.equal(without[..., :16], plain[..., :16])
    loss, every = round(induction.copy_loss(model, ids), 3), [(0, head) for head in range(4)]
    assert all(induction.cut(model, ids, [], part) == loss for part in "qkv")
    assert len({induction.cut(model, ids, every, part) for part in "qkv"}) == 3


# --- chapters 06 and 14: the control takes away one thing


@pytest.mark.parametrize("width", widths.WIDTHS)
def test_a_small_start_has_the_first_scores_of_the_divided_head_and_the_plain_one_root_d_times(
    width,
):
    *asked, _ = widths.questions(5, torch.Generator().manual_seed(1))
    heads = {}
    for kind in widths.KINDS:
        torch.manual_seed(0)
        heads[kind] = widths.Head(kind, width)
        heads[kind].values = heads["divided"].values
    torch.testing.assert_close(heads["small"](*asked), heads["divided"](*asked))
    heads["divided"].factor *= width**0.5
    torch.testing.assert_close(heads["plain"](*asked), heads["divided"](*asked))


def test_one_vector_is_the_mean_of_a_sources_states_without_its_padding():
    model = bottleneck.train("words", 0.001, 2, seed=0)
    texts = ["the dog sees the king", "we know that the small dog can see the old cat"]
    source = bottleneck.sources(texts)
    words, _ = bottleneck.handed_over("words", model, source)
    mean, seen = bottleneck.handed_over("mean", model, source)
    torch.testing.assert_close(mean[0, 0], words[0, :6].mean(dim=0))  # five words and their end
    assert mean.shape[1] == 1 and (seen != bottleneck.PAD).all()


# --- SmolLM2: nothing of a trial chose the head; a patch, or a line, changes what it says


@pytest.fixture
def llama():
    torch.manual_seed(0)
    sizes = {"n_kv_heads": 2, "rope_base": 100_000.0}
    model = Llama(LlamaConfig(20, 16, 24, n_heads=4, n_layers=2, **sizes)).eval()
    for p in model.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return model


def test_no_country_of_a_trial_chose_the_head_or_is_on_the_page():
    assert not {"France", "Italy"} & set(real_capitals.CAPITALS)
    assert not {*real_heads.FOUND_WITH, "France", "Italy"} & set(real_heads.COUNTRIES)
    tried = real_heads.texts()
    assert len({text for _, text, _ in tried}) == len(tried) == 52
    assert all(text.count(country) == 1 and text.endswith(" is") for _, text, country in tried)


@torch.no_grad()
def test_a_vector_after_the_last_block_decides_at_its_place_alone(llama):
    capitals = real_capitals.Capitals.__new__(real_capitals.Capitals)
    capitals.model = llama
    ids, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 7, 4]])
    theirs, plain = capitals.vectors(other, 2), llama(ids)[0, -1]
    assert torch.allclose(capitals.with_vector(ids, 2, -2, theirs), plain, atol=1e-5)
    moved = capitals.with_vector(ids, 2, -1, theirs)
    assert torch.allclose(moved, llama(other)[0, -1], atol=1e-5)
    of_heads = capitals.vectors(other, 2, of_heads=True)
    first, second = (capitals.with_head(ids, 2, head, of_heads) for head in (1, 2))
    assert not torch.allclose(first, plain) and not torch.allclose(first, second)


@pytest.mark.parametrize("line", [*real_lines.LINES, *real_lines.APART])
@torch.no_grad()
def test_a_line_changes_the_logits_and_then_is_gone(llama, line):
    ids = torch.randint(20, (1, 12), generator=torch.Generator().manual_seed(0))
    logits = llama(ids)
    with real_lines.other([line]):
        assert not torch.allclose(llama(ids), logits, atol=1e-4)
    with real_lines.other([]):
        assert torch.equal(llama(ids), logits)


@torch.no_grad()
def test_a_beam_knows_how_likely_its_text_is_and_of_width_1_is_greedy(llama):
    ids = torch.tensor([[1, 2, 3]])
    (one, _), (best, ln_4) = (circles.beam(llama, ids, 6, width) for width in (1, 4))
    assert one == circles.write(llama, ids, 6, circles.greedy)[0].tolist()
    p = llama(torch.tensor([best]))[0, 2:-1].log_softmax(dim=-1)
    own = p.gather(1, torch.tensor(best[3:])[:, None]).sum()
    assert ln_4 == pytest.approx(own.item(), abs=1e-4)
    pushed = circles.write(llama, ids, 6, circles.pushed_at(torch.tensor([0])))[0].tolist()
    assert pushed[3] == llama(ids)[0, -1].topk(2).indices[1] != one[3]


def test_a_draw_after_a_cut_gives_only_what_is_kept():
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log().repeat(200, 1)  # (B, V)
    for cut, kept in (({"k": 2}, 2), ({"p": 0.8}, 3), ({"m": 0.3}, 3), ({"tau": 0.01}, 1), ({}, 4)):
        drawn = circles.drawing(0, **cut)(logits)
        assert set(drawn.flatten().tolist()) == set(range(kept)), cut


def test_a_text_circles_if_much_of_its_end_occurred_before():
    assert circles.repeated([1, 2, 3, 1, 2, 3], 3) == 0.25
    assert circles.circles([*range(40), *[1, 2, 3, 4, 5] * 8])
    assert not circles.circles([*[1, 2, 3, 4, 5] * 8, *range(40)])
    assert circles.period_of([*range(40), *[1, 2, 3, 4, 5] * 8]) == 5


def test_other_heads_are_as_many_of_the_same_blocks_and_none_of_those():
    copying = [(2, 1), (2, 4), (5, 3)]
    for seed in range(20):
        others = circles.others_of(copying, 5, seed)
        assert [block for block, _ in others] == [2, 2, 5]
        assert len(set(others)) == 3 and not set(others) & set(copying)
