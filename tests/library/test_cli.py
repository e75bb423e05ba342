"""The shell commands: what they write, how they stop and go on, what they say to mistakes."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from short_run import CONFIG, losses, weights
from test_devices import Device

from scratchformer import cli
from scratchformer.cli import train
from scratchformer.cli.run_config import model_classes
from scratchformer.cli.run_folder import lock_folder
from scratchformer.cli.tokenizer_names import tokenizer_of
from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer.data.token_files import read_tokens
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import ByteBPE, CharTokenizer, WordBPE
from scratchformer.training import evaluate

ROOT = Path(__file__).resolve().parents[2]
TEXT = Playhouse().text(6000)
PREPARE, TRAIN = "prepare play.txt --tokenizer char --out", "train --config small.toml --out"
OUT = Path("out")


def call(command):
    return cli.main(command.split())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A text, a configuration and token files, and a run of them that nothing has stopped."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "play.txt").write_text(TEXT, encoding="utf-8")
    (folder / "small.toml").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call(f"{PREPARE} tokens") == call(f"{TRAIN} straight") == 0
    return folder


@pytest.fixture
def workdir(prepared, tmp_path, monkeypatch):
    """A folder to work in, with a text, a configuration and token files."""
    shutil.copytree(prepared, tmp_path, ignore=lambda *_: ["straight"], dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    return tmp_path


@pytest.fixture
def straight(prepared):
    return prepared / "straight"


@pytest.fixture
def refused(capsys):
    """A function that checks that a command is refused in one line, and changes no file."""

    def check(command, words):
        capsys.readouterr()
        before = contents()
        assert call(command) == 1
        out, err = capsys.readouterr()
        lines = [line for line in err.splitlines() if line.startswith("scratchformer: ")]
        assert len(lines) == 1 and "Traceback" not in err and "nats" not in out
        assert words in lines[0] and contents() == before

    return check


def contents():
    """Every file in the folder, with what it holds."""
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


# --- prepare ----------------------------------------------------------------------------------


def test_prepare_writes_the_ids_of_a_text_shows_its_progress_and_says_how_many(workdir, capsys):
    assert call(f"{PREPARE} out --validation 0.25") == 0
    tokenizer = CharTokenizer.load("out/tokenizer.json")
    ids = CharTokenizer.train(TEXT).encode(TEXT)
    assert read_tokens("out/train.bin", tokenizer).tolist() == ids[:4500]
    assert read_tokens("out/val.bin", tokenizer).tolist() == ids[4500:]
    out, err = capsys.readouterr()
    assert "out/train.bin: 4,500 tokens" in out and "out/val.bin: 1,500 tokens" in out
    assert "100%" in err and "6.00k/6.00k" in err


def test_prepare_takes_folders_and_saved_tokenizers(workdir):
    tokenizer = WordBPE.train(TEXT, 9)
    tokenizer.save("bpe.json")
    (workdir / "texts" / "b").mkdir(parents=True)
    for name, text in (("b/2.txt", "to be"), ("a.md", "or not"), (".hidden", "never")):
        (workdir / "texts" / name).write_text(text)
    command = "prepare texts --tokenizer bpe.json --validation 0 --out tokens --overwrite"
    assert call(command) == 0 and not Path("tokens/val.bin").exists()
    ids = [*tokenizer.encode("or not"), *tokenizer.encode("to be")]
    assert read_tokens("tokens/train.bin", tokenizer).tolist() == ids


def test_prepare_reads_a_hugging_face_dataset(workdir, datasets, refused):
    rows = datasets.Dataset.from_dict({"id": [1, 2], "story": ["To be,\nor not", 'she said "é"']})
    (workdir / "data").mkdir()
    rows.to_json(str(workdir / "data" / "train.jsonl"))
    tokenizer = ByteBPE.train(TEXT, 300, ("<|endoftext|>",))
    tokenizer.save("bpe.json")
    command = "prepare --dataset data --tokenizer bpe.json --validation 0 --out out"
    refused(command, "no text in column 'text' of id, story")
    assert call(f"{command} --column story") == 0
    expected = [*tokenizer.encode("To be,\nor not"), 299, *tokenizer.encode('she said "é"')]
    assert read_tokens("out/train.bin", tokenizer).tolist() == expected


def test_prepare_after_ctrl_c_has_written_nothing(workdir, capsys, monkeypatch):
    def interrupted(tokenizer, text):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CharTokenizer, "encode", interrupted)
        assert call(f"{PREPARE} out") == 130
    assert "stopped: nothing has been written" in capsys.readouterr().err
    assert not OUT.exists() and call(f"{PREPARE} out") == 0


# --- train ------------------------------------------------------------------------------------


def test_train_writes_the_last_model_the_best_one_and_the_losses(workdir, capsys):
    Path("play.txt").write_text(Playhouse(seed=1).text(300))  # soon known by heart
    assert call(f"{PREPARE} tokens --validation 0.3 --overwrite") == 0
    changes = "--set training.steps=75 --set model.d_model=32 --set training.evaluate_every=10"
    capsys.readouterr()
    assert call(f"train --config small.toml {changes}") == 0
    out = Path("runs/small")  # where it goes if nothing else is said
    printed, bar = capsys.readouterr()
    history, tokenizer = losses(out), CharTokenizer.load(out / "tokenizer.json")
    steps, val = history["steps"], history["val_loss"]
    assert steps == [10, 20, 30, 40, 50, 60, 70, 75] and len(val) == 8
    evaluated = [line.split(":")[0] for line in printed.splitlines() if "nats per token" in line]
    assert evaluated == [f"step {step} of 75" for step in steps] and "75/75" in bar
    assert (out / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((out / "run.json").read_text())["model"]["d_model"] == 32
    last, best = GPT.from_pretrained(out), GPT.from_pretrained(out / "best")
    ids = read_tokens("tokens/val.bin", tokenizer)
    assert min(val) < val[-1]  # it has over-fitted
    for model, loss in ((last, val[-1]), (best, min(val))):
        assert evaluate(model, ids, 16) == pytest.approx(loss, abs=1e-5)
    step = steps[val.index(min(val))]
    assert f"the model of step {step}, best on validation with {min(val):.4f}" in printed
    assert last.config.vocab_size == tokenizer.vocab_size and last.config.dropout == 0.1


def test_train_from_a_corpus_equals_train_from_its_token_files(workdir, straight, monkeypatch):
    monkeypatch.setattr(train, "load_corpus", lambda name: Corpus(name, TEXT, "embedded"))
    Path("small.toml").write_text(CONFIG.replace('folder = "tokens"', 'corpus = "playhouse"'))
    assert call(f"{TRAIN} out") == 0
    assert weights(OUT) == weights(straight) and losses(OUT) == losses(straight)


def test_a_run_killed_before_it_saved_its_best_model_saves_it_when_it_goes_on(
    workdir, straight, monkeypatch
):
    save, folders = GPT.save, []

    def killed(model, folder):
        folders.append(folder)
        if len(folders) == 3:  # of three evaluations, the last is the best
            raise KeyboardInterrupt
        save(model, folder)

    with monkeypatch.context() as patch:
        patch.setattr(GPT, "save", killed)
        assert call(f"{TRAIN} out") == 130
    assert weights(OUT / "best") != weights(straight / "best")
    for name in (".run.json.1b.part", "best/.config.json.2.part"):  # a killed writer's
        Path("out", name).write_text("left")
    assert call(f"{TRAIN} out --resume") == 0 and not list(OUT.rglob("*.part"))
    assert weights(OUT / "best") == weights(straight / "best") == weights(straight)


def test_a_stopped_run_goes_on_to_the_same_end(workdir, straight, capsys, monkeypatch, refused):
    learn = train.train_on

    def stopped(*args, callbacks, **options):
        def stop(state):
            if state.step == 7:
                os.kill(os.getpid(), signal.SIGINT)

        return learn(*args, callbacks=[*callbacks, stop], **options)

    with monkeypatch.context() as patch:
        patch.setattr(train, "train_on", stopped)
        assert call(f"{TRAIN} out --resume") == 130  # it starts
    errors = capsys.readouterr().err
    assert "stopped after step 7 of 12 and saved. Go on with\n" in errors
    assert not Path("out/model.safetensors").exists()
    refused(f"{TRAIN} out", "holds a run: go on with --resume")
    name, *command = errors.strip().splitlines()[-1].split()
    assert name == "scratchformer" and cli.main(command) == 0
    assert weights(OUT) == weights(straight) and losses(OUT) == losses(straight)


def test_a_loss_that_is_no_number_ends_the_command_and_keeps_the_best_model(
    workdir, capsys, monkeypatch
):
    values = []

    def nan_at_last(model, *arguments, **options):
        values.append(evaluate(model, *arguments, **options))
        return values[-1] if len(values) < 3 else float("nan")

    monkeypatch.setattr("scratchformer.training.loop.evaluate", nan_at_last)
    assert call(f"{TRAIN} out --set training.clip=inf") == 1
    words = "the validation loss is nan at step 12, with a learning rate of"
    assert words in capsys.readouterr().err
    assert losses(OUT)["val_loss"] == values[:2]
    ids = read_tokens("tokens/val.bin", CharTokenizer.load("tokens/tokenizer.json"))
    best = GPT.from_pretrained("out/best")
    assert evaluate(best, ids, 16) == pytest.approx(min(values[:2]), 1e-4)


def test_on_a_gpu_that_lies_the_command_says_so_and_trains_on_the_cpu(
    workdir, straight, capsys, monkeypatch
):
    @contextmanager
    def with_a_gpu(name):
        yield torch.device("cuda")

    monkeypatch.setattr(train.distributed, "process_group", with_a_gpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Liar 3000")
    with Device(lambda x: x.flip(1) + 3):
        assert call(f"{TRAIN} out") == 0
    printed = capsys.readouterr().out
    assert "cuda (Liar 3000) does not compute as the CPU does: the loss of a small batch" in printed
    assert "Training on the CPU\n" in printed and "parameters on cpu, " in printed
    assert weights(OUT) == weights(straight)


# --- what is refused, and leaves every file as it was ------------------------------------------


REFUSED = [  # (command, words)
    ("prepare none.txt --tokenizer char --out out", "none.txt"),
    ("prepare empty --tokenizer char --out out", "empty has no text"),
    ("prepare --tokenizer char --out out", "either texts or --dataset"),
    ("prepare play.txt --tokenizer gpt9 --out out", "no tokenizer 'gpt9', expected gpt2, char or"),
    ("prepare play.txt --tokenizer small.toml --out out", "small.toml is not a saved tokenizer"),
    ("prepare latin.txt --tokenizer char --out out", "latin.txt is not UTF-8 text: byte 3 is 0xe9"),
    ("prepare --dataset some --tokenizer char --out out", "pip install datasets"),
    (f"{PREPARE} config", "holds a tokenizer.json already"),
    (f"{PREPARE} tokens", "holds token files already"),
    (f"{PREPARE} run --overwrite", "run holds a run, not token files: choose another folder"),
    (f"{TRAIN} config --resume", "holds a tokenizer.json, and no checkpoint"),
    (f"{TRAIN} lost --resume", "lost holds a run.json, and no checkpoint"),
    (f"{TRAIN} tokens --resume", "tokens holds token files, not a run: choose another folder"),
    (f"{TRAIN} run", "holds a run: go on with"),
    (f"{TRAIN} run --resume --set training.batch_size=5", "batch_size=4, got batch_size=5"),
    (f"{TRAIN} run --resume --set model.dropout=0.2", "is of a run with model="),
    (f"{TRAIN} run --resume --set data.folder=other", "is of a run with text="),
    (f"{TRAIN} out --set data.folder=mixed", "are not of one text: prepare"),
    (f"{TRAIN} out --set data.folder=renamed", "was written by another tokenizer"),
    (f"{TRAIN} out --set data.folder=damaged", "damaged: it holds the id 65535, which no token"),
    ("train --config small.toml --set steps=3", "--set steps=3: expected TABLE.KEY=VALUE"),
]


@pytest.fixture
def used(workdir, straight, monkeypatch):
    """Folders that hold something already, or token files that do not belong together."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    letters = "".join(sorted(set(TEXT)))
    Path("latin.txt").write_bytes(b"caf\xe9")
    for folder in ("empty", "config"):
        Path(folder).mkdir()
    Path("config/tokenizer.json").write_text("somebody's")
    shutil.copytree(straight, "run")
    shutil.copytree(straight, "lost")
    os.remove("lost/checkpoint.safetensors")
    for folder in ("mixed", "renamed", "damaged"):
        shutil.copytree("tokens", folder)
    Path("damaged/val.bin").write_bytes(Path("tokens/val.bin").read_bytes()[:-2] + b"\xff\xff")
    CharTokenizer(letters[::-1]).save("renamed/tokenizer.json")
    Path("play.txt").write_text(TEXT[::-1])
    assert call(f"{PREPARE} other") == 0
    shutil.copy("other/val.bin", "mixed")


