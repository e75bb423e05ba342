"""SmolLM2 gives the same logits in every engine, as a page asks it: with SIMD and without.

Those of Node.js are held to Python's in tests/real_model/test_engine.py, within the same bound.
"""

import numpy as np
import pytest

from lab.firefox import PROGRAM, Firefox
from lab.runs import served
from scratchformer.data.real_model import find_real_model
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.ch20_inference.live import one_weight
from tests.real_model.in_node import logits
from tests.site.browsing import opened

TEXT = "The capital of France is Paris. 12 strawberries, 3.14 or naïve 中文?\n" * 4
TOKENS, EACH = 64, 97  # of each token's logits every 97th is compared
PLAIN = "delete window.Worker; delete window.WebAssembly"
BOUND = 2e-3  # of logits that reach 34
LOGITS = """(async () => {
  const model = course.modelClient.newClient();
  model.open(await (await fetch("model.gguf")).blob());
  const { logits } = await model.read({ ids: IDS, ask: { logits: "all" }, top: 0 });
  return Array.from(logits).filter((_, i) => i % EACH === 0);
})()"""


@pytest.fixture(scope="module")
def smol(tmp_path_factory):
    """A folder with the model and a page that has its scripts; what to ask, and the logits."""
    try:
        file = find_real_model(download=False)
    except OSError:
        pytest.skip("SmolLM2 is not at hand: python -m scratchformer.data.real_model")
    folder = tmp_path_factory.mktemp("engines")
    (folder / "model.gguf").symlink_to(file)
    one_weight().save(folder / "page.html")
    ids = ByteBPE.from_gguf(file).encode(TEXT)[:TOKENS]
    question = LOGITS.replace("IDS", str(ids)).replace("EACH", str(EACH))
    return folder, question, logits(file, ids).flatten()[::EACH]


def judge(found, wanted):
    apart = np.abs(np.array(found) - wanted).max()
    print(f"apart by at most {apart:.1e}")
    assert len(found) == len(wanted) and apart < BOUND


@pytest.mark.parametrize("is_plain", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_in_chromium(browser, smol, is_plain):
    folder, question, wanted = smol
    with (
        served(folder) as address,
        opened(browser, f"{address}page.html", script=PLAIN if is_plain else "") as page,
    ):
        judge(page.evaluate(question), wanted)


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: nothing ran in it")
@pytest.mark.parametrize("is_plain", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_in_firefox(smol, is_plain):
    folder, question, wanted = smol
    with served(folder) as address, Firefox() as page:
        page.goto(f"{address}page.html")
        page.evaluate(f"(() => {{ {PLAIN if is_plain else ''} }})()")
        judge(page.evaluate(question), wanted)
