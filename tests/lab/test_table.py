"""The table of benchmarks: what is stored, and that each topic can run."""

import importlib
import sys
import types

import pytest

from lab import runs, table

ROW = runs.row("a|b", "theirs", "s", [1.0, 2.0, 4.0], [8.0, 8.0, 8.0])


@pytest.fixture(scope="module")
def stored():
    return runs.read(table.STORED)


def test_the_stored_table_has_every_topic_and_its_ratios_are_those_of_its_figures(stored):
    assert list(stored["topics"]) == list(table.TOPICS)
    for topic in stored["topics"].values():
        for found in topic["rows"]:
            measured = {key: found[key] for key in found if key not in ("ratio", "n")}
            assert found == runs.with_ratio(measured)
            assert found["n"] >= runs.FEWEST or found["note"]


# --- a run ---------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path, monkeypatch, short_text):
    """`table.main` on two topics of the test's own, measured in this process."""
    for name in ("good", "other"):
        topic = types.ModuleType(name)
        topic.SETTINGS, topic.rows = {}, lambda quick: [dict(ROW)]
        monkeypatch.setitem(sys.modules, f"lab.{name}", topic)
    monkeypatch.setattr(table, "TOPICS", ("good", "other"))
    monkeypatch.setattr(table, "in_own_process", table.measure)
    monkeypatch.setattr(table, "STORED", tmp_path / "table.json")
    monkeypatch.setattr(table, "SETTINGS", {"good": {}, "other": {}})
    return lambda *arguments: table.main(list(arguments))


def test_only_with_write_the_table_is_replaced(bench):
    bench("--quick")
    bench("--only", "good")
    assert not table.STORED.exists()
    bench("--write")
    rows = [topic["rows"] for topic in runs.read(table.STORED)["topics"].values()]
    assert rows == [[runs.with_ratio(ROW)]] * 2


def test_one_topic_is_renewed_with_its_day_but_never_from_another_machine(bench, monkeypatch):
    bench("--write")
    before = runs.read(table.STORED)
    bench("--only", "other", "--write")
    after = runs.read(table.STORED)
    assert after["topics"]["good"] == before["topics"]["good"] and after["day"] == before["day"]
    assert after["topics"]["other"]["day"] == runs.today()
    after["machine"]["cores"] += 14
    runs.store(table.STORED, after)
    with pytest.raises(ValueError, match=r"table.json is of another machine"):
        bench("--only", "other", "--write")
    assert runs.read(table.STORED) == after


@pytest.mark.parametrize("name", ["bpe", "generation_speed", "attention_memory"])
def test_each_topic_runs_from_end_to_end(name, short_text, monkeypatch):
    script = importlib.import_module(f"lab.{name}")
    if name == "generation_speed":
        sizes = {"context_length": 32, "d_model": 16, "n_heads": 2, "n_layers": 1}
        monkeypatch.setattr(script, "CONFIG", type(script.CONFIG)(65, **sizes))
    topic = table.measure(name, quick=True)
    names = [(r["what"], r["reference"], r["unit"]) for r in topic["rows"]]
    assert len(names) == len(set(names)) >= 2
