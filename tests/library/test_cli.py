"""The two shell commands: what they write, how they stop and go on, what they say to mistakes."""

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
from scratchformer.cli import run
from scratchformer.cli.run_config import model_classes
from scratchformer.cli.run_folder import lock_folder
from scratchformer.cli.tokenizer_names import tokenizer_of
from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer.data.hugging_face import dataset_rows
from scratchformer.data.token_files import read_header, read_tokens
from scratchformer.generation import generate
from scratchformer.models import GPT, GPTConfig
from scratchformer.models.tensor_files import read_record
from scratchformer.tokenizers import ByteBPE, CharTokenizer, WordBPE
from scratchformer.training import evaluate

ROOT = Path(__file__).resolve().parents[2]
TEXT = Playhouse().text(6000)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder to work in, with a text and a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    (tmp_path / "play.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "small.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The token files of the text, in a folder of their own."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "play.txt").write_text(TEXT, encoding="utf-8")
    command = ["prepare", str(folder / "play.txt"), *"--tokenizer char --out".split()]
    assert cli.main([*command, str(folder / "tokens")]) == 0
    return folder / "tokens"


@pytest.fixture
def tokens(place, prepared):
    shutil.copytree(prepared, place / "tokens")
    return place


@pytest.fixture(scope="module")
def straight(prepared):
    """A run of the configuration that nothing has stopped."""
    folder = prepared.parent
    config = CONFIG.replace('"tokens"', f'"{prepared}"')
    (folder / "small.toml").write_text(config)
    out = folder / "straight"
    assert cli.main(["train", "--config", str(folder / "small.toml"), "--out", str(out)]) == 0
    return out


def refused(capsys, *arguments):
    """What is said of a command that fails; it must be short."""
    capsys.readouterr()
    assert cli.main([str(argument) for argument in arguments]) == 1
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("scratchformer: ")]
    assert len(lines) == 1 and "Traceback" not in err and "nats" not in out
    return lines[0]


# --- prepare ----------------------------------------------------------------------------------


def test_prepare_writes_the_ids_of_a_text_shows_its_progress_and_says_how_many(place, capsys):
    assert cli.main("prepare play.txt --tokenizer char --out out --validation 0.25".split()) == 0
    tokenizer = CharTokenizer.train(TEXT)
    assert CharTokenizer.load("out/tokenizer.json").characters == tokenizer.characters
    ids = tokenizer.encode(TEXT)
    assert read_tokens("out/train.bin", tokenizer).tolist() == ids[:4500]
    assert read_tokens("out/val.bin", tokenizer).tolist() == ids[4500:]
    out, err = capsys.readouterr()
    assert "out/train.bin: 4,500 tokens" in out and "out/val.bin: 1,500 tokens" in out
    assert "100%" in err and "6.00k/6.00k" in err


def test_prepare_takes_folders_and_saved_tokenizers_of_any_kind(place):
    (place / "texts" / "b").mkdir(parents=True)
    for name, text in (("b/2.txt", "to be"), ("a.md", "or not"), (".hidden", "never")):
        (place / "texts" / name).write_text(text)
    for tokenizer in (ByteBPE.train(TEXT, 300, ("<|endoftext|>",)), WordBPE.train(TEXT, 9)):
        tokenizer.save("bpe.json")
        call = "prepare texts play.txt --tokenizer bpe.json --validation 0 --out out --overwrite"
        assert cli.main(call.split()) == 0
        end = [299] if isinstance(tokenizer, ByteBPE) else []
        a, b, c = (tokenizer.encode(text) for text in ("or not", "to be", TEXT))
        assert read_tokens("out/train.bin", tokenizer).tolist() == a + end + b + end + c
        assert not Path("out/val.bin").exists()


