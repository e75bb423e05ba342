"""Figures as chapters store them, in a browser: what each tells is what Python says.

All their calculations are compared in tests/chapters/; here is what a reader does, once for each.
"""

import copy
import re

import pytest
import torch
import torch.nn.functional as F

from scratchformer import scaling
from scratchformer.models import GPTConfig
from scratchformer.shipped import shipped_words
from scratchformer_course.ch09_block.live import CHANNELS, WORDS, reading_block, sentence
from scratchformer_course.ch10_bigram_to_gpt.live import TOLD
from scratchformer_course.ch16_scaling.joint import JointLaw
from scratchformer_course.ch16_scaling.live import wasted
from scratchformer_course.ch17_speedrun import drawings
from scratchformer_course.measurements import load_measurements
from tests.chapters.test_ch09_live import PARTS, by_pytorch
from tests.page_model.test_bert_in_javascript import gaps
from tests.site.browsing import LIVE, number, numbers, open_folds, opened, rows, tables
from tests.site.figures import fill, press, shipped, status, stored


@pytest.fixture
def page(browser, saved, request):
    with opened(browser, saved(request.param)) as page:
        page.locator(LIVE).wait_for()
        yield page


def of(name):
    """A test of this figure."""
    return pytest.mark.parametrize("page", [name], indirect=True)


def check_frame(page, settings, frame):
    """The text of a frame."""
    text = page.locator(".sx-text").text_content()
    assert text == settings["prompt"].lstrip("\n") + frame["text"]


@of("first_sample")
def test_the_network_that_learns_to_write_shows_each_step(page):
    run = load_measurements("first_network")
    slider = page.get_by_role("slider", name="Steps of training")
    check_frame(page, run["settings"]["run"], run["run"]["frames"][-1])  # what it begins with
    for i, frame in enumerate(run["run"]["frames"]):
        fill(page, Steps_of_training=i)
        check_frame(page, run["settings"]["run"], frame)
        assert f"the loss is {frame['loss']:.2f}, as if it gave " in status(page)
        label = page.locator("svg.sx-curve").get_attribute("aria-label")
        assert f"marked: {frame['loss']:.2f} after {frame['step']:,} " in label
        assert slider.get_attribute("aria-valuetext") == f"{frame['step']:,}"


@of("weighted_past")
def test_weights_follow_the_scores_each_row_keeps_its_own_and_none_gets_past_the_mask(page):
    settings = stored("05", "weighted_past").settings
    words = settings["words"]

    def compare(looks, scores, mask="causal"):
        """All numbers with PyTorch's; `scores` are those that are not 0, by (row, column)."""
        table = torch.zeros(4, 4)
        for (row, column), score in scores.items():
            table[words.index(row), words.index(column)] = score
        may = torch.tensor(settings["masks"][mask])
        weights = table.masked_fill(~may, -torch.inf).softmax(dim=1)
        _, shown, mixed = tables(page, ".live-figure table")
        found = torch.tensor([[number(text) for text in line[1:]] for line in shown[1:]])
        assert (found - weights).abs().max() < 0.0051
        gets = (weights @ torch.tensor(settings["x"]))[words.index(looks)].tolist()
        assert mixed[-1][0] == f"{looks} gets"
        assert [number(text) for text in mixed[-1][1:]] == pytest.approx(gets, abs=0.0051)

    said = page.locator(".sx-past-told")
    compare("sleeps", {})
    assert said.inner_text() == "sleeps takes 25 % each from the, old, king and sleeps."
    fill(page, Score_of_king=3, Score_of_old=-4)
    scores = {("sleeps", "king"): 3, ("sleeps", "old"): -4}
    compare("sleeps", scores)
    press(page, "old looks")
    fill(page, Score_of_king=3.9)
    scores["old", "king"] = 3.9
    compare("old", scores)
    assert "hides king and sleeps" in said.inner_text()
    press(page, "none")
    compare("old", scores, "none")
    press(page, "window of 2", "sleeps looks")
    compare("sleeps", scores, "window of 2")
    press(page, "All scores 0")
    compare("sleeps", {}, "window of 2")


