"""How many tokens a second the model in JavaScript writes in headless Chromium.

Usage: python -m lab.explorer_speed

Each round writes 200 tokens after a short prompt with the shipped model, cache and sampling
included. Weights are read once in 16 bits, as a notebook has them, and once in 8, as the site
has them. It prints all rounds and their median; other programs at work make them slower.
"""

import statistics

from lab import runs
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE
from scratchformer_course.page_model import describe
from scratchformer_course.page_model.fewer_bits import in_int8

SOURCES = [PACKAGE / LOADER, PACKAGE / "page_model" / "model.js"]
NAME, TOKENS, ROUNDS = "tiny-shakespeare", 200, 7
PROGRAM = """(description) => {
  const begun = performance.now();
  course.model.load(description.exact);
  const start = performance.now(), model = course.model.load(description);
  const loaded = performance.now(), rates = [];
  for (let round = 0; round < description.rounds; round++) {
    const before = performance.now();
    const text = course.model.generate(model, [30, 27, 25, 17, 27, 8, 0], { seed: round });
    for (let i = 0; i < description.count; i++) text.next();
    rates.push(1000 * description.count / (performance.now() - before));
  }
  return { exact: start - begun, loaded: loaded - start, rates };
}"""


def main() -> None:
    exact = describe(GPT.pretrained(NAME), CharTokenizer.pretrained(NAME))
    given = {**in_int8(exact), "exact": exact, "rounds": ROUNDS, "count": TOKENS}
    with runs.chromium() as browser:
        page = browser.new_page()
        for source in SOURCES:
            page.add_script_tag(path=str(source))
        result = page.evaluate(PROGRAM, given)
    rates = [round(rate) for rate in result["rates"]]
    print(f"weights read in {result['exact']:.0f} ms in 16 bits, {result['loaded']:.0f} in 8")
    print(f"tokens a second: {rates}, median {statistics.median(rates):.0f}")


if __name__ == "__main__":
    main()