def test_prepare_reads_stdin_and_leaves_it_open(place):
    ByteBPE.train(TEXT, 300).save("bpe.json")
    stdin = os.dup(0)
    try:
        with open("play.txt", "rb") as text:
            os.dup2(text.fileno(), 0)
        assert cli.main("prepare - --tokenizer bpe.json --out out".split()) == 0
        assert os.fstat(0)
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
    assert cli.main("prepare play.txt --tokenizer bpe.json --out same".split()) == 0
    assert read_header("out/train.bin")["text"] == read_header("same/train.bin")["text"]
    assert Path("out/train.bin").read_bytes()[4096:] == Path("same/train.bin").read_bytes()[4096:]


def test_prepare_reads_a_hugging_face_dataset(place, datasets, capsys):
    rows = datasets.Dataset.from_dict({"id": [1, 2], "story": ["To be,\nor not", 'she said "é"']})
    (place / "data").mkdir()
    rows.to_json(str(place / "data" / "train.jsonl"))
    tokenizer = ByteBPE.train(TEXT, 300, ("<|endoftext|>",))
    tokenizer.save("bpe.json")
    call = "prepare --dataset data --tokenizer bpe.json --validation 0 --out out".split()
    assert "no text in column 'text' of id, story" in refused(capsys, *call)
    with pytest.raises(ValueError, match="cannot read split 'valid' of dataset"):
        next(dataset_rows("data", "valid"))
    assert cli.main([*call, "--column", "story"]) == 0
    expected = [*tokenizer.encode("To be,\nor not"), 299, *tokenizer.encode('she said "é"')]
    assert read_tokens("out/train.bin", tokenizer).tolist() == expected


def test_prepare_says_what_is_wrong(place, capsys, monkeypatch):
    Path("latin.txt").write_bytes(b"caf\xe9")
    monkeypatch.setitem(sys.modules, "datasets", None)
    for arguments, words in (
        ("none.txt --tokenizer char", "none.txt"),
        ("--tokenizer char", "either texts or --dataset"),
        ("- --tokenizer char", "reads the text twice"),
        ("play.txt --tokenizer gpt9", "no tokenizer 'gpt9', expected gpt2, char or a saved file"),
        ("play.txt --tokenizer small.toml", "small.toml is not a saved tokenizer"),
        ("latin.txt --tokenizer char", "latin.txt is not UTF-8"),
        ("--dataset some --tokenizer char", "pip install datasets"),
    ):
        assert words in refused(capsys, "prepare", *arguments.split(), "--out", "out")


def test_prepare_after_ctrl_c_has_written_nothing(place, capsys, monkeypatch):
    call = "prepare play.txt --tokenizer char --out out".split()

    def interrupted(tokenizer, text):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CharTokenizer, "encode", interrupted)
        assert cli.main(call) == 130
    assert "stopped: nothing has been written" in capsys.readouterr().err
    assert not Path("out").exists()
    assert cli.main(call) == 0


# --- train ------------------------------------------------------------------------------------


def test_train_writes_a_model_its_history_and_a_plot(tokens, capsys):
    capsys.readouterr()
    assert cli.main("train --config small.toml".split()) == 0
    out = Path("runs/small")  # where it goes if nothing else is said
    printed, bar = capsys.readouterr()
    evaluated = [line.split(":")[0] for line in printed.splitlines() if "nats per token" in line]
    assert evaluated == ["step 5 of 12", "step 10 of 12", "step 12 of 12"]
    assert "100%" in bar and "12/12" in bar
    assert losses(out)["steps"] == [5, 10, 12] and len(losses(out)["val_loss"]) == 3
    assert losses(out)["val_loss"][-1] < losses(out)["val_loss"][0]
    assert (out / "loss.png").read_bytes().startswith(b"\x89PNG")
    model, tokenizer = GPT.from_pretrained(out), CharTokenizer.load(out / "tokenizer.json")
    assert model.config.vocab_size == tokenizer.vocab_size and model.config.dropout == 0.1
    ids = generate(model, torch.tensor([tokenizer.encode("A")]), 20, seed=0)
    assert len(tokenizer.decode(ids[0].tolist())) == 21


