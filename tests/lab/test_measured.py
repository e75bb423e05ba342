"""Measured numbers in pages: each kind of failure ends the build, and names the command."""

import json
import sys
import types
from pathlib import Path

import pytest
from sphinx.application import Sphinx

from book._ext import measured_ext as measured

PAGE = """# Page

The loss is {measured}`trial.runs | mean("loss.last") | fixed(2)`.

:::{measured}
:check: |
:   trial.runs | length == 2
:   CHECK
| seed | loss |
|---|---|
{% for run in trial.runs %}
| {{ run.seed }} | {{ run.loss.last | fixed(VALUE) }} |
{% endfor %}
:::
"""
CONF = "extensions = ['myst_parser', 'measured_ext']\nmyst_enable_extensions = ['colon_fence']\n"


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """A measurement, trial.json, with its script lab.trial; a function that builds a page."""
    script = types.ModuleType("lab.trial")
    script.SETTINGS = {"steps": (1, 2), "rate": 0.1}
    monkeypatch.setitem(sys.modules, "lab.trial", script)
    monkeypatch.setitem(sys.modules, "measured_ext", measured)
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    rows = [{"seed": seed, "loss": {"last": loss}} for seed, loss in ((0, 1.0), (1, 1.5))]
    stored = {"settings": {"steps": [1, 2], "rate": 0.1}, "runs": rows}
    (tmp_path / "trial.json").write_text(json.dumps(stored))
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    (source / "conf.py").write_text(CONF)

    def build(check="true", value="1"):
        (source / "index.md").write_text(PAGE.replace("CHECK", check).replace("VALUE", value))
        app = Sphinx(source, source, out, out / "trees", "text", status=None, warning=None)
        app.build()
        return (out / "index.txt").read_text(), app.env

    measured.load.cache_clear()
    yield script, build
    measured.load.cache_clear()


def test_a_page_shows_values_and_tables_and_depends_on_their_file(trial, tmp_path):
    text, env = trial[1]('trial.runs | least("loss.last") == 1')
    assert "The loss is 1.25." in text
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in row if "=" not in cell]
    assert cells == ["seed", "loss", "0", "1.0", "1", "1.5"]
    assert str(tmp_path / "trial.json") in {str(Path(d)) for d in env.dependencies["index"]}


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        ("trial.runs[0].loss.last > 2", "1", "not true any more: trial.runs"),
        ("true", "run.digits", "no attribute 'digits'"),
        ("other.runs", "1", "there is no measurements/other.json"),
        ("trial.runs | where(seed=7)", "1", r"0 rows have .* expected 1"),
    ],
)
def test_a_failed_check_or_a_missing_value_ends_the_build(trial, check, value, message):
    with pytest.raises(measured.MeasurementError, match=message) as error:
        trial[1](check, value)
    name = "other" if "other" in check else "trial"
    assert f"`python -m lab.{name} --write`" in str(error.value)
    assert "index, line 5" in str(error.value)


def test_a_measurement_with_other_settings_ends_the_build_before_any_page(trial):
    script, build = trial
    script.SETTINGS = {"steps": (1, 3), "rate": 0.1}
    script.STAGES = "--write", "--large --write"
    commands = "`python -m lab.trial --write` and then `python -m lab.trial --large --write`"
    with pytest.raises(measured.MeasurementError, match=rf"\(steps\): {commands}"):
        build()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('[{"a": {"b": 1}}, {"a": {"b": 4}}] | mean("a.b")', "2.5"),
        ('{"x": [7, 1], "y": [7, 3]} | mean("1")', "2"),
        ("[3, 1, 2] | median", "2"),
        ('([{"n": "a", "x": 1}, {"n": "b", "x": 2}] | where(n="b")).x', "2"),
        ("1234.567 | fixed(1)", "1,234.6"),
        ("0.012345 | figure", "0.0123"),
        ("1234.5 | figure", "1,234"),
        ("[1.18, 1.22] | spread(1)", "1.2"),
        ("[1, 2.25] | spread(1)", "1.0 to 2.2"),
        ("0.030 | plain", "0.03"),
    ],
)
def test_filters_give_what_is_computed_by_hand(expression, expected):
    assert measured.rendered(f"{{{{ {expression} }}}}") == expected
