"""Each language model of the course beside counts of the same text -> contests.json.

Usage: python -m lab.contests [--write]

Nothing is measured here. Losses come from the files that other scripts have stored, and the two
that stand on a page alone come from what its notebook has printed. With `--write` the page
*Counting against networks*, book/counting.md, is written as well.
"""

import re
import statistics
from collections.abc import Iterator

from torch import nn

from lab import climb, law, runs
from scratchformer.files import atomic_write
from scratchformer.models import GPT, GPTConfig
from scratchformer.shipped import shipped_record
from scratchformer_course.ch11_training.stored_steps import training_record
from scratchformer_course.ch17_speedrun.model import SpeedrunConfig, SpeedrunGPT
from scratchformer_course.measurements import FOLDER, load_measurements
from scratchformer_course.tab_trainer.race import CONFIG, FIXED, TRAINING

FILE, PAGE = FOLDER / "contests.json", runs.ROOT / "book" / "counting.md"
SHAKESPEARE, PLAYHOUSE = "Tiny Shakespeare", "Playhouse"
CHARACTERS = 65  # different ones in Tiny Shakespeare
MIXED = "three tables mixed"
LEVEL = 0.005  # nats: two losses that are as near as this are called level
# Settings of the two runs that no file holds: cells cell-49 of chapter 10 and cell-20 of chapter 18
GPT_OF_10 = GPTConfig(CHARACTERS, 64, d_model=128, n_heads=4, n_layers=2)
GPT_OF_18 = GPTConfig(512, 64, d_model=96, n_heads=4, n_layers=2)