@of("heads_out")
def test_the_losses_without_heads_are_pytorchs_for_a_line_of_the_readers_own_too(page):
    @torch.no_grad()
    def check(*out):
        """The loss of the model, of that without these heads (from 1), and their difference."""
        gpt, tok = shipped()
        changed = copy.deepcopy(gpt)
        for block, head in out:
            changed.h[block - 1].attn.c_proj.weight[:, 32 * (head - 1) : 32 * head] = 0
        ids = torch.tensor(tok.encode(page.get_by_label("Prompt").input_value()))
        was, now = (F.cross_entropy(m(ids[None])[0, :-1], ids[1:]).item() for m in (gpt, changed))
        shown = [number(text) for text in page.locator(".sx-losses tbody td").all_inner_texts()]
        assert shown == pytest.approx([was, now, now - was], abs=2e-3)

    check()
    press(page, "Switch off head 1 of block 1", "Switch off head 2 of block 4")
    line = "JULIET:\nO Romeo, Romeo"
    page.get_by_label("Prompt").fill(line)
    page.get_by_text("22 tokens.").wait_for()
    check((1, 1), (4, 2))
    page.get_by_text("Both: temperature").wait_for(timeout=60_000)
    before, after = page.locator(".sx-text").all_text_contents()
    assert before.startswith(line) and after.startswith(line) and before != after
    press(page, "All on again")
    check()


@of("block_switches")
def test_switches_orders_and_stacked_blocks_show_pytorchs_numbers(page):
    def check(count=1, at=1, **changed):
        """All tables, and the line below the switches."""
        on = dict.fromkeys(PARTS, True) | {"post": False} | changed
        stations, weights = by_pytorch(reading_block(), sentence(), on, at)
        expected = ([weights[0, 0]] if on["attention"] else []) + [each.T for each in stations[-1]]
        for table, exact in zip(tables(page, ".sx-blk table"), expected, strict=True):
            shown = torch.tensor([[number(text) for text in row[1:]] for row in table[1:]])
            assert ((shown.double() - exact).abs() <= 0.0051 + 0.006 * exact.abs()).all()
        end = by_pytorch(reading_block(), sentence(), on, count)[0][-1, 2]
        hushed = (end[:, CHANNELS.index("hush")] > 0.5).tolist()
        known = ", ".join(word for word, is_so in zip(WORDS, hushed, strict=True) if is_so)
        assert f"above 0.5 at {known or 'no word'};" in status(page)

    check()
    for part, name in (("attention", "Attention"), ("norm", "Norm")):
        page.get_by_role("switch", name=name, exact=True).press("Space")
        check(**{part: False})
        page.get_by_role("switch", name=name, exact=True).press("Space")
    press(page, "post-norm")
    check(post=True)
    press(page, "pre-norm", "12 blocks")
    open_folds(page, ".live-figure")
    fill(page, Look_at_block=12)
    check(12, 12)
    press(page, "1 block")
    fill(page, weight_of_noun=12, weight_of_royal=12, weight_of_asleep=12, bias=-30)
    assert "above 0.5 at king;" in status(page)
    press(page, "As in the chapter")
    check()


@of("rungs_write")
def test_each_rung_shows_its_text_and_tells_of_itself_and_there_is_no_curve(page):
    climb = load_measurements("climb")
    for i, rung in enumerate(climb["rungs"]):
        fill(page, Model=i)
        check_frame(page, climb["settings"], rung)
        assert status(page) == TOLD[rung["name"]]
    assert page.locator(".sx-curve").count() == 0