@pytest.mark.parametrize(("command", "words"), REFUSED)
def test_a_command_is_refused_in_a_line_and_changes_no_file(used, refused, command, words):
    refused(command, words)
    assert not OUT.exists() and not Path("runs").exists()


def test_a_folder_is_one_runs(workdir, capsys):
    with lock_folder(OUT):
        assert call(f"{TRAIN} out --resume") == 1
    assert "another run is writing to out: choose" in capsys.readouterr().err
    assert not Path("out/run.json").exists()


# --- the configuration -------------------------------------------------------------------------

WRONG = [  # (part of the configuration, what is put there, words)
    ("lr = 1e-2", "lr = 1e-2\nsteps_ = 3", "[training] has no key 'steps_', expected some of"),
    ("lr = 1e-2", "lr = 'fast'", "[training] has lr = 'fast', expected float"),
    ("[0.9, 0.98]", "[0.9]", "[training] has betas = [0.9], expected [a, b]"),
    ("n_heads = 2", "", "[model] has no n_heads, which is needed"),
    ("[model]", "[models]", "[models] is unknown, expected tables data, model, training"),
    ('[data]\nfolder = "tokens"', "", "[data] is missing, expected tables"),
    ("seed = 0", "seed = ", "small.toml is not TOML: "),
    ("[model]", '[model]\ntype = "rnn"', "type = 'rnn', expected 'gpt' or 'MODULE:CLASS'"),
    ("folder", 'corpus = "playhouse"\nfolder', "[data] needs either corpus"),
    ("seed = 0", "seed = 0\ncontext_length = 32", "has windows of 32, expected at most"),
    ("seed = 0", "seed = 0\nsampler = 'late'", "sampler = 'late', expected 'MODULE:CLASS'"),
    ("seed = 0", "seed = 0\nreplacement = 1", "[training] has replacement = 1, expected bool"),
    ("seed = 0", "seed = 0\ndevice = 'meta'", "device='meta' has shapes"),
    ('"tokens"', '"nowhere"', "train.bin is missing: `scratchformer prepare` writes it"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_a_wrong_configuration_is_refused_and_leaves_nothing(workdir, refused, old, new, words):
    assert old in CONFIG
    Path("small.toml").write_text(CONFIG.replace(old, new, 1))
    refused("train --config small.toml", words)


def test_a_configuration_is_read_with_its_changes_in_the_types_of_its_fields(workdir):
    Path("small.toml").write_bytes(b"\xef\xbb\xbf" + CONFIG.encode())  # a byte order mark
    changes = ["training.lr=1", "training.betas=[0, 0.6]", "data.folder=elsewhere"]
    read = cli.read_config("small.toml", changes)
    assert repr(read["training"]["lr"]) == "1.0" and read["training"]["steps"] == 12
    assert repr(read["training"]["betas"]) == "(0.0, 0.6)"
    assert read["data"]["folder"] == "elsewhere"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "lab" / "configs").glob("*.toml")), ids=lambda p: p.stem
)
def test_the_configurations_of_the_course_are_understood(path):
    config = cli.read_config(path)
    vocab_size = 65 if config["data"].get("corpus") == "tinyshakespeare" else 50_257
    with torch.device("meta"):  # sizes without memory
        model_class, config_class = model_classes(config["model"].pop("type", "gpt"))
        model = model_class(config_class(vocab_size=vocab_size, **config["model"]))
    n = sum(p.numel() for p in model.parameters())
    millions = {"shakespeare-10m": 10.8, "gpt2-124m": 124.3}
    assert path.stem not in millions or round(n / 1e6, 1) == millions[path.stem]


