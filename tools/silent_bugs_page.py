"""The page of all thirty silent bugs, from the patients' tables and from what is stored of them.

`python -m tools.silent_bugs_page` writes book/silent_bugs.md anew, after silent_bugs.json,
diagnoses.json or the patients have changed.
"""

import inspect
import re
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from scratchformer_course.ch23_silent_bugs.appendix.drawings import NUMBERS, ORDER
from scratchformer_course.ch23_silent_bugs.model import Sizes
from scratchformer_course.ch23_silent_bugs.patient import PLACES, TWINS, Patient
from scratchformer_course.ch23_silent_bugs.prices import Price, noise, prices, verdicts
from scratchformer_course.measurements import load_measurements

COMMAND = "python -m tools.silent_bugs_page"
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "silent_bugs.md"
CHAPTER = ROOT / "notebooks" / "23_silent_bugs.ipynb"
ROOM = "ch23_silent_bugs.appendix"
FIGURES = {"right": "true", "reported": "reported", "loaded": "loaded"}
HOW = {  # what is special about a true price
    "pass": "",
    "prefixes": " For the true price, the model read each prefix alone.",
    "cache": " For the true price, the model read with its cache, token by token.",
    "writing": " Here the true price is no loss. It is how much more the model's own texts "
    "surprise it, and less than nothing means duller texts.",
}


def page() -> str:
    """The text of the page."""
    stored, diagnoses = load_measurements("silent_bugs"), load_measurements("diagnoses")
    parts = [opening(stored), contents(), dear_and_cheap(stored)]
    for place, heading in PLACES.items():
        parts.append([f"## {heading}"])
        parts += [section(p, stored, diagnoses) for p in ORDER if p.place == place]
    parts += [who_names_what(diagnoses), by_name(stored)]
    return "\n".join(line for part in parts for line in [*part, ""]).rstrip("\n") + "\n"


# --- the beginning -------------------------------------------------------------------------------


def opening(stored: Mapping) -> list[str]:
    of, chapter = Sizes(vocab_size=1), "Chapter 23"
    if CHAPTER.exists():
        chapter = f"{{doc}}`Chapter 23 <../notebooks/{CHAPTER.stem}>`"
    seeds = max(len(twin["right"]) for twin in stored["twins"].values())
    return [
        "# Thirty silent bugs",
        "",
        "A silent bug raises no error and lets the loss fall, so nothing tells you that it is "
        f"there. {chapter} treats some of them, and this page has all "
        "thirty: what you would notice, what each costs, which test finds it, and who has met it "
        "in public.",
        "",
        "A *patient* is a sound program in which one small part has been replaced by a faulty one. "
        "Beside it stands its *healthy twin*, which differs from it in this part alone. Each "
        "patient starts with its symptom and its curve. Name the fault before you open the "
        "diagnosis: the figure below lists all the candidates.",
        "",
        "## How the prices were measured",
        "",
        f"Patient and twin are GPTs of {of.n_layers} blocks, {of.d_model} wide, that read "
        f"{of.context_length} tokens at a time. Each is trained on Tiny Shakespeare for "
        f"{stored['steps']} steps with {number(seeds)} seeds. The learning rate, "
        f"{stored['rate']:g}, was tuned for neither. A price is the patient's loss minus its "
        "twin's, in nats per token, where both have the same seed and draw the same batches. There "
        "are three:",
        "",
        "- **true**: a sound evaluation uses the model as one does, and no token can see what "
        "comes later;",
        "- **reported**: the program's own validation, which may share the fault;",
        "- **loaded**: the twin's weights run in the faulty code without any training, as when you "
        "load weights that somebody else has trained.",
        "",
        "Two healthy runs with different seeds differ as well, and this is the noise. A price "
        "counts as *within the noise* if it is smaller than the distance between the twin's best "
        "and worst seed, or if the seeds do not agree on its sign. Nothing follows for larger "
        "models or longer runs, where the same fault may cost more or less.",
    ]


def contents() -> list[str]:
    lines = ["## The patients", ""]
    for place, heading in PLACES.items():
        links = [f"[{NUMBERS[p.name]}](#{anchor(p)})" for p in ORDER if p.place == place]
        lines.append(f"- {heading}: {', '.join(links)}")
    return [*lines, "", "The [table at the end](#bugs-by-name) finds a fault by its name."]


