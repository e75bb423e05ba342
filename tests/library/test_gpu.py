"""On a GPU, where there is one: it learns, resumes and compiles as on a CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from scratchformer.cli.run_config import model_classes
from scratchformer.training import train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

IDS = torch.randint(11, (600,), generator=torch.Generator().manual_seed(0))
RUN = {"steps": 6, "lr": 1e-2, "batch_size": 4, "context_length": 8, "seed": 0, "evaluate_every": 3}
NEWER = {
    "kind": "scratchformer_course.page_model.speedrun:SpeedrunGPT",
    **{"positions": "rotary", "qk_norm": True, "tied": False, "smear": 2, "bigram_rows": 121},
    **{"value_embeddings": True, "activation": "relu2"},
}


def small_gpt(kind="gpt", **options):
    torch.manual_seed(0)
    size = {"context_length": 8, "d_model": 16, "n_heads": 2, "n_layers": 2}
    model_class, config_class = model_classes(kind)
    return model_class(config_class(11, **size | options))


@pytest.mark.parametrize(("options", "muon_lr"), [({}, None), (NEWER, 0.02)], ids=["gpt", "newer"])
def test_it_learns_what_a_cpu_learns(options, muon_lr):
    gpu, cpu = (
        train(small_gpt(**options).to(device), IDS, IDS, **RUN, muon_lr=muon_lr)
        for device in ("cuda", "cpu")
    )
    assert gpu.train_loss == pytest.approx(cpu.train_loss, abs=2e-3)
    assert gpu.val_loss == pytest.approx(cpu.val_loss, abs=2e-3)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_goes_on_where_it_stopped(tmp_path, precision):
    def learn(**options):
        model = small_gpt(dropout=0.2).cuda()
        return train(model, IDS, IDS, **RUN, precision=precision, **options).val_loss

    saved = {"checkpoint": tmp_path / "run", "checkpoint_every": 2}
    with pytest.raises(ZeroDivisionError):  # after four steps
        learn(callbacks=[lambda state: 1 / (state.step - 4)], **saved)
    assert learn(resume=True, **saved) == pytest.approx(learn(), abs=1e-3)


def test_compiled_by_inductor_it_computes_and_learns_the_same(tmp_path):
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    program = Path(__file__).with_name("compiled_program.py")
    command = [sys.executable, "-W", "ignore", str(program), "cuda"]
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.split() == ["GPT", "SpeedrunGPT", "BERT", "fit", "attention"]
