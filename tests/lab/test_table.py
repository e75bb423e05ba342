"""The table of benchmarks: what a ratio is, what is stored, that the page tells what is stored."""

import json
import subprocess
from pathlib import Path

import pytest
import torch

from lab import attention_memory, bpe, ladder, table

ROOT = Path(__file__).resolve().parents[2]


def row(**changes):
    whole = {"what": "ours", "reference": "theirs", "unit": "s", "better": "lower",
             "ours": [1.0, 2.0, 4.0], "theirs": [8.0, 8.0, 8.0], "note": ""}  # fmt: skip
    return whole | changes


@pytest.fixture(scope="module")
def stored():
    assert table.STORED.is_file(), "lab/table.json is not there: run `make bench`"
    return json.loads(table.STORED.read_text(encoding="utf-8"))


def test_a_ratio_is_taken_round_by_round_and_above_one_is_ours():
    assert table.with_ratio(row())["ratio"] == [4.0, 2.0, 8.0]
    assert table.with_ratio(row(better="higher"))["ratio"] == [0.25, 0.125, 0.5]
    assert table.with_ratio(row())["n"] == 3


def test_a_reference_that_ran_once_counts_as_one_round():
    once = table.with_ratio(row(theirs=[8.0], note="takes minutes"))
    assert once["ratio"] == [4.0, 2.0, 8.0] and once["n"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"theirs": [8.0]}, "1 of 3 rounds, and no note"),
        ({"ours": [1.0, 2.0], "theirs": [1.0, 2.0]}, "2 of 3 rounds, and no note"),
        ({"theirs": [8.0, 8.0], "note": "why"}, "3 figures of ours, 2 of theirs"),
        ({"ours": []}, "0 figures of ours"),
        ({"ours": [1.0, 0.0, 1.0]}, "expected positive"),
        ({"ours": [1.0, float("nan"), 1.0]}, "expected positive"),
        ({"better": "more"}, "better='more'"),
        ({"ratio": [1, 1, 1]}, "got the keys"),
    ],
)
def test_a_row_that_is_not_whole_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        table.with_ratio(row(**changes))


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.004567, "0.00457"), (0.62, "0.620"), (9.8, "9.80"), (42.31, "42.3"), (178.2, "178"),
     (1234.5, "1,234"), (10, "10.0")],
)  # fmt: skip
def test_figures_have_three_digits(x, text):
    assert table.figure(x) == text


def table_of(ratios):
    """A table that has the row of each takeaway, with ratios that are given by turns."""
    topics = []
    for (name, what, reference, unit), *_ in table.TAKEAWAYS:
        found = table.with_ratio(row(what=what, reference=reference, unit=unit))
        found["ratio"] = list(ratios)
        topics.append({"name": name, "rows": [found]})
    return {"topics": topics}


def test_a_takeaway_names_the_better_side_first_with_the_ratio_and_its_range():
    assert table.takeaways(table_of([4, 2, 8]))[0] == (
        "Training a tokenizer with an index of pairs is **4.00 times** as fast as counting all "
        "pairs anew before each merge (2.00 to 8.00)."
    )
    assert table.takeaways(table_of([0.25, 0.1, 0.5]))[0] == (
        "Counting all pairs anew before each merge is **4.00 times** as fast as training a "
        "tokenizer with an index of pairs (2.00 to 10.0)."
    )


def test_a_takeaway_says_where_the_rounds_disagree_and_where_they_are_all_alike():
    doubtful, certain = (table.takeaways(table_of(r))[0] for r in ([2, 0.5, 4], [3, 3, 3]))
    assert doubtful.endswith("(0.500 to 4.00, so not in every round).")
    assert certain.endswith("(the same in every round).")
    with pytest.raises(ValueError, match=r"no row .*, which a takeaway quotes"):
        table.takeaways({"topics": []})