def printed(chapter: str, cell: str, pattern: str) -> float:
    """The number that a cell of a stored notebook has printed. Raises ValueError if it has not."""
    (path,) = (runs.ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    for each in runs.read(path)["cells"]:
        if each["id"] == cell:
            text = "".join("".join(output.get("text", "")) for output in each["outputs"])
            if found := re.search(pattern, text):
                return float(found[1])
    raise ValueError(f"cell {cell} of chapter {chapter} has printed nothing like {pattern}")


def size(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def row(page: str, name: str, parameters: int, steps: int, guesses: int, losses: list) -> dict:
    """A network: `guesses` is how many characters (or tokens) of a batch it predicts in a step."""
    trained = {"parameters": parameters, "steps": steps, "guesses": steps * guesses}
    return {"page": page, "name": name, **trained, "losses": losses}


def on_shakespeare() -> Iterator[dict]:
    """The networks that learn from nine tenths of Tiny Shakespeare, in the order of the book."""
    own = load_measurements("first_network")
    for name, run in zip(("window of 8", "wider and longer"), own["larger"][::3], strict=True):
        parts = run["parameters"], run["steps"], own["settings"]["batch"], run["losses"]
        yield row("04_first_network", name, *parts)
    climbed = load_measurements("climb")
    of, top = climbed["settings"], next(r for r in climbed["rungs"] if r["name"] == "residuals")
    model, guesses = climb.rung("residuals", CHARACTERS, 0), of["batch_size"] * of["context_length"]
    parts = size(model), top["steps"], guesses, top["losses"]
    yield row("10_bigram_to_gpt", "top rung", *parts)
    loss = printed("10", "cell-49", r"GPT ([\d.]+)")
    yield row("10_bigram_to_gpt", "GPT, 800 steps", size(GPT(GPT_OF_10)), 800, 16 * 64, [loss])
    film, shipped = training_record(), shipped_record("tiny-shakespeare")
    for page, name, record, loss in (
        ("11_training", "GPT, 5,000 steps", film, film["validation"]["5000"]),
        ("12_generation", "shipped GPT", shipped, shipped["losses"]["validation"]),
    ):
        of = record["settings"]["training"]
        guesses = of["batch_size"] * of["context_length"]
        yield row(page, name, record["parameters"], of["steps"], guesses, [loss])
    yield large_run("tinyshakespeare")
    apart, records = load_measurements("taken_apart"), load_measurements("records")
    of, losses = apart["settings"]["nanoGPT"], apart["splits"]["validation"]["nanoGPT"]
    weights = apart["ladder"]["nanoGPT's setting"]["parameters"]
    guesses = of["batch_size"] * of["model"]["context_length"]
    parts = weights, of["steps"], guesses, [run["loss"] for run in losses]
    yield row("17_speedrun", "nanoGPT's demo", *parts)
    sixty, two = records["ten_seeds"]["record-mean"], records["two_minutes"]
    for page, name, part, key in (
        ("17_speedrun", "two seconds", sixty, "loss"),
        ("records", "two minutes", two, "alone"),
    ):
        model, of = part["settings"]["model"], part["settings"]["training"]
        # where windows double, a batch has half as many
        guesses = of["batch_size"] * of.get("context_length", model["context_length"])
        losses = [run[key] for run in part["runs"]["validation"]]
        yield row(page, name, part["parameters"], of["steps"], guesses, losses)
    losses = [round(run["loss"], 4) for run in load_measurements("tab")["tab"]]
    model = SpeedrunGPT(SpeedrunConfig(CHARACTERS, **CONFIG, **FIXED))
    guesses = TRAINING["batch_size"] * CONFIG["context_length"]
    yield row(
        "train_in_this_tab", "in a browser's tab", size(model), TRAINING["steps"], guesses, losses
    )


def large_run(corpus: str) -> dict:
    """The run that chapter 16 foretold on a text, three seeds."""
    found = load_measurements("forecast")["corpora"][corpus]["large"]
    different = law.vocab_size(corpus) if corpus == "playhouse" else CHARACTERS
    model, steps = GPT(law.config_of(found[0]["width"], different)), found[0]["steps"]
    guesses = found[0]["D"] // steps
    losses = [run["losses"]["val"] for run in found]
    return row("16_scaling", "foretold GPT", size(model), steps, guesses, losses)


def contests() -> list[dict]:
    """Every network with the best table of the same text; chapter 18's loss is per character."""
    counted = load_measurements("ladder")["kneser_ney"]
    chosen = load_measurements("taken_apart")["splits"]["development"]["counts"]
    order = min(chosen, key=lambda n: chosen[n])
    table = {"text": SHAKESPEARE, "table": f"{order}-grams", "counted": counted[order]}
    mixed = load_measurements("records")["two_minutes"]["means"]["validation"]["counts"][0]
    found = []
    for network in on_shakespeare():
        found.append(network | table)
        if network["name"] == "two minutes":  # its page has a stronger rival, too
            found.append(found[-1] | {"table": MIXED, "counted": mixed})
    part = load_measurements("forecast")["corpora"]["playhouse"]["counts"]
    table = {"text": PLAYHOUSE, "table": f"{part['order']}-grams", "counted": part["loss"]}
    found.append(large_run("playhouse") | table)
    loss, counts = (
        printed("18", "cell-23", rf"{name} +([\d.]+)") for name in ("model", "5 in a row")
    )
    own = row("18_gpt2", "GPT on tokens", size(GPT(GPT_OF_18)), 500, 16 * 64, [loss])
    found.append(own | {"text": PLAYHOUSE, "table": "5 tokens", "counted": counts})
    return [one | judged(one["counted"] - statistics.mean(one["losses"])) for one in found]


def judged(lead: float) -> dict:
    """The network's lead in nats, below 0 where the counts are ahead, and who wins."""
    winner = "level" if abs(lead) <= LEVEL else "network" if lead > 0 else "counts"
    return {"ahead": round(lead, 4), "winner": winner}


# --- the page ------------------------------------------------------------------------------------


def page(found: list[dict]) -> str:
    """The text of book/counting.md."""
    parts = (opening(found), figure(), table(found), reasons(found), fairness())
    return "\n".join(line for part in parts for line in [*part, ""]).rstrip("\n") + "\n"


def link(one: dict) -> str:
    """A network with a link to where it stands in the course, by its chapter if it has one."""
    if one["page"][:2].isdigit():
        return f"{{doc}}`{one['page'][:2]} <../notebooks/{one['page']}>` {one['name']}"
    return f"{{doc}}`{one['name']} <{one['page']}>`"


def against_a_table(found: list[dict]) -> list[dict]:
    """The contests on Tiny Shakespeare with a single table: one for each network."""
    return [one for one in found if one["text"] == SHAKESPEARE and one["table"] != MIXED]


def opening(found: list[dict]) -> list[str]:
    single = against_a_table(found)
    won, lost = ([o for o in single if o["winner"] == side] for side in ("network", "counts"))
    return [
        "# Counting against networks",
        "",
        "A table of counts reads a text once, within a second or two, and is done. When is it "
        "worth the trouble to train a network? This page puts the networks of the course that "
        "predict a text from left to right beside the best counts of the same text. Of the "
        f"{len(single)} that learn from Tiny Shakespeare, {len(lost)} lose to the best table. "
        f"The winners are the network that trains for two minutes on two cores, by "
        f"{by(won, 'two minutes')} nats a character, and the GPT that ships with the course, by "
        f"{by(won, 'shipped GPT')}.",
    ]


def by(won: list[dict], name: str) -> str:
    """The lead of a winner. Raises ValueError if it is none, or is not the only other one."""
    leads = {one["name"]: one["ahead"] for one in won}
    if name not in leads or len(leads) != 2:
        raise ValueError(f"the page names two winners, among them {name}; these win: {leads}")
    return f"{leads[name]:.2f}"


def figure() -> list[str]:
    return [
        ":::{drawing} ch10_bigram_to_gpt contests",
        ":::",
        "",
        "*Each line is a contest: the filled dot is the network, the ring the counts, and less is "
        "better. Where the line is orange the counts are ahead, and where it is green the network "
        "is. The networks stand in the order of their lead.*",
    ]


def table(found: list[dict]) -> list[str]:
    usual, lines = found[0], []
    for one in found:
        digits = 2 if one["losses"] == [round(one["losses"][0], 2)] else 3  # a page prints two
        verdict = "level"
        if one["winner"] != "level":
            verdict = f"{one['winner']} by {abs(one['ahead']):.{digits}f}"
        by_tokens = " tokens" if one["table"].endswith("tokens") else ""
        cells = (
            link(one) + (f", {one['text']}" if one["text"] != usual["text"] else ""),
            f"{statistics.mean(one['losses']):.{digits}f}",
            str(len(one["losses"])),
            f"{one['counted']:.{2 if by_tokens else 3}f}"
            + (f" ({one['table']})" if one["table"] != usual["table"] else ""),
            f"**{verdict}**" if one["winner"] == "network" else verdict,
            f"{one['parameters']:,}",
            f"{one['steps']:,}",
            f"{one['guesses'] / 1e6:.2f} million{by_tokens}",
        )
        lines.append(" | ".join(cells))
    head = "network | its loss | seeds | counts | ahead | parameters | steps | predictions"
    return [
        "## All contests",
        "",
        f"The text is {usual['text']} and the counts are {usual['table']}, unless a line says "
        "otherwise. Losses are nats a character.",
        "",
        *runs.markdown_table(head, lines),
    ]


def reasons(found: list[dict]) -> list[str]:
    by_name = {one["name"]: one for one in against_a_table(found)}
    two, shipped = by_name["two minutes"], by_name["shipped GPT"]
    demo, film = by_name["nanoGPT's demo"], by_name["GPT, 5,000 steps"]
    (level,) = (one for one in found if one["table"] == MIXED)
    both = load_measurements("records")["two_minutes"]["means"]["validation"]["mixed"][0]
    weak = printed("10", "train-2", r" 5: ([\d.]+)")
    between = [o for o in by_name.values() if o["counted"] < statistics.mean(o["losses"]) < weak]
    floor = load_measurements("playhouse_floor")["floor"]
    return [
        "## What decides",
        "",
        f"**Size and training together.** nanoGPT's demo has {demo['parameters']:,} parameters "
        f"and loses by {-demo['ahead']:.2f} nats after {demo['guesses'] / 1e6:.1f} million "
        f"predictions. The GPT of chapter 11 makes {film['guesses'] / 1e6:.0f} million, has only "
        f"{film['parameters']:,} parameters and loses by {-film['ahead']:.2f}. The shipped GPT "
        f"has {shipped['parameters']:,} parameters and makes {shipped['guesses'] / 1e6:.0f} "
        f"million predictions, and it wins by {shipped['ahead']:.2f}. The network of two "
        f"minutes wins with {two['guesses'] / 1e6:.1f} million, by the ideas of {{doc}}`chapter 17 "
        "<../notebooks/17_speedrun>`. The rows differ in more than these two numbers, so they show "
        "what happened and prove no law.",
        "",
        f"**How well the rival counts.** With a small number added to each count, as in "
        f"{{doc}}`chapter 04 <../notebooks/04_first_network>`, the best table stops at "
        f"{weak:.2f} nats. Kneser–Ney smoothing ({{doc}}`chapter 11 <../notebooks/11_training>`) "
        f"takes the counts of the same text to {two['counted']:.3f}. {number(len(between))} of the "
        f"networks lie between the two, and would be called winners if the rival were the weaker "
        "one. Three tables mixed, with weights fitted on the development split, come to "
        f"{level['counted']:.3f}, and then even the network of two minutes is only level. Network "
        f"and tables mixed reach {both:.3f}, better than either, probably because they make "
        "different mistakes.",
        "",
        "**The text.** Playhouse is made by a program, and so regular that strings of ten "
        "characters nearly settle what comes next. A table reads on across the edge of a window, "
        f"and a network with a window of 64 characters cannot: no such network gets below "
        f"{floor:.3f} there ({{doc}}`chapter 16 <../notebooks/16_scaling>`).",
        "",
        "A lower loss is not everything. {doc}`Chapter 10 <../notebooks/10_bigram_to_gpt>` shows "
        "lines whose deciding word stands further back than any table sees, and the shipped GPT "
        "answers them.",
    ]


def number(n: int) -> str:
    words = ("None", "One", "Two", "Three", "Four", "Five", "Six")
    return words[n] if n < len(words) else str(n)


def fairness() -> list[str]:
    return [
        "## What is compared",
        "",
        "- **The same text.** On Tiny Shakespeare both sides learn from the first nine tenths, and "
        "are scored on the whole last tenth. On Playhouse the counts learn from the plays that the "
        "network's first seed reads, and both are scored on the same other plays.",
        "- **The same unit.** Losses are nats a character. Chapter 18's model and its rival "
        "predict tokens; their loss over the text is divided by its number of characters, and the "
        "page prints it with two digits.",
        "- **The best table.** An n-gram table predicts a character from the n − 1 before it, with "
        "Kneser–Ney smoothing. For Tiny Shakespeare n was chosen on the development split, and for "
        "chapter 16's Playhouse on other plays. Chapter 18 tried 2, 3 and 5 tokens.",
        "- **Predictions** are steps times the characters of a batch that are predicted. The part "
        "of Tiny Shakespeare to learn from has 1.0 million characters, so that the shipped GPT has "
        "predicted each of them about eleven times. A table counts each of them once.",
        "- **Seeds.** A loss is the mean of its seeds. Two losses within "
        f"{LEVEL:.3f} of each other are called level.",
        "",
        "Left out are the small models of chapters 05, 07 and 08, which compare parts of a network "
        "with each other, and the models of chapters 13 and 14, which fill gaps or translate and "
        "have tables of their own as rivals.",
    ]


def main(arguments: list[str] | None = None) -> list[dict]:
    options = runs.command_line(__doc__, FILE.name, quick=False).parse_args(arguments)
    found = contests()
    for one in found:
        print(f"{one['page']:18} {one['name']:18} {one['ahead']:+.3f} {one['winner']}")
    if options.write:
        what = "networks beside the best counts of the same text: `ahead` below 0, counts win"
        runs.store(FILE, {"what": what, "contests": found})
        with atomic_write(PAGE) as part:
            part.write_text(page(found), encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
