"""What was named at first sight stays stored, whatever is named now."""

from lab import diagnoses, runs
from scratchformer_course.ch25_silent_bugs.faults import FAULTS, HEALTHY


def test_the_first_sight_is_kept_and_the_rest_renewed(monkeypatch, tmp_path):
    name = "nucleus_one_short"
    monkeypatch.setattr(runs, "FOLDER", tmp_path)
    monkeypatch.setattr(diagnoses, "HEALTHY", {"plain": HEALTHY["plain"]})
    monkeypatch.setattr(diagnoses, "FAULTS", {name: FAULTS[name]})
    runs.store(
        runs.path_of("diagnoses"), {"patients": {name: {"first_sight": [], "now": ["cache"]}}}
    )
    diagnoses.main(["--write"])
    stored = runs.read(runs.path_of("diagnoses"))
    patient, twin = stored["patients"][name], stored["twins"]["plain"]
    assert patient["first_sight"] == [] and patient["now"] == ["kept share"]
    assert patient["first_suspect"].startswith("the token that reaches top_p")
    assert twin == {"first_sight": [], "now": []}