# --- diagnose and chat -------------------------------------------------------------------------

MADE = """
from scratchformer.models import Bigram, GPT, GPTConfig

print("making it")
table = lambda: (Bigram(11), {"vocab_size": 11, "context_length": 8, "window": 1})


def ill():
    model = GPT(GPTConfig(vocab_size=11, context_length=8, d_model=8, n_heads=2, n_layers=1))
    model.register_forward_hook(lambda model, args, logits: logits / args[0].shape[1])
    return model
"""


def test_a_model_is_diagnosed_by_its_address_and_a_fault_is_the_exit_status(
    workdir, capsys, refused
):
    Path("made.py").write_text(MADE)
    assert call("diagnose made:table") == 0
    assert capsys.readouterr().out.startswith("healthy: ")
    assert call("diagnose made:ill --json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["faults"] == ["prefix"] and not report["healthy"]
    (finding,) = (f for f in report["findings"] if f["verdict"] == "failed")
    assert finding["test"] == "prefix" and finding["measured"] and finding["suspects"]
    for source, words in (("made:none", "made has no function none"), ("nowhere:f", "nowhere")):
        refused(f"diagnose {source}", words)


@pytest.mark.slow
def test_a_folder_of_transformers_is_diagnosed_with_its_cache(workdir, capsys):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"n_positions": 24, "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 31}
    config = transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)
    transformers.GPT2LMHeadModel(config).save_pretrained(workdir / "gpt2")
    assert call("diagnose gpt2") == 0
    out = capsys.readouterr().out
    assert "✓ cache" in out and "✓ padding" in out
    assert call("diagnose nothing") == 1
    GPT(GPTConfig(11, 8, 8, 2, 1)).save(workdir / "ours")
    assert call("diagnose ours") == 0


