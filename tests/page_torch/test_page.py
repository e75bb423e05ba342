"""The page *How a tensor library is made* shows what its code prints, in either PyTorch."""

import re
import subprocess
import sys

import pytest
from readers import ROOT

PAGE = (ROOT / "book" / "a_tensor_library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
SMALL = "from scratchformer_course import page_torch\npage_torch.install()\n"
END = "(end of a block)\n"


@pytest.mark.parametrize("before", ["", SMALL], ids=["real", "small"])
def test_each_block_prints_what_is_below_it(before):
    program = before + f"print({END!r}, end='')\n".join(code for code, _ in BLOCKS)
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert process.returncode == 0, process.stderr
    pairs = list(zip(BLOCKS, process.stdout.split(END), strict=True))
    shown = [(code, output, printed) for (code, output), printed in pairs if output]
    assert len(shown) > 5
    assert [one for one in shown if one[1] != one[2]] == []
