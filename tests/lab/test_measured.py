"""Measured numbers in pages: each kind of failure ends the build, and names the command."""

import importlib
import json
import sys
import types
from pathlib import Path

import pytest
from sphinx.application import Sphinx

from book._ext import measured_ext as measured
from lab import runs

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


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """A measurement, trial.json, with its script lab.trial."""
    script = types.ModuleType("lab.trial")
    script.SETTINGS = {"steps": (1, 2), "rate": 0.1}
    monkeypatch.setitem(sys.modules, "lab.trial", script)
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    found = [{"seed": seed, "loss": {"last": loss}} for seed, loss in ((0, 1.0), (1, 1.5))]
    stored = {"settings": {"steps": [1, 2], "rate": 0.1}, "runs": found}
    (tmp_path / "trial.json").write_text(json.dumps(stored))
    measured.load.cache_clear()
    yield script
    measured.load.cache_clear()


def build(folder, page):
    """The text of a built page."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "index.md").write_text(page)
    (source / "conf.py").write_text(
        "extensions = ['myst_parser', 'measured_ext']\nmyst_enable_extensions = ['colon_fence']\n"
    )
    out = folder / "out"
    app = Sphinx(source, source, out, out / "trees", "text", status=None, warning=None)
    app.build()
    return (out / "index.txt").read_text(), app.env


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.setitem(sys.modules, "measured_ext", measured)


def test_a_page_shows_values_and_tables_and_depends_on_their_file(trial, extension, tmp_path):
    page = PAGE.replace("CHECK", 'trial.runs | least("loss.last") == 1').replace("VALUE", "1")
    text, env = build(tmp_path, page)
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
    ],
)
def test_a_failed_check_or_a_missing_value_ends_the_build(
    trial, extension, tmp_path, check, value, message
):
    page = PAGE.replace("CHECK", check).replace("VALUE", value)
    with pytest.raises(measured.MeasurementError, match=message) as error:
        build(tmp_path, page)
    name = "other" if "other" in check else "trial"
    assert f"`python -m lab.{name} --write`" in str(error.value)
    assert "index, line 5" in str(error.value)


def test_a_measurement_with_other_settings_ends_the_build_before_any_page(
    trial, extension, tmp_path
):
    trial.SETTINGS = {"steps": (1, 3), "rate": 0.1}
    with pytest.raises(
        measured.MeasurementError, match=r"\(steps\): `python -m lab.trial --write`"
    ):
        build(tmp_path, "# A page without numbers")
    trial.STAGES = "--anew --write", "--large --write"
    said = measured.command("trial")
    assert said.startswith("`python -m lab.trial --anew --write` and then `python -m lab.trial --l")


def test_every_measurement_is_of_the_script_of_its_name_and_has_its_settings():
    found = sorted(measured.FOLDER.glob("*.json"))
    assert len(found) > 20
    for path in found:
        assert (runs.LAB / f"{path.stem}.py").is_file(), path
        script = importlib.import_module(f"lab.{path.stem}")
        assert script.SETTINGS, path
        assert measured.differing_settings(path.stem) == [], path
    held = [path.name for path in runs.LAB.glob("*.json")]
    assert held == ["mutants.json"], "the lab holds scripts, and what explains their findings"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('[{"a": {"b": 1}}, {"a": {"b": 4}}] | mean("a.b")', "2.5"),
        ('{"x": [7, 1], "y": [7, 3]} | mean("1")', "2"),
        ("[3, 1, 2] | median", "2"),
        ('([{"n": "a", "x": 1}, {"n": "b", "x": 2}] | where(n="b")).x', "2"),
        ("1234.567 | fixed(1)", "1,234.6"),
        ("0.012345 | figure", "0.0123"),
        ("78.94 | figure", "78.9"),
        ("1234.5 | figure", "1,234"),
        ("[0.118, 0.122] | spread(2)", "0.12"),
        ("[1.18, 1.22] | spread(1)", "1.2"),
        ("[1, 2.25] | spread(1)", "1.0 to 2.2"),
        ("0.030 | plain", "0.03"),
        ("0.00000012 | power", "1.2 · 10⁻⁷"),
    ],
)
def test_filters_give_what_is_computed_by_hand(expression, expected):
    assert measured.rendered(f"{{{{ {expression} }}}}") == expected


def test_a_row_that_is_not_the_only_one_is_refused():
    with pytest.raises(measured.MeasurementError, match=r"2 rows have .* expected 1"):
        measured.rendered('{{ [{"n": 1}, {"n": 1}] | where(n=1) }}')