def test_the_page_leads_with_five_takeaways_of_the_stored_rows(stored):
    """One of them is lost by the course: a page that only boasts is no help."""
    lead = table.PAGE.read_text(encoding="utf-8").split("\n## ")[0].split("The tables below")[0]
    listed = [line for line in lead.splitlines() if line[:2] in ("1.", "2.", "3.", "4.", "5.")]
    assert [line[3:] for line in listed] == table.takeaways(stored) and len(listed) == 5
    rows = {(t["name"], r["what"], r["reference"], r["unit"]): r["ratio"][0]
            for t in stored["topics"] for r in t["rows"]}  # fmt: skip
    won = [rows[key] > 1 for key, *_ in table.TAKEAWAYS]
    assert won.count(False) == 1
    for sentence in listed:
        assert len(sentence.split()) <= 30, sentence


GOOD = f"""
import torch
TITLE, ABOUT = "Good", "A sentence."
def rows(quick=False):
    torch.set_num_threads(1)
    return [{row(what="a|b")!r}]
"""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """`table.main` on scripts of the test's own: bench(name=source, …)(*arguments)."""
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    monkeypatch.setattr(table, "STORED", tmp_path / "table.json")
    monkeypatch.setattr(table, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(table, "TAKEAWAYS", ())  # they quote rows of the real scripts

    class Corpus:
        is_real = True

    monkeypatch.setattr("scratchformer.data.load_corpus", lambda name: Corpus)

    def prepare(**scripts):
        monkeypatch.setattr(table, "TOPICS", tuple(scripts))
        for name, source in scripts.items():
            if source:
                (tmp_path / f"{name}.py").write_text(source)
        return lambda *arguments: table.main(list(arguments))

    prepare.corpus = Corpus
    return prepare


@pytest.fixture
def measured_at_once(monkeypatch):
    """A topic as another process would return it, without the seconds one takes to start."""
    found = {"title": "Good", "about": "A sentence.", "threads": 1, "seconds": 0.0}
    found["rows"] = [table.with_ratio(row())]
    monkeypatch.setattr(table, "in_own_process", lambda name, quick: found | {"name": name})


@pytest.fixture
def three_threads():
    """Another number of threads than a script that is measured sets, whatever the machine has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(threads)


def test_a_whole_run_stores_table_and_page_and_leaves_threads_alone(bench, capsys, three_threads):
    bench(bench_good=GOOD)()
    stored = json.loads(table.STORED.read_text())
    assert stored["topics"][0]["rows"] == [table.with_ratio(row(what="a|b"))]
    assert stored["topics"][0]["threads"] == 1 and torch.get_num_threads() == 3
    assert table.PAGE.read_text() == table.page(stored)
    assert "a\\|b" in table.PAGE.read_text()
    assert "4.00× (2.00–8.00)" in capsys.readouterr().out
    assert set(stored["versions"]) == {"Python", *table.PACKAGES}
    assert stored["machine"]["cores"] >= 1 and stored["machine"]["processor"]
    table.PAGE.write_text("an older page")
    bench(bench_good=GOOD)("--page")
    assert table.PAGE.read_text() == table.page(stored)


@pytest.mark.parametrize("arguments", [["--quick"], ["--only", "bench_good"]])
def test_a_part_of_the_table_stores_nothing(bench, arguments, capsys, measured_at_once):
    bench(bench_good=GOOD)(*arguments)
    assert "Nothing will be stored" in capsys.readouterr().out
    assert not table.STORED.exists() and not table.PAGE.exists()


def test_without_the_corpus_nothing_is_stored(bench, monkeypatch, capsys, measured_at_once):
    monkeypatch.setattr(bench.corpus, "is_real", False)
    bench(bench_good=GOOD)()
    assert "Playhouse stands in" in capsys.readouterr().out
    assert not table.STORED.exists() and not table.PAGE.exists()


def test_a_topic_that_fails_stops_the_run_and_stores_nothing(bench):
    table.STORED.write_text("as it was")
    failing = "TITLE = ABOUT = ''\ndef rows(quick=False):\n    raise RuntimeError('no such luck')"
    run = bench(bench_good=GOOD, bench_failing=failing)
    with pytest.raises(SystemExit, match=r"bench_failing.py failed, nothing is stored.*no such"):
        run()
    assert table.STORED.read_text() == "as it was" and not table.PAGE.exists()
    assert not list(table.FOLDER.glob("*.part"))


def test_one_topic_is_renewed_and_the_others_stay(bench, monkeypatch, measured_at_once):
    run = bench(bench_good=GOOD, bench_other=GOOD)
    run()
    before = json.loads(table.STORED.read_text())
    new = before["topics"][1] | {"rows": [table.with_ratio(row(ours=[1.0, 1.0, 1.0]))]}
    monkeypatch.setattr(table, "in_own_process", lambda name, quick: dict(new))
    run("--renew", "bench_other")
    after = json.loads(table.STORED.read_text())
    assert after["topics"][0] == before["topics"][0] and after["day"] == before["day"]
    assert after["topics"][1]["rows"] == new["rows"] != before["topics"][1]["rows"]
    assert after["topics"][1]["about"].startswith("A sentence. From a run of its own, of 2")
    assert table.PAGE.read_text() == table.page(after)

    after["machine"]["cores"] += 14
    table.STORED.write_text(json.dumps(after))
    with pytest.raises(ValueError, match="another machine"):
        run("--renew", "bench_other")
    assert json.loads(table.STORED.read_text()) == after


STORED = """
import json
TITLE, ABOUT = "Long", "A sentence."
def rows(quick=False):
    raise RuntimeError("was to be taken from its file")
def rows_of(found):
    return found["rows"]
"""


def test_a_long_run_is_taken_from_its_file_but_never_from_another_machine(bench, capsys):
    run = bench(ddp=STORED)
    found = {"rows": [row(what="long")], "machine": table.machine(), "seconds": 300.0}
    (table.FOLDER / "ddp.json").write_text(json.dumps(found))
    run("--stored", "ddp")
    (topic,) = json.loads(table.STORED.read_text())["topics"]
    assert topic["rows"] == [table.with_ratio(row(what="long"))] and topic["seconds"] == 300.0
    assert "From a run of its own" in table.PAGE.read_text()
    found["machine"]["cores"] += 14
    (table.FOLDER / "ddp.json").write_text(json.dumps(found))
    with pytest.raises(SystemExit, match=r"ddp.json is of another machine.*measure it here"):
        run("--stored", "ddp")


def test_a_script_that_is_missing_is_said_before_anything_runs(bench, capsys):
    with pytest.raises(SystemExit, match=r"there is no bench_missing.py .* nothing was measured"):
        bench(bench_good=GOOD, bench_missing=None)()
    assert "bench_good" not in capsys.readouterr().out


def test_every_topic_is_a_script_and_says_what_it_measures():
    for name in table.TOPICS:
        source = (ROOT / "lab" / f"{name}.py").read_text(encoding="utf-8")
        for part in ("\nTITLE = ", "\nABOUT = ", "\ndef rows(quick: bool = False)"):
            assert part in source, f"{name}.py has no {part.strip()}"


def test_make_bench_runs_the_table():
    command = ["make", "--dry-run", "--assume-old=.venv/ready", "bench"]
    plain = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    quick = subprocess.run([*command, "QUICK=1"], cwd=ROOT, capture_output=True, text=True).stdout
    assert "lab/table.py" in plain and "--quick" not in plain
    assert "lab/table.py --quick" in quick


def test_the_page_is_that_of_the_stored_table(stored):
    assert table.PAGE.read_text(encoding="utf-8") == table.page(stored), (
        "run `python lab/table.py --page`"
    )


def test_the_stored_table_has_every_topic_and_its_rows_hold(stored):
    assert [topic["name"] for topic in stored["topics"]] == list(table.TOPICS)
    assert stored["seconds"] > 0 and stored["machine"]["cores"] >= 1
    for topic in stored["topics"]:
        assert topic["title"] and topic["about"].endswith(".") and topic["threads"] >= 1
        assert topic["rows"]
        for found in topic["rows"]:
            assert found == table.with_ratio({key: found[key] for key in table.KEYS})
            median, low, high = found["ratio"]
            assert 0 < low <= median <= high
            assert found["n"] >= table.FEWEST or found["note"]
    lines = [(t["name"], r["what"], r["reference"], r["unit"])
             for t in stored["topics"] for r in t["rows"]]  # fmt: skip
    assert len(lines) == len(set(lines))


def test_the_stored_table_is_in_the_courses_favour_where_it_claims_to_be(stored):
    rows = {(t["name"], r["what"], r["reference"]): r["ratio"][0]
            for t in stored["topics"] for r in t["rows"]}  # fmt: skip
    assert rows["bpe", "`WordBPE.train`", "textbook recount"] > 50
    assert rows["generation", "the next token after 255, cached", "recomputed"] > 5
    assert rows["ladder", "layer norm, package's loop", "textbook's loop, list of heads"] > 1.3
    memory = [r for t in stored["topics"] for r in t["rows"]
              if r["unit"] == "MB" and r["what"] == "fused kernel, causal, T = 4,096"]  # fmt: skip
    assert memory[0]["ratio"][0] > 20


def test_peak_memory_is_the_most_at_any_moment():
    kept = torch.zeros(5000)  # there before: not counted

    def job():
        a = torch.zeros(1000, dtype=torch.uint8)
        b = torch.zeros(3000, dtype=torch.uint8)
        del a
        return torch.zeros(2000, dtype=torch.uint8) if b is not None else kept

    assert attention_memory.peak_bytes(job) == 5000


def test_peak_memory_is_what_the_system_sees():
    """The allocator's figure against the kernel's own peak, on matrices too big for the heap."""
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not clear.exists():
        pytest.skip("no /proc: this system does not tell a process's peak")

    def resident(field):
        lines = status.read_text().splitlines()
        return 1024 * int(next(li for li in lines if li.startswith(field)).split()[1])

    explicit = attention_memory.attentions(3072)["explicit"]
    q = torch.randn(1, 1, 3072, 64)
    explicit(q, q, q)
    clear.write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    explicit(q, q, q)
    seen = resident("VmHWM") - before
    assert attention_memory.peak_bytes(lambda: explicit(q, q, q)) == pytest.approx(seen, rel=0.15)


def test_the_three_attentions_compute_the_same_and_the_rows_say_so_much():
    q, k, v = torch.randn(3, 1, 1, 48, 64).unbind()
    explicit, *others = (attend(q, k, v) for attend in attention_memory.attentions(48).values())
    for other in others:
        torch.testing.assert_close(other, explicit)


def test_explicit_memory_grows_with_the_square_and_the_fused_kernels_does_not():
    rows = [table.with_ratio(r, fewest=1) for r in attention_memory.rows(quick=True)]
    memory = {r["what"]: r for r in rows if r["unit"] == "MB"}
    small, large = (memory[f"fused kernel, causal, T = {T}"] for T in (256, 512))
    assert large["theirs"][0] > 3.4 * small["theirs"][0]
    assert large["ours"][0] < 2.4 * small["ours"][0]
    masked = memory["fused kernel, given a mask, T = 512"]["ours"][0]
    assert masked == pytest.approx(large["ours"][0] + 512 * 512 * 4 / 1e6, rel=0.05)


def test_a_slope_is_the_power_of_the_length():
    assert attention_memory.slope([1, 2, 4], [3, 12, 48]) == pytest.approx(2)


@pytest.mark.parametrize("script", [bpe, ladder])
def test_rows_can_be_measured_on_any_text(script, monkeypatch):
    class Small:
        name, text = "small", "to be, or not to be: that is the question. " * 30

    monkeypatch.setattr(script, "load_corpus", lambda name: Small)
    threads = torch.get_num_threads()
    try:
        rows = [table.with_ratio(r, fewest=1) for r in script.rows(quick=True)]
    finally:
        torch.set_num_threads(threads)
    names = [(r["what"], r["reference"]) for r in rows]
    assert len(names) == len(set(names)) >= 4
