"""What all scripts share: ratios round by round, rounds in turn, files that say their origin."""

import json

import pytest

from lab import runs


def test_a_ratio_is_taken_round_by_round_and_above_one_is_ours():
    row = runs.row("ours", "theirs", "s", [1.0, 2.0, 4.0], [8.0, 8.0, 8.0])
    assert runs.with_ratio(row)["ratio"] == [4.0, 2.0, 8.0]
    assert runs.with_ratio(row | {"unit": "tokens/s"})["ratio"] == [0.25, 0.125, 0.5]
    once = runs.with_ratio(row | {"theirs": [8.0], "note": "takes minutes"})
    assert once["ratio"] == [4.0, 2.0, 8.0] and once["n"] == 1
    with pytest.raises(ValueError, match="1 of 3 rounds, and no note"):
        runs.with_ratio(row | {"theirs": [8.0]})


def test_a_stored_file_holds_what_was_measured_and_where(tmp_path):
    result = runs.stamp() | {"runs": [{"loss": 1.5, "at": [1, 2]}] * 40, 3: {"ä": None}}
    runs.store(tmp_path / "new.json", result)
    assert runs.read(tmp_path / "new.json") == json.loads(json.dumps(result))
    assert max(map(len, (tmp_path / "new.json").read_text().splitlines())) < 200
    assert result["hardware"]["cores"] >= 1 and {"python", "torch"} < set(result["versions"])


def test_finished_runs_are_kept_until_a_setting_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "FOLDER", tmp_path)

    def measure(settings, names, write=True):
        kept = runs.Kept("kept", settings, write)
        for name in names:
            kept.once("runs", name, job=lambda name=name: {"loss": jobs.append(name) or len(jobs)})
        return kept.result["runs"]

    jobs = []
    measure({"steps": (1, 2)}, "ab")
    assert measure({"steps": (1, 2)}, "abc")["a"] == {"loss": 1} and jobs == ["a", "b", "c"]
    stored = (tmp_path / "kept.json").read_text()
    assert set(measure({"steps": (1, 3)}, "a", write=False)) == {"a"}
    assert (tmp_path / "kept.json").read_text() == stored
    assert measure({"steps": (1, 3)}, "a") == {"a": {"loss": 5}}


def test_a_part_is_replaced_with_its_own_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "FOLDER", tmp_path)

    def measure(part, settings):
        parts = {name: lambda options, name=name: {"loss": name} for name in "ab"}
        runs.script("A script.", "parts", parts, settings)(["--write", "--only", part])

    measure("a", {"a": {"lr": 1}, "b": {"lr": 2}})
    measure("b", {"a": {"lr": 9}, "b": {"lr": 2}})
    stored = runs.read(tmp_path / "parts.json")
    assert stored["settings"] == {"a": {"lr": 1}, "b": {"lr": 2}}
    assert (stored["a"]["loss"], stored["b"]["loss"]) == ("a", "b") and stored["b"]["day"]


def test_no_stand_in_is_written_about(monkeypatch):
    class StandIn:
        is_real, text = False, "to be"

    monkeypatch.setattr(runs, "load_corpus", lambda name: StandIn)
    assert runs.load_text() == "to be"
    with pytest.raises(SystemExit, match="not replaced"):
        runs.load_text(write=True)
