"""A notebook's setup: the budget follows the device unless told, and a source is shown whole."""

import os
import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import pytest
import torch

from scratchformer_course.kit import chapter


def test_the_budget_follows_the_device_and_the_variable_overrides_it(monkeypatch):
    monkeypatch.delenv("SCRATCHFORMER_BUDGET", raising=False)
    monkeypatch.setattr(chapter, "device", lambda: torch.device("cpu"))
    assert chapter.budget(cpu=1, gpu=2) == 1
    monkeypatch.setattr(chapter, "device", lambda: torch.device("cuda"))
    assert chapter.budget(cpu=1, gpu=2) == 2
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "cpu")
    assert chapter.budget(cpu=1, gpu=2) == 1
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "huge")
    with pytest.raises(ValueError, match="'huge'; expected cpu, gpu or smoke"):
        chapter.budget(cpu=1, gpu=2)


def test_what_a_budget_does_not_give_is_as_for_the_cpu(monkeypatch):
    for name in ("cpu", "gpu", "smoke"):
        monkeypatch.setenv("SCRATCHFORMER_BUDGET", name)
        assert chapter.budget(cpu=9) == 9
    assert chapter.budget(cpu=9, gpu=0, smoke=2) == 2
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "gpu")
    assert chapter.budget(cpu=9, gpu=0, smoke=2) == 0  # given, though it counts as false


def test_only_the_smoke_budget_says_that_numbers_mean_nothing(monkeypatch, capsys):
    monkeypatch.setenv("SCRATCHFORMER_PLAYHOUSE", "9")  # the reader's own length is kept
    for name in ("", "cpu", "gpu", "smoke"):
        monkeypatch.setenv("SCRATCHFORMER_BUDGET", name)
        with plt.rc_context():
            chapter.setup()
        lines = capsys.readouterr().out.splitlines()
        assert chapter.is_smoke() is (name == "smoke")
        assert len(lines) == chapter.is_smoke() and os.environ["SCRATCHFORMER_PLAYHOUSE"] == "9"
    assert "numbers below mean nothing" in lines[0]


@pytest.fixture
def plot():
    """A figure as a chapter would draw it, and the SVG that a page shows."""
    with plt.rc_context():
        chapter.setup()
        fig, ax = plt.subplots()
        ax.plot([0, 1, 4], "k--", marker="o", label="$x^2$")
        ax.bar([0, 1], [1, 2], hatch="//")
        ax.set_title('"#1" url(#a) ' + chapter.INK)
        ax.set(xlabel="steps", ylabel="loss")
        ax.legend()
        yield fig, chapter.themed_svg(fig)
        plt.close(fig)


def test_a_figure_takes_the_pages_colours_and_nothing_is_painted_white(plot):
    _, svg = plot
    ET.fromstring(svg)
    assert svg.startswith('<svg class="course-plot"') and "currentColor" in svg
    tags = "".join(re.findall("<[^>]*>", svg))
    assert chapter.INK not in tags and "#000000" not in svg and "#ffffff" not in svg
    assert "<style" not in svg  # it would hold for every other picture of the page
    assert ">steps</text>" in svg  # letters, which are sharp and can be searched
    assert f">&quot;#1&quot; url(#a) {chapter.INK}</text>" in svg.replace('"#1"', "&quot;#1&quot;")
    colours = re.findall(r'(?:fill|stroke)[=:] ?"?#(\w+)', tags)
    assert {len(colour) for colour in colours} == {6}


def test_a_figure_is_the_same_each_time_and_shares_no_name_with_another(plot):
    fig, svg = plot
    assert chapter.themed_svg(fig) == svg
    fig.axes[0].set_title("another")
    names = [set(re.findall(r' id="([^"]+)"', text)) for text in (svg, chapter.themed_svg(fig))]
    assert names[0] and not names[0] & names[1]
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)"', svg))
    assert used and used <= names[0]