def dear_and_cheap(stored: Mapping) -> list[str]:
    true, reported = prices(stored), prices(stored, "reported")
    loaded, is_noise = prices(stored, "loaded"), verdicts(stored)
    better = [name for name in reported if reported[name].mean < -0.05]
    free = [p.name for p in ORDER if p.trained and is_noise.get(p.name) and p.name not in better]
    lent = [loaded[n].mean for n in loaded if true[n].mean < 0.03 and loaded[n].mean > 0.05]
    return [
        "## What they cost",
        "",
        ":::{drawing} " + ROOM + " all_prices",
        ":::",
        "",
        "*Prices of all patients, the highest at the top. The axis goes by factors of ten on both "
        "sides of zero. Where the open circle stands left of the filled dot, the program "
        "looks better than it is.*",
        "",
        f"In {number(len(better))} rows the open circle stands far to the left: the program "
        "reports a lower loss than a healthy one, and no model is better for it. The fault is in "
        f"the validation, too, so only a sound evaluation shows it. In {number(len(lent))} others "
        f"both dots stand near zero, but the square is at {min(lent):.1f} to {max(lent):.1f} nats. "
        "Training adapts to such a fault, and weights that were trained without it suffer. And in "
        f"{number(len(free))} of the programs that were trained with their fault, true and "
        "reported price lie within the noise, so that no loss could have given the fault away.",
    ]


# --- a patient -----------------------------------------------------------------------------------


def anchor(patient: Patient) -> str:
    return "bug-" + patient.name.replace("_", "-")


def section(patient: Patient, stored: Mapping, diagnoses: Mapping) -> list[str]:
    """A patient's part of the page: symptom, curve, and a fold with all the rest."""
    i = NUMBERS[patient.name]
    return [
        f"({anchor(patient)})=",
        f"### Patient {i}",
        "",
        ":::::{grid} 1 1 2 2",
        "::::{grid-item}",
        patient.symptom,
        "::::",
        "::::{grid-item}",
        f":::{{drawing}} {ROOM} curves {patient.name}",
        ":::",
        "::::",
        ":::::",
        "",
        f"::::{{dropdown}} Diagnosis of patient {i}",
        f"**{patient.title}.** {patient.cause} The repair, in `{patient.part}`:",
        "",
        "```diff",
        *patient.diff(),
        "```",
        "",
        *price_table(patient, stored),
        "",
        *found_by(diagnoses["patients"][patient.name]),
        "",
        f"**The test that finds it.** {inspect.getdoc(patient.invariant)}",
        "",
        "```python",
        *code_of(patient.invariant),
        "```",
        "",
        f"**{'A near relation in public' if patient.near else 'In public'}.** "
        f"{patient.found} See [{thread_name(patient.thread or '')}]({patient.thread}).",
        "::::",
    ]


def nats(x: float) -> str:
    return f"{x:.3f}".replace("-0.000", "0.000").replace("-", "−")


def price_table(patient: Patient, stored: Mapping) -> list[str]:
    """A patient's prices, what they are measured against, and whether they are noise."""
    found = {f: prices(stored, f)[patient.name] for f in FIGURES if has_price(patient, stored, f)}
    twin, name = stored["twins"][patient.twin], patient.name
    seeds = len(stored["patients"][name].get("right", []))
    own = stored["patients"][name]
    if patient.how == "pass" and own.get("reported") == own.get("right"):
        found = {"right": found["right"]} | {f: c for f, c in found.items() if f == "loaded"}
        labels = FIGURES | {"right": "true and reported"}
    else:
        labels = FIGURES
    rows = [
        f"| {labels[f]} | {nats(cost.mean)} | {nats(cost.least)} to {nats(cost.greatest)} |"
        for f, cost in found.items()
    ]
    told = f"The twin is {TWINS[patient.twin]}, with a loss of {statistics.mean(twin['right']):.2f}"
    if spread := noise(stored).get(patient.twin):
        told += f", and its seeds lie {spread:.3f} apart"
    told += "." + HOW[patient.how]
    if not patient.trained:
        told += " The fault does nothing in training, so the weights are the twin's."
    elif verdicts(stored).get(name):
        told += " **The true price is within the noise.**"
    plural = "s" if seeds != 1 else ""
    head = f"| price in nats | mean | {seeds} seed{plural}, least to greatest |"
    return [head, "|---|---|---|", *rows, "", told]