@of("fill_gaps")
def test_the_bars_follow_what_is_typed_and_what_is_pressed(page):
    def best(texts):
        """The likeliest word of each gap, and its share in percent."""
        words = shipped_words("english-german")
        return [(words[p.argmax()], 100 * p.max().item()) for p in gaps(texts)]

    def compare(*texts):
        first = [table[1] for table in tables(page, ".sx-bars")]
        shown = [(word, float(share.split()[0])) for word, share, _ in first]
        assert shown == [(word, pytest.approx(p, abs=0.11)) for word, p in best(texts)]

    settings = stored("13", "fill_gaps").settings
    said = page.locator(".live-figure [role=status]")
    english, german = settings["texts"]
    compare(english, german)
    fill(page, English="the tiger sees every cat")
    assert "does not know “tiger”" in said.inner_text()
    compare(english, german)  # it is read as a gap
    press(page, "Hide the German text")
    compare(english)
    press(page, "Hide the German text", "Another sentence")
    compare(*settings["examples"][1])
    texts = "the _ sees _ cat", "_ Hund sieht jede Katze"
    fill(page, English=texts[0], German=texts[1])
    compare(*texts)
    surest, _ = max(best(texts), key=lambda gap: gap[1])
    press(page, "Fill the surest gap")
    assert said.inner_text().startswith(f"Wrote {surest}")


@of("translation_steps")
def test_each_step_adds_a_row_and_a_sentence_starts_with_all_its_words_written(page):
    settings = stored("14", "translation_steps").settings
    translations = settings["translations"]

    def check(translation, step):
        """The map holds the rows so far, with the shares of each, and the sentence its word."""
        words = [*translation["german"].split(), "⊣"]
        shown = rows(page, ".sx-map")[-len(words) :]
        assert [row[0] for row in shown] == words[:step] + ["…"] * (len(words) - step)
        for row, (_, *cells) in zip(translation["weights"][:step], shown, strict=False):
            expected = [0 if share < 0.045 else 100 * share for share in row]
            assert [int(text or 0) for text in cells] == pytest.approx(expected, abs=0.51)
        assert not any("".join(row[1:]) for row in shown[step:])
        written = " ".join(["⊢", *words[: step - 1]])
        assert status(page).startswith(f"After {written} it reads mostly ")
        assert f"and writes {words[step - 1]}" in status(page)

    translation = translations[settings["start"]]
    check(translation, len(translation["weights"]) - 1)
    for step in (1, len(translation["weights"]), 3):
        fill(page, Step=step)
        check(translation, step)
    last = len(translations) - 1
    page.get_by_label("Sentence", exact=True).select_option(str(last))
    check(translations[last], len(translations[last]["weights"]) - 1)


@of("costs")
def test_costs_are_those_of_the_package_and_sliders_and_presets_follow_each_other(page):
    def column(card):
        """The numbers of a card's table, in gigabytes if they are memory."""
        units = {"MB": 1e-3, "GB": 1, "TB": 1e3, "million": 1e6, "billion": 1e9}
        parts = [row[1].replace(",", "").split() for row in rows(page, f"[aria-label='{card}']")]
        return [float(n) * (units[unit[0]] if unit else 1) for n, *unit in parts[1:]]

    counts = scaling.count_parameters(GPTConfig(50_257, 1024, 1600, n_heads=25, n_layers=48))
    assert column("Parameters") == list(counts.values())
    memory = []
    for name in ("AdamW", "SGD"):
        press(page, name)
        memory.append(sum(column("Memory, worst moment")))
    two_means = 2 * 4 * sum(counts.values()) / 1e9
    assert memory[0] - memory[1] == pytest.approx(two_means, rel=0.01)
    press(page, "GPT-2 small")
    page.get_by_label("Layers, L").press("ArrowRight")
    deeper = GPTConfig(50_257, 1024, 768, n_heads=12, n_layers=16)
    assert f"{sum(scaling.count_parameters(deeper).values()):,} parameters" in status(page)


@of("law")
def test_sizes_are_trained_the_law_is_shown_and_another_budget_begins_anew(page):
    settings, budget = stored("16", "law").settings, 5e11
    law, tries = JointLaw(*settings["law"]), page.locator(".sx-tries tbody tr")
    for count, size in enumerate((3, 12, 25), 2):  # one is there at first
        fill(page, Size=size)
        press(page, "Train it")
        n = settings["sizes"][size]
        assert tries.count() == count
        _, loss, percent = numbers(tries.nth(count - 1).inner_text())
        assert loss == pytest.approx(law(n, budget / 6 / n), abs=0.0006)
        assert percent == pytest.approx(100 * wasted(law, budget, n), abs=0.6)
    tried, curve = page.locator(".sx-tried"), page.locator(".sx-curve")
    assert tried.count() == 4
    press(page, "Show all sizes")
    note = page.locator(".sx-chart + .sx-caption").inner_text()
    assert numbers(note)[0] == pytest.approx(law.best_size(budget), rel=0.01)
    stars = page.locator(".sx-star")
    assert stars.count() == len(dict(settings["tested"])[budget]) and curve.count() == 1
    press(page, "Hide the law")
    assert curve.count() == stars.count() == 0
    fill(page, Budget=len(settings["budgets"]) - 1)
    assert tried.count() == curve.count() == 0 and status(page) == "Nothing is trained yet."


