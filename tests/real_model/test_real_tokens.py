"""SmolLM2's tokenizer in JavaScript gives the ids and the text of Python's ByteBPE."""

import gzip
import json
import random
import subprocess
import sys
import unicodedata

import pytest

from book._ext.real_model_ext import vocabulary_script
from scratchformer.tokenizers import ByteBPE
from tests.library.small_gguf import tokenizer, write_gguf
from tests.node import JavaScriptError, Node
from tests.real_model.in_node import node, real_file

READ = """
const file = await G.open(new Blob([require("fs").readFileSync(input.path)]));
const tok = tokenizers.load(V.describe(file.settings));
"""
ENCODE = """
return input.texts.map((text) => {
  const [plain, special] = [tok.encode(text), tok.encode(text, true)];
  return [plain, special, tok.decode(plain), tok.decode(special)];
})"""
IN_PYTHON = """
import json, sys
from scratchformer.tokenizers import ByteBPE
tok, found = ByteBPE.from_gguf(sys.argv[1]), []
for text in json.load(sys.stdin):
    plain, special = tok.encode(text), tok.encode(text, allow_special=True)
    found.append([plain, special, tok.decode(plain), tok.decode(special)])
json.dump(found, sys.stdout)
"""
WORDS = "The capital of France is Paris|I'll|'re|it's|DON'T|strawberry|  the|x(x):\n    return x**2"
WORDS += "|naïve|e\u0301|Ａ|ß|ǅ|नमस्ते|中文字|한국어|العربية|עברית|ไทย|Ελλάδα|Кириллица|ქართული"
WORDS += (
    "|😀|👩\u200d👧|🏳️\u200d🌈|🇫🇷|1|12|3.14|½|Ⅷ|٣|²|१|2024-11-26| |  |\n|\n\n|\t|\r\n| \n |\u00a0"
)
WORDS += "|\u3000|\u2028|\x00|\x1c|\x85|\v|\f|\u200b|\ufeff|\ufffd|''|“|…|—|undefined|<|im_start|>"
NAMES = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
HALVES = ["\ud83d", "\ude00", "\ud83dx"]


def odd_texts(n, seed=0):
    """Texts drawn from words of many scripts, from all of Unicode, and from half characters."""
    rng = random.Random(seed)
    assigned = [
        chr(c) for c in range(0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")
    ]
    pieces = [*WORDS.split("|"), *NAMES, *HALVES]
    texts = []
    for i in range(n):
        drawn = rng.choices(pieces, k=rng.randint(1, 12))
        drawn += rng.choices(assigned, k=(i % 3) * rng.randint(0, 8))
        rng.shuffle(drawn)
        texts.append("".join(drawn))
    return [*texts, "", "a" * 5000, " " * 5000, "1" * 500]


def in_javascript(path, texts):
    return node(READ + ENCODE, path=str(path), texts=texts)


def test_ids_and_text_of_odd_strings_are_pythons():
    path, texts = real_file(), odd_texts(3000)
    command = [sys.executable, "-c", IN_PYTHON, str(path)]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    wanted = json.loads(done.stdout)
    found = in_javascript(path, texts)
    apart = [text for text, a, b in zip(texts, found, wanted, strict=True) if a != b]
    assert apart == []


def test_the_vocabulary_alone_gives_the_description_of_the_file_and_is_below_1_mb():
    path = real_file()
    script = vocabulary_script(path)
    assert len(script.encode()) < 1e6 and len(gzip.compress(script.encode())) < 250_000
    node_of_page = Node(
        "page_model/tokenizer.js",
        "ch01_bpe/live.js",
        G="real_model/gguf.js",
        V="real_model/vocabulary.js",
        R="ch01_bpe/real_tokens.js",
    )
    same = """
const { buffer, byteOffset, length } = require("fs").readFileSync(input.path);
const file = G.read(buffer.slice(byteOffset, byteOffset + length));
(0, eval)(input.script);
const made = R.describe(course.realVocabulary);
return [JSON.stringify(made) === JSON.stringify(V.describe(file.settings)), made.tokens.length];"""
    assert node_of_page(same, path=str(path), script=script) == [True, 49_152]


def test_bytes_without_a_token_and_names_of_special_tokens_are_treated_as_in_python(tmp_path):
    names = ["<|im_start|>", "<|im_start|>x", "a", "b", "c", "Ġ", "1", "ab", "Ġa", "abc", "Ã", "©"]
    given = tokenizer(names, [3, 3] + [1] * 10, merges=["a b", "Ġ a", "ab c"])
    path = write_gguf(tmp_path / "a.gguf", **given)
    tok = ByteBPE.from_gguf(path)
    texts = ["abcab abc", "zabz", "<|im_start|>xa", "b<|im_start|>a 1 1é", "   abab"]
    wanted = [[tok.encode(text), tok.encode(text, allow_special=True)] for text in texts]
    wanted = [[*ids, *map(tok.decode, ids)] for ids in wanted]
    assert in_javascript(path, texts) == wanted
    assert wanted[2][1] == [1, 2], "the longer name"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (tokenizer(["a"], [1], kind="llama"), "its tokenizer is llama, smollm, expected gpt2"),
        (tokenizer(["a", "b"], [1]), "it holds no complete tokenizer"),
        (tokenizer(["a", "b"], [1, 4]), "it holds no complete tokenizer"),
        (tokenizer(["日"], [1]), "its token with 日 stands for no bytes"),
        ({}, "its tokenizer is undefined"),
    ],
)
def test_another_tokenizer_is_refused(tmp_path, given, message):
    path = write_gguf(tmp_path / "a.gguf", **given)
    with pytest.raises(JavaScriptError, match=message):
        in_javascript(path, [])