def test_a_trained_model_goes_on_with_what_is_typed(straight, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("To be\n\N{SNOWMAN}\nor\n"))
    assert call(f"chat {straight} --set temperature=0 --set max_new_tokens=6") == 0
    model, tokenizer = GPT.from_pretrained(straight), tokenizer_of(str(straight / "tokenizer.json"))
    texts = []
    for start in ("To be", "or"):
        ids = torch.tensor([tokenizer.encode(start)])
        texts.append(tokenizer.decode(generate(model, ids, 6, 0.0)[0, ids.shape[1] :].tolist()))
    printed = capsys.readouterr()
    assert printed.out == f"{texts[0]}\n\n{texts[1]}\n"
    assert "'\N{SNOWMAN}' is not one of the" in printed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (". --set depth=3", "expected one of temperature, top_k"),
        (". --set top_k=many", "'many' is not a number for top_k"),
        (".", "has no config.json and tokenizer.json"),
        ("smollm3", "no model 'smollm3': there is smollm2"),
    ],
)
def test_chat_is_refused_in_a_line(workdir, refused, arguments, words):
    refused(f"chat {arguments}", words)


def test_the_command_is_quick_to_say_what_it_does():
    code = (
        "import runpy, sys\nsys.argv = ['scratchformer', '--help']\n"
        "try:\n    runpy.run_module('scratchformer', run_name='__main__')\n"
        "except SystemExit:\n    print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "prepare" in done.stdout and "train" in done.stdout and done.stdout.endswith("False\n")
