"""A notebook's setup: the budget follows the device unless told, plots take a page's colours."""

import os
import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import pytest
import torch

from scratchformer_course.kit import chapter


def test_the_budget_follows_the_device_and_the_variable_overrides_it(monkeypatch):
    monkeypatch.delenv("SCRATCHFORMER_BUDGET", raising=False)
    for device, steps in (("cpu", 1), ("cuda", 2)):
        monkeypatch.setattr(chapter, "device", lambda device=device: torch.device(device))
        assert chapter.budget(cpu=1, gpu=2) == steps
    for name, steps in (("cpu", 9), ("gpu", 0), ("smoke", 2)):
        monkeypatch.setenv("SCRATCHFORMER_BUDGET", name)
        assert chapter.budget(cpu=9) == 9  # what is not given is as for the CPU
        assert chapter.budget(cpu=9, gpu=0, smoke=2) == steps
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "huge")
    with pytest.raises(ValueError, match="'huge'; expected cpu, gpu or smoke"):
        chapter.budget(cpu=1, gpu=2)


def test_only_the_smoke_budget_says_that_numbers_mean_nothing(monkeypatch, capsys):
    monkeypatch.setenv("SCRATCHFORMER_PLAYHOUSE", "9")  # the reader's own length is kept
    for name in ("", "gpu", "smoke"):
        monkeypatch.setenv("SCRATCHFORMER_BUDGET", name)
        with plt.rc_context():
            chapter.setup()
        warns = "numbers below mean nothing" in capsys.readouterr().out
        assert warns is chapter.is_smoke() is (name == "smoke")
    assert os.environ["SCRATCHFORMER_PLAYHOUSE"] == "9"


def test_a_plot_takes_the_pages_colours_and_its_names_are_its_own():
    with plt.rc_context():
        chapter.setup()
        fig, ax = plt.subplots()
        ax.plot([0, 1, 4], "k--", marker="o", label="$x^2$")
        ax.bar([0, 1], [1, 2], hatch="//")
        ax.set(title='"#1" url(#a) ' + chapter.INK, xlabel="steps")
        svg, again = chapter.themed_svg(fig), chapter.themed_svg(fig)
        fig.axes[0].set_title("another")
        other = chapter.themed_svg(fig)
        plt.close(fig)
    ET.fromstring(svg)
    assert svg == again and svg.startswith('<svg class="course-plot"') and "currentColor" in svg
    tags = "".join(re.findall("<[^>]*>", svg))
    assert chapter.INK not in tags and "#000000" not in svg and "#ffffff" not in svg
    assert "<style" not in svg  # it would hold for every other picture of the page
    assert ">steps</text>" in svg and f"url(#a) {chapter.INK}</text>" in svg  # letters are letters
    names = [set(re.findall(r' id="([^"]+)"', text)) for text in (svg, other)]
    assert names[0] and not names[0] & names[1]
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)"', svg)) <= names[0]