def test_the_race_of_two_bars_is_filled_before_it_starts_and_then_takes_its_real_time(browser):
    page = browser.new_page()
    page.set_content(drawings.clock(("fast", 1.59), ("slow", 110.0)).data)
    fast, slow = page.locator(".course-clock span").all()
    assert fast.bounding_box()["width"] > 60 * slow.bounding_box()["width"] > 0
    still = page.get_by_text("After 1.6 seconds:")
    assert still.is_visible()
    running = "bar => bar.getAnimations().map(a => a.effect.getTiming().duration)"
    assert fast.evaluate(running) == slow.evaluate(running) == []
    page.get_by_role("checkbox", name="Start the race").press("Space")
    assert fast.evaluate(running) == [1590] and slow.evaluate(running) == [110_000]
    assert not still.is_visible()
    page.close()


@of("lines")
def test_each_set_of_lines_has_its_own_answers_and_loss(page):
    settings = stored("19", "lines").settings
    said = {frozenset(names): (loss, answers) for names, loss, answers in settings["said"]}
    own, part = said[frozenset()], {name: part for name, part, *_ in settings["parts"]}

    def check(on, question):
        loss, answers = said[frozenset(on)]
        assert status(page) == answers[question].strip()
        shown = numbers(page.locator(".sx-lin-loss").inner_text())
        more = [pytest.approx(loss - own[0], abs=0.011)] if on else []
        assert shown == [loss, *more]

    check([], 0)
    page.get_by_role("switch", name=part["base"]).click()
    check(["base"], 0)
    press(page, settings["questions"][2])
    check(["base"], 2)
    page.get_by_role("switch", name=part["norm"]).click()
    check(["base", "norm"], 2)
    press(page, "All as in SmolLM2")
    check([], 2)


@of("answers")
def test_each_model_is_told_with_its_own_answers_and_share(page):
    film = {name: own for name, _, own in stored("21", "answers").settings["stages"]}
    listed, bars = page.locator(".sx-ans-list code"), page.locator(".sx-ans-bars")
    at = next(each for each in film["sft"] if each["n"] == 85)
    share = next(n for n in numbers(status(page)) if n != int(n))
    assert share == pytest.approx(sum(at["bars"][0]) / 1e4, abs=0.006)
    assert listed.all_inner_texts() == at["answers"] and bars.count() == 1
    press(page, "base model")
    fill(page, Question=0)
    assert "continues with questions" in status(page)
    at = film["base"][0]
    assert listed.all_inner_texts() == [text.replace("\n", "⏎") for text in at["answers"]]


@of("silence")
def test_the_run_and_silenced_heads_show_their_own_loss_and_notes(page):
    film = stored("22", "silence").settings
    n = len(film["song"]) - 1  # notes that are expected
    heads = page.locator(".sx-song-tiles button")

    def shown():
        notes = page.locator(".sx-song-strip tr").nth(1).locator("td").all_inner_texts()
        return float(re.search(r"loss (\d\.\d+)", status(page))[1]), "".join(notes)

    def without(number):
        return film["losses"][number], film["best"][n * number : n * (number + 1)]

    end = film["frames"][-1]
    assert shown() == (round(end["loss"], 2), end["best"])
    heads.nth(2).click()
    heads.nth(1).click()
    assert shown() == without(1 << 2 | 1 << 1)
    press(page, "All heads back")
    assert shown() == without(0)
    fill(page, Steps=0)
    assert shown()[0] == round(film["frames"][0]["loss"], 2)
    heads.nth(5).press("Enter")  # which leads to the end of the run
    assert shown() == without(1 << 5)