def test_train_from_a_corpus_equals_train_from_its_token_files(tokens, straight, monkeypatch):
    monkeypatch.setattr(run, "load_corpus", lambda name: Corpus(name, TEXT, "embedded"))
    Path("corpus.toml").write_text(CONFIG.replace('folder = "tokens"', 'corpus = "playhouse"'))
    assert cli.main(["train", "--config", "corpus.toml", "--out", "out"]) == 0
    assert weights(Path("out")) == weights(straight)
    assert losses(Path("out")) == losses(straight)


def test_the_best_model_is_kept_though_a_later_one_is_worse(tokens, capsys):
    short = CONFIG.replace("steps = 12", "steps = 80").replace("every = 5", "every = 10")
    text = Playhouse(seed=1).text(300)  # 300 characters are soon known by heart
    Path("short.txt").write_text(text)
    call = "prepare short.txt --tokenizer char --validation 0.3 --out tokens --overwrite"
    assert cli.main(call.split()) == 0
    Path("small.toml").write_text(short.replace("d_model = 16", "d_model = 32"))
    assert cli.main("train --config small.toml --out out".split()) == 0
    history = losses(Path("out"))
    val = history["val_loss"]
    assert min(val) < val[-1]  # it has over-fitted
    model = GPT.from_pretrained("out/best")
    ids = read_tokens("tokens/val.bin", CharTokenizer.load("tokens/tokenizer.json"))
    assert evaluate(model, ids, 16) == pytest.approx(min(val), abs=1e-5)
    assert evaluate(GPT.from_pretrained("out"), ids, 16) == pytest.approx(val[-1], abs=1e-5)
    step = history["steps"][val.index(min(val))]
    words = f"the model of step {step}, best on validation with {min(val):.4f}"
    assert words in capsys.readouterr().out


def test_a_run_killed_before_it_saved_its_best_model_saves_it_when_it_goes_on(
    tokens, straight, monkeypatch
):
    save, calls = GPT.save, []

    def killed(model, folder):
        calls.append(folder)
        if len(calls) == 3:  # of three evaluations, the last is the best
            raise KeyboardInterrupt
        save(model, folder)

    with monkeypatch.context() as patch:
        patch.setattr(GPT, "save", killed)
        assert cli.main("train --config small.toml --out out".split()) == 130
    assert weights(Path("out/best")) != weights(straight / "best")
    assert cli.main("train --config small.toml --out out --resume".split()) == 0
    assert weights(Path("out/best")) == weights(straight / "best") == weights(straight)


def test_a_stopped_run_goes_on_to_the_same_end(tokens, straight, capsys, monkeypatch):
    out, learn = Path("out"), run.train_on

    def stopped(*args, callbacks, **options):
        def stop(state):
            if state.step == 7:
                os.kill(os.getpid(), signal.SIGINT)

        return learn(*args, callbacks=[*callbacks, stop], **options)

    with monkeypatch.context() as patch:
        patch.setattr(run, "train_on", stopped)
        assert cli.main("train --config small.toml --resume --out out".split()) == 130  # it starts
    errors = capsys.readouterr().err
    assert "stopped after step 7 of 12 and saved. Go on with\n" in errors
    assert not (out / "model.safetensors").exists()
    held = refused(capsys, "train", "--config", "small.toml", "--out", out)
    assert "holds a run: go on with --resume" in held
    said = errors.strip().splitlines()[-1].split()
    assert said[0] == "scratchformer" and cli.main(said[1:]) == 0
    assert weights(out) == weights(straight)
    assert losses(out) == losses(straight)


