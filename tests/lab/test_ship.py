"""Shipped models: a finished run becomes one, and a run keeps the weights of the steps it shows."""

import json

import pytest
import torch

from lab import runs, ship, time_machine
from scratchformer.data import scored_split
from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.ch11_training.stored_steps import load_checkpoints


def test_a_finished_run_becomes_a_shipped_model(tmp_path, monkeypatch, short_text):
    tok = CharTokenizer.train(short_text)
    sizes = {"context_length": 16, "d_model": 16, "n_heads": 2, "n_layers": 1}
    torch.manual_seed(0)
    trained = GPT(GPTConfig(vocab_size=tok.vocab_size, **sizes))
    config = {"data": {"corpus": "any"}, "model": sizes, "training": {"seed": 3}}
    history = {"steps": [7], "seconds": [1.2], "train_loss": [3.0], "val_loss": [3.1]}
    for name in ("small", "small-development"):
        run = tmp_path / name
        trained.save(run)
        tok.save(run / "tokenizer.json")
        (run / "run.json").write_text(json.dumps(config))
        (run / "history.json").write_text(json.dumps(history))
    monkeypatch.setattr(ship, "RUNS", tmp_path)
    monkeypatch.setattr(ship, "FOLDER", tmp_path / "shipped")
    monkeypatch.setattr(ship, "read_config", lambda path: config)
    (tmp_path / "shipped").mkdir()
    record = ship.main(["small", "--write"])
    folder = tmp_path / "shipped" / "small"
    assert runs.read(folder / "record.json")["losses"] == record["losses"]
    assert record["development"] == {"steps": 7, "loss": 3.1}
    _, validation = scored_split(torch.tensor(tok.encode(short_text)), "validation")
    loss = evaluate(GPT.from_pretrained(folder), validation, 16)
    assert loss == pytest.approx(record["losses"]["validation_float16"], abs=1e-4)


def test_the_time_machine_keeps_the_weights_of_each_step(monkeypatch, tmp_path, short_text):
    sizes = {"context_length": 16, "d_model": 8, "n_heads": 2, "n_layers": 1}
    monkeypatch.setattr(time_machine, "SIZES", sizes)
    monkeypatch.setitem(time_machine.TRAINING, "context_length", 16)
    monkeypatch.setitem(time_machine.TRAINING, "warmup", 1)
    monkeypatch.setattr(time_machine, "RATES", (0.001, 0.03))
    monkeypatch.setattr(time_machine, "STEPS", [0, 1, 5, 10])
    monkeypatch.setattr(time_machine, "STORED", tmp_path / "own.safetensors")
    time_machine.main(["--write"])
    record = runs.read(tmp_path / "own.json")
    checkpoints = load_checkpoints(tmp_path / "own.safetensors")
    assert [step for step, _ in checkpoints] == [0, 1, 5, 10] == [*map(int, record["validation"])]
    assert record["validation"]["10"] < record["validation"]["0"]
    first, last = (dict(model.named_parameters()) for _, model in (checkpoints[0], checkpoints[-1]))
    assert not any(torch.equal(first[name], last[name]) for name in first)