def has_price(patient: Patient, stored: Mapping, figure: str) -> bool:
    return patient.name in prices(stored, figure)


def found_by(entry: Mapping[str, Sequence[str]]) -> list[str]:
    """Which tests of `diagnose` name a patient, and since when."""
    first, now, suspect = entry["first_sight"], entry["now"], entry.get("first_suspect")
    if first and now:
        told = f"By {listed(now)}, at first sight."
        if set(now) - set(first):
            told = f"By {listed(now)}; at first sight by {listed(first)}."
    elif now:
        told = f"By {listed(now)}, but not at first sight."
    else:
        told = "No test of it names this fault."
    if suspect and now:
        told += f" What it suspects first: “{plain(str(suspect))}”."
    return [f"**With {{doc}}`diagnose <diagnosis>`.** {told}"]


def listed(tests: Sequence[str]) -> str:
    return " and ".join(f"*{test}*" for test in tests)


def plain(text: str) -> str:
    """Words that Markdown leaves as they are."""
    return re.sub(r"([\[\]*_`<>$])", r"\\\1", text)


def code_of(function) -> list[str]:
    """The lines of a function without its decorators and its docstring."""
    source = inspect.getsource(function).replace("  # type: ignore", "")
    lines = textwrap.dedent(source).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    body = start + 1 + 1 + (function.__doc__ or "").count("\n")
    return [lines[start], *lines[body:]]


def thread_name(address: str) -> str:
    owner, repository, kind, number = address.removeprefix("https://github.com/").split("/")
    return f"{owner}/{repository}, {'issue' if kind == 'issues' else 'pull request'} {number}"


# --- the end -------------------------------------------------------------------------------------


def number(n: int) -> str:
    names = "no one two three four five six seven eight nine ten eleven twelve".split()
    return names[n] if n < len(names) else str(n)


def who_names_what(diagnoses: Mapping) -> list[str]:
    """The matrix of patients and tests, and what it comes to."""
    entries, twins = diagnoses["patients"].values(), diagnoses["twins"]
    first, now = (sum(bool(e[when]) for e in entries) for when in ("first_sight", "now"))
    alarms = {
        when: sum(bool(entry[when]) for entry in twins.values()) for when in ("first_sight", "now")
    }
    return [
        "## Which test names which fault",
        "",
        "The patients and {doc}`diagnose <diagnosis>` were written without knowledge of each "
        "other. When the two halves met, before either was changed, "
        f"at least one test failed on {first} of the {len(entries)} patients. Today one fails on "
        f"{'each' if now == len(entries) else now} of them. "
        f"On the {number(len(twins))} healthy twins there was {alarm(alarms['first_sight'])} at "
        f"first, and there is {alarm(alarms['now'])} now.",
        "",
        ":::{drawing} " + ROOM + " matrix",
        ":::",
        "",
        "*Patients in rows, first those with a fault in the model, and tests in columns. A filled "
        "dot is a test that has failed from first sight on, an open circle one that fails since "
        "the halves were put together, and a small ring one that failed at first only.*",
    ]


def alarm(n: int) -> str:
    return f"{number(n)} false alarm{'s' if n > 1 else ''}"


def by_name(stored: Mapping) -> list[str]:
    """A table of all answers, in a fold."""
    costs = {figure: prices(stored, figure) for figure in FIGURES}
    rows = []
    for p in ORDER:
        cells = [cell(costs[figure].get(p.name)) for figure in FIGURES]
        fault = f"[{NUMBERS[p.name]}](#{anchor(p)}) {p.title}"
        rows.append("| " + " | ".join([fault, *cells]) + " |")
    return [
        "(bugs-by-name)=",
        "## By name",
        "",
        "::::{dropdown} All patients, with their mean prices in nats",
        "| fault | true | reported | loaded |",
        "|---|---|---|---|",
        *rows,
        "::::",
    ]


def cell(cost: Price | None) -> str:
    return nats(cost.mean) if cost else "–"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