def test_a_run_goes_on_with_nothing_but_what_it_began_with(tokens, capsys):
    call = "train --config small.toml --out out".split()
    assert cli.main(call) == 0
    before = weights(Path("out"))
    for old, new, words in (
        ("batch_size = 4", "batch_size = 5", "training.batch_size = 4, got 5"),
        ("dropout = 0.1", "", "model.dropout = 0.1, got 'nothing'"),
    ):
        Path("small.toml").write_text(CONFIG.replace(old, new))
        assert words in refused(capsys, *call, "--resume")
    Path("small.toml").write_text(CONFIG)
    Path("play.txt").write_text(TEXT + "\n")
    assert cli.main("prepare play.txt --tokenizer char --out tokens --overwrite".split()) == 0
    assert "sums.text = " in refused(capsys, *call, "--resume")
    for text in ("{", '{"data": 3}'):
        Path("out/run.json").write_text(text)
        assert "run.json is damaged" in refused(capsys, *call, "--resume")
    Path("out/run.json").unlink()
    assert "run.json is missing" in refused(capsys, *call, "--resume")
    assert weights(Path("out")) == before


WRONG = [  # (what stands in the configuration, what is put there, what is said)
    ("lr = 1e-2", "lr = 1e-2\nsteps_ = 3", "[training] has no key 'steps_', expected some of"),
    ("n_heads = 2", "n_heads = 2.0", "[model] has n_heads = 2.0, expected int"),
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
    ('"tokens"', '"nowhere"', "train.bin is missing: `scratchformer prepare` writes it"),
    ("seed = 0", "seed = -1", "seed=-1"),
    ("n_heads = 2", "n_heads = 3", "n_heads=3"),
]


def contents(folder):
    """Every file in a folder, with what it holds."""
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


TRAIN, PREPARE = "train --config small.toml --out", "prepare other.txt --tokenizer char --out"


def test_no_command_replaces_what_another_owner_has_in_a_folder(tokens, straight, capsys):
    Path("other.txt").write_text("another text, of other characters" * 9)
    shutil.copytree(straight, "run")
    for name in ("config.json", "best/config.json", "tokenizer.json", "loss.png"):
        Path("mine", name).parent.mkdir(parents=True, exist_ok=True)
        Path("mine", name).write_text("my own")
        for call in (f"{TRAIN} mine", f"{TRAIN} mine --resume"):
            before = contents("mine")
            assert "no run that it belongs to" in refused(capsys, *call.split())
            assert contents("mine") == before
        if name == "tokenizer.json":
            assert "holds a tokenizer.json already" in refused(capsys, *f"{PREPARE} mine".split())
            assert contents("mine") == before
        shutil.rmtree("mine")
    for folder, call, words in (
        ("run", PREPARE, "run holds a run, not token files: choose another folder"),
        ("run", PREPARE.replace("--out", "--overwrite --out"), "run holds a run, not token files"),
        ("run/best", PREPARE, "run/best holds a run, not token files"),
        ("tokens", TRAIN, "tokens holds token files, not a run: choose another folder"),
        ("tokens", TRAIN.replace("--out", "--resume --out"), "tokens holds token files, not a run"),
    ):
        before = contents(folder)
        assert words in refused(capsys, *call.split(), folder)
        assert contents(folder) == before


def test_a_run_in_the_place_of_another_ones_best_model_is_left_alone(tokens, straight, capsys):
    shutil.copytree(straight, "out/best")
    before = contents("out")
    assert "best holds a run of its own" in refused(capsys, *f"{TRAIN} out".split())
    assert contents("out") == before


