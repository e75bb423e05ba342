"""The table of benchmarks: what is stored, that the page tells it, that each topic can run."""

import importlib
import re
import sys
import types
from pathlib import Path

import pytest

from lab import attention_memory, benchmarks_page, ddp, runs, table

ROOT = Path(__file__).resolve().parents[2]
ROW = runs.row("a|b", "theirs", "s", [1.0, 2.0, 4.0], [8.0, 8.0, 8.0])


@pytest.fixture(scope="module")
def stored():
    return runs.read(benchmarks_page.TABLE)


# --- the page ------------------------------------------------------------------------------------


def test_the_page_is_that_of_what_is_stored(stored):
    page = benchmarks_page.page(stored, runs.read(benchmarks_page.PAGE_WEIGHTS))
    told = benchmarks_page.PAGE.read_text(encoding="utf-8")
    assert told == page, "run `python -m lab.table --page`"


def test_the_stored_table_has_every_topic_and_its_ratios_are_those_of_its_figures(stored):
    assert [topic["name"] for topic in stored["topics"]] == list(table.TOPICS)
    for topic in stored["topics"]:
        for found in topic["rows"]:
            measured = {key: found[key] for key in found if key not in ("ratio", "n")}
            assert found == runs.with_ratio(measured)
            assert found["n"] >= runs.FEWEST or found["note"]
    lines = [(t["name"], r["what"], r["reference"], r["unit"])
             for t in stored["topics"] for r in t["rows"]]  # fmt: skip
    assert len(lines) == len(set(lines))


def test_a_takeaway_names_the_better_side_first_and_says_where_rounds_disagree():
    def told(ratios):
        topics = [
            {"name": name, "rows": [ROW | {"what": w, "reference": r, "unit": u, "ratio": ratios}]}
            for (name, w, r, u), *_ in benchmarks_page.TAKEAWAYS
        ]
        return benchmarks_page.takeaways({"topics": topics})[0]

    ours, theirs = "Training a tokenizer with an index", "Counting all pairs"
    assert told([4, 2, 8]).startswith(ours) and told([4, 2, 8]).endswith("(2.00 to 8.00).")
    assert "**4.00 times**" in told([0.25, 0.1, 0.5]) and told([0.25, 0.1, 0.5]).startswith(theirs)
    assert told([0.25, 0.1, 0.5]).endswith("(2.00 to 10.0).")
    assert "not in every round" in told([2, 0.5, 4]) and "same in every" in told([3, 3, 3])


# --- a run ---------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path, monkeypatch, short_text):
    """`table.main` on two topics of the test's own, measured in this process."""
    for name in ("good", "other"):
        topic = types.ModuleType(name)
        topic.TITLE, topic.ABOUT, topic.rows = name, "A sentence.", lambda quick: [dict(ROW)]
        monkeypatch.setitem(sys.modules, f"lab.{name}", topic)
    monkeypatch.setattr(table, "TOPICS", ("good", "other"))
    monkeypatch.setattr(table, "in_own_process", table.measure)
    monkeypatch.setattr(table, "TABLE", tmp_path / "table.json")
    monkeypatch.setattr(benchmarks_page, "TABLE", tmp_path / "table.json")
    monkeypatch.setattr(benchmarks_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(benchmarks_page, "TAKEAWAYS", ())  # they quote rows of the real topics
    return lambda *arguments: table.main(list(arguments))


def test_a_run_is_shown_and_only_with_write_table_and_page_are_replaced(bench, capsys):
    bench("--quick")
    bench("--only", "good")
    assert "**4.00×** (2.00–8.00)" in capsys.readouterr().out
    assert not table.TABLE.exists() and not benchmarks_page.PAGE.exists()
    bench("--write")
    stored = runs.read(table.TABLE)
    assert [topic["rows"] for topic in stored["topics"]] == [[runs.with_ratio(ROW)]] * 2
    assert "a\\|b" in benchmarks_page.PAGE.read_text()


def test_one_topic_is_renewed_with_its_day_but_never_from_another_machine(bench, monkeypatch):
    bench("--write")
    before = runs.read(table.TABLE)
    bench("--only", "other", "--write")
    after = runs.read(table.TABLE)
    assert after["topics"][0] == before["topics"][0] and after["day"] == before["day"]
    assert after["topics"][1]["about"].startswith("A sentence. From a run of its own, of 2")
    after["machine"]["cores"] += 14
    runs.store(table.TABLE, after)
    with pytest.raises(ValueError, match=r"table.json is of another machine"):
        bench("--only", "other", "--write")
    assert runs.read(table.TABLE) == after


def test_a_topic_of_its_own_file_has_the_rows_of_that_run(stored, monkeypatch):
    found = runs.read(ddp.STORED)
    monkeypatch.setattr(runs, "machine", lambda: found["machine"])
    (topic,) = (topic for topic in stored["topics"] if topic["name"] == "ddp")
    assert table.from_its_file("ddp") == topic


def test_make_names_scripts_that_there_are():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"-m lab\.(\w+)", makefile)
    assert len(named) >= 7 and all((runs.LAB / f"{name}.py").is_file() for name in named)


@pytest.mark.parametrize("name", ["bpe", "ladder", "generation_speed"])
def test_each_topic_runs_from_end_to_end(name, short_text, monkeypatch):
    script = importlib.import_module(f"lab.{name}")
    if name == "bpe":
        monkeypatch.setattr(script, "NO_SPACES", {"an a": "a" * 500})
    if name == "generation_speed":
        sizes = {"context_length": 32, "d_model": 16, "n_heads": 2, "n_layers": 1}
        monkeypatch.setattr(script, "CONFIG", type(script.CONFIG)(65, **sizes))
    topic = table.measure(name, quick=True)
    names = [(r["what"], r["reference"], r["unit"]) for r in topic["rows"]]
    assert len(names) == len(set(names)) >= 2 and topic["title"] and topic["about"].endswith(".")


def test_two_processes_are_measured_beside_one(tmp_path, short_text):
    """Here in one process: what torchrun adds is tested where the library trains with two."""
    ddp.worker(tmp_path / "found.json", quick=True)
    for row in ddp.rows_of(runs.read(tmp_path / "found.json")):
        assert runs.with_ratio(row, fewest=1)["ratio"][0] > 0


# --- memory --------------------------------------------------------------------------------------


def test_explicit_memory_grows_with_the_square_and_the_fused_kernels_does_not():
    rows = attention_memory.rows(quick=True)
    memory = {r["what"]: r for r in rows if r["unit"] == "MB"}
    small, large = (memory[f"fused kernel, causal, T = {T}"] for T in (256, 512))
    assert large["theirs"][0] > 3.4 * small["theirs"][0]
    assert large["ours"][0] < 2.4 * small["ours"][0]
    masked = memory["fused kernel, given a mask, T = 512"]["ours"][0]
    assert masked == pytest.approx(large["ours"][0] + 512 * 512 * 4 / 1e6, rel=0.05)
