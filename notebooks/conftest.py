"""`pytest --nbval notebooks` picks its mode by itself and says which, and why.

With the real corpora at hand every output is compared, unless its cell says otherwise. Without
them the chapters run on their stand-ins, and only cells tagged `nbval-check-output`, which hold
on any corpus, are compared.
"""

import os
import warnings

from scratchformer.data import load_corpus
from scratchformer.tokenizers import ByteBPE

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # two kernels share the cores in peace


def _missing() -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = [] if load_corpus("tinyshakespeare").is_real else ["Tiny Shakespeare"]
    try:
        ByteBPE.from_tiktoken("gpt2")
    except OSError:
        missing.append("GPT-2's tokenizer")
    return missing


def pytest_configure(config):
    """Turn to nbval's lax mode when something that the stored outputs came from is missing."""
    if not (config.option.nbval or config.option.nbval_lax):
        return
    missing = _missing()
    if missing:
        os.environ["SCRATCHFORMER_OFFLINE"] = "1"  # so that no kernel waits for the network again
        config.option.nbval_lax = True
        config.nbval_mode = (
            f"notebooks: {' and '.join(missing)} not found: all cells run on stand-ins, only "
            "cells tagged nbval-check-output are compared (set SCRATCHFORMER_DATA and "
            "TIKTOKEN_CACHE_DIR, or connect once)"
        )
    else:
        config.nbval_mode = "every output is compared with the stored one, unless tagged otherwise"


def pytest_terminal_summary(terminalreporter, config):
    """Name the mode where a reader of the last lines sees it."""
    if mode := getattr(config, "nbval_mode", None):
        terminalreporter.write_line(mode)