@pytest.mark.parametrize("left", ["model.safetensors", "best/config.json", "history.json"])
def test_a_run_without_its_checkpoint_is_not_begun_anew_over_its_models(
    tokens, straight, capsys, left
):
    shutil.copytree(straight, "run")
    for path in Path("run").iterdir():
        if path.name not in (left.split("/")[0], "run.json", "tokenizer.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    Path("run/best/model.safetensors").unlink(missing_ok=True)
    before = contents("run")
    for more, words in (("--resume", f"and replace {left}"), ("", "holds a run: go on with")):
        assert words in refused(capsys, *f"{TRAIN} run {more}".split())
    assert contents("run") == before


def test_a_failure_before_the_first_step_leaves_the_folder_as_it_was(tokens, capsys, monkeypatch):
    call = f"{TRAIN} runs/out".split()

    def fails(*arguments, **options):
        raise ValueError("not today")

    def without_a_compiler(*arguments, **options):
        from torch._inductor.exc import InductorError

        raise InductorError(RuntimeError("no C++ compiler\nand 40 lines more"), None)

    with monkeypatch.context() as patch:
        for failure, words in ((fails, "not today"), (without_a_compiler, "compile = true does")):
            patch.setattr(run, "train_on", failure)
            assert words in refused(capsys, *call) and not Path("runs").exists()
    assert "device='meta' has shapes" in refused(capsys, *call, "--set", "training.device=meta")
    assert cli.main([*call, "--set", "training.steps=5"]) == 0
    before = contents("runs/out")
    monkeypatch.setattr(run, "train_on", fails)
    changes = ("--set", "training.steps=5", "--set", "training.compile=true")
    assert "not today" in refused(capsys, *call, *changes, "--resume")
    assert contents("runs/out") == before


def test_a_loss_that_is_no_number_ends_the_command_and_keeps_the_best_model(tokens, capsys):
    calls = []

    def nan_at_last(*arguments, **options):
        calls.append(evaluate(*arguments, **options))
        return calls[-1] if len(calls) < 3 else float("nan")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scratchformer.training.loop.evaluate", nan_at_last)
        assert cli.main(f"{TRAIN} out --set training.clip=inf".split()) == 1
    said = capsys.readouterr().err
    assert "the validation loss is nan at step 12, with a learning rate of" in said
    for name in ("run.json", "history.json"):
        json.loads(Path("out", name).read_text(), parse_constant=pytest.fail)
    assert losses(Path("out"))["steps"] == [5, 10]
    assert read_record("out/checkpoint.safetensors")["step"] == 10
    ids = read_tokens("tokens/val.bin", CharTokenizer.load("tokens/tokenizer.json"))
    assert evaluate(GPT.from_pretrained("out/best"), ids, 16) == pytest.approx(min(calls[:2]), 1e-4)


def test_on_a_gpu_that_lies_the_command_says_so_and_trains_on_the_cpu(
    tokens, straight, capsys, monkeypatch
):
    @contextmanager
    def with_a_gpu(name):
        yield torch.device("cuda")

    monkeypatch.setattr(run.distributed, "process_group", with_a_gpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Liar 3000")
    with Device(lambda x: x.flip(1) + 3):
        assert cli.main(f"{TRAIN} out".split()) == 0
    said = capsys.readouterr().out
    assert "cuda (Liar 3000) does not compute as the CPU does: the loss of a small batch" in said
    assert "Training on the CPU\n" in said and "parameters on cpu, " in said
    assert weights(Path("out")) == weights(straight)


def test_prepare_never_reads_what_it_writes(place, capsys):
    Path("texts").mkdir()
    Path("texts/play.txt").write_text(TEXT)
    call = "prepare texts --tokenizer char --overwrite --out".split()
    for out in ("texts", "texts/inside"):
        for _ in range(2):
            assert cli.main([*call, out]) == 0
            assert read_header(f"{out}/train.bin")["tokens"] == 5400
        for path in contents(out):
            if not path.endswith("play.txt"):
                Path(path).unlink()
    assert cli.main([*call, "out"]) == 0
    call = "prepare out/tokenizer.json --tokenizer char --overwrite --out out".split()
    assert "no text but what is written" in refused(capsys, *call)


def test_a_file_that_is_no_text_is_refused_with_its_byte(place, capsys):
    for data, words in (
        (b"To be\0 or not", "byte 5 is 0"),
        ("To be".encode("utf-16-le"), "byte 1 is 0"),
        ("\ufeffTo be".encode("utf-16-le"), "byte 3 is 0"),
        (b"\xef\xbb\xbf" + "é".encode() * 700_000 + b"\xe9 or not", "byte 1,400,003 is 0xe9"),
        ("é".encode() * 700_000 + b"\0", "byte 1,400,000 is 0"),
        (b"caf\xc3", "byte 3 is 0xc3, unexpected end of data"),
    ):
        Path("no.txt").write_bytes(data)
        call = "prepare no.txt --tokenizer char --out out"
        assert f"no.txt is not UTF-8 text: {words}" in refused(capsys, *call.split())
        assert not Path("out").exists()


def test_a_wrong_configuration_is_refused_in_words_and_leaves_nothing_behind(tokens, capsys):
    for old, new, words in WRONG:
        assert old in CONFIG
        Path("small.toml").write_text(CONFIG.replace(old, new, 1))
        assert words in refused(capsys, "train", "--config", "small.toml")
        assert not Path("runs").exists(), new
    Path("small.toml").write_text(CONFIG)
    for change, words in (
        ("steps=3", "--set steps=3: expected TABLE.KEY=VALUE"),
        ("training.lr=fast", "[training] has lr = 'fast', expected float"),
    ):
        assert words in refused(capsys, "train", "--config", "small.toml", "--set", change)


def test_values_are_overridden_by_set(tokens):
    call = "train --config small.toml --out out --set training.steps=2 --set model.n_layers=2"
    assert cli.main([*call.split(), "--set", "training.lr=1e-3", "--set", "model.dropout=0"]) == 0
    config = json.loads(Path("out/run.json").read_text())
    assert config["training"]["steps"] == 2 and config["training"]["lr"] == 1e-3
    assert GPT.from_pretrained("out").config.n_layers == 2
    read = cli.read_config("small.toml", ["data.folder=elsewhere", "training.betas=[0.5, 0.6]"])
    assert read["data"]["folder"] == "elsewhere" and read["training"]["betas"] == (0.5, 0.6)


def test_a_configuration_may_begin_with_a_byte_order_mark_and_give_whole_numbers(place):
    Path("bom.toml").write_bytes(b"\xef\xbb\xbf" + CONFIG.encode())
    assert cli.read_config("bom.toml") == cli.read_config("small.toml")
    text = CONFIG.replace("lr = 1e-2", "lr = 1\nclip = 1").replace("[0.9, 0.98]", "[0, 0.98]")
    Path("small.toml").write_text(text)
    read = cli.read_config(Path("small.toml"))["training"]
    assert type(read["lr"]) is type(read["clip"]) is float
    assert read["betas"] == (0.0, 0.98) and type(read["betas"][0]) is float


def test_token_files_that_are_damaged_or_of_another_tokenizer_or_text_are_refused(tokens, capsys):
    call = "train", "--config", "small.toml"
    for name in ("train.bin", "val.bin"):
        data = Path("tokens", name).read_bytes()
        Path("tokens", name).write_bytes(data[:-2] + b"\xff\xff")
        assert f"{name} is damaged: it holds the id 65535, expected less" in refused(capsys, *call)
        Path("tokens", name).write_bytes(data)
    letters = sorted(set(TEXT))
    for other in (letters[::-1], letters[1:]):
        CharTokenizer("".join(other)).save("tokens/tokenizer.json")
        assert "was written by another tokenizer" in refused(capsys, *call)
    CharTokenizer("".join(letters)).save("tokens/tokenizer.json")
    Path("short.txt").write_text("".join(letters) * 99)
    assert cli.main("prepare short.txt --tokenizer tokens/tokenizer.json --out short".split()) == 0
    os.replace("short/val.bin", "tokens/val.bin")
    assert "are not of one text: prepare" in refused(capsys, *call)


def test_a_folder_is_one_runs_and_what_killed_writers_left_is_removed(tokens, capsys):
    call = "train --config small.toml --out out --set training.steps=2".split()
    with lock_folder(Path("out")):
        for resume in ([], ["--resume"]):
            assert "another run is writing to out: choose" in refused(capsys, *call, *resume)
    assert not Path("out/run.json").exists()
    Path("out/best").mkdir(parents=True)
    for name in (".run.json.1b.part", "best/.config.json.2.part"):
        Path("out", name).write_text("left")
    assert cli.main(call) == 0 and not list(Path("out").rglob("*.part"))


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
    command = f"scratchformer train --config lab/configs/{path.name}"
    assert command in path.read_text(encoding="utf-8")


MADE = """
from scratchformer.models import Bigram, GPT, GPTConfig

print("making it")
size = dict(vocab_size=11, context_length=8, d_model=8, n_heads=2, n_layers=1)
healthy = lambda: GPT(GPTConfig(**size))
table = lambda: (Bigram(11), {"vocab_size": 11, "context_length": 8, "window": 1})


def ill():
    model = GPT(GPTConfig(**size))
    model.register_forward_hook(lambda model, args, logits: logits / args[0].shape[1])
    return model
"""


def test_a_model_is_diagnosed_by_its_address_and_a_fault_is_the_exit_status(place, capsys):
    (place / "made.py").write_text(MADE)
    assert cli.main(["diagnose", "made:healthy"]) == 0 == cli.main(["diagnose", "made:table"])
    assert capsys.readouterr().out.startswith("healthy: ")
    assert cli.main(["diagnose", "made:ill", "--json", "--context-length", "7"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == ["prefix"] and not found["healthy"]
    finding = next(f for f in found["findings"] if f["test"] == "prefix")
    assert finding["verdict"] == "failed" and finding["measured"] and finding["suspects"]
    for source, message in (("made:none", "made has no function none"), ("nowhere:f", "nowhere")):
        assert cli.main(["diagnose", source]) == 1
        assert message in capsys.readouterr().err


def test_a_folder_of_transformers_is_diagnosed_with_its_cache(place, capsys):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"n_positions": 24, "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 31}
    config = transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)
    transformers.GPT2LMHeadModel(config).save_pretrained(place / "gpt2")
    assert cli.main(["diagnose", str(place / "gpt2")]) == 0
    out = capsys.readouterr().out
    assert "✓ cache" in out and "✓ padding" in out
    assert cli.main(["diagnose", str(place / "nothing")]) == 1
    GPT(GPTConfig(11, 8, 8, 2, 1)).save(place / "ours")
    assert cli.main(["diagnose", str(place / "ours")]) == 0


def test_a_trained_model_goes_on_with_what_is_typed(tokens, straight, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("To be\n\N{SNOWMAN}\nor\n"))
    greedy = ["--set", "temperature=0", "--set", "max_new_tokens=6"]
    assert cli.main(["chat", str(straight), *greedy]) == 0
    model, tokenizer = GPT.from_pretrained(straight), tokenizer_of(str(straight / "tokenizer.json"))
    texts = []
    for start in ("To be", "or"):
        ids = torch.tensor([tokenizer.encode(start)])
        texts.append(tokenizer.decode(generate(model, ids, 6, 0.0)[0, ids.shape[1] :].tolist()))
    printed = capsys.readouterr()
    assert printed.out == f"{texts[0]}\n\n{texts[1]}\n"
    assert "'\N{SNOWMAN}' is not one of the" in printed.err
    for words, why in (
        (["--set", "depth=3"], "expected one of temperature, top_k"),
        (["--set", "top_k=many"], "'many' is not a number for top_k"),
    ):
        assert cli.main(["chat", str(straight), *words]) == 1
        assert why in capsys.readouterr().err
    assert cli.main(["chat", str(straight.parent)]) == 1
    assert "has no config.json and tokenizer.json" in capsys.readouterr().err
    assert cli.main(["chat", "smollm3"]) == 1
    assert "no model 'smollm3': there is smollm2" in capsys.readouterr().err


def test_the_command_is_quick_to_say_what_it_does():
    code = (
        "import runpy, sys\nsys.argv = ['scratchformer', '--help']\n"
        "try:\n    runpy.run_module('scratchformer', run_name='__main__')\n"
        "except SystemExit:\n    print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "prepare" in done.stdout and "train" in done.stdout and done.stdout.endswith("False\n")
