"""all-MiniLM-L6-v2 in the course's BERT, and WordPiece: equal to transformers' and tokenizers' own.

What needs the model itself is skipped where it is not at hand: a test never downloads it.
"""

import json
import random

import pytest
import torch
from refusals import refused
from tokenizers import BertWordPieceTokenizer

from scratchformer.attention import padding_mask
from scratchformer.data import real_model
from scratchformer.models import BERT, BERTConfig
from scratchformer.models.bert_files import bert_from_hugging_face
from scratchformer.models.pretrained import load_model
from scratchformer.tokenizers import WordPiece

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
BertConfig, BertModel = transformers.BertConfig, transformers.BertModel
SIZES = {"vocab_size": 90, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3}
SIZES |= {"intermediate_size": 40, "max_position_embeddings": 20, "type_vocab_size": 3}
TOKENS = (
    "[PAD] [UNK] [CLS] [SEP] the un ##happ ##y ##ier cat sat , ##s ' on 東 naive unhapp".split()
)
ODD = [
    *"aeiouYZtshpncr  ,.'-#_$",
    "É",
    "ï",
    "ß",
    "İ",
    "Σ",
    "東",
    "ｶ",
    "\t",
    "\x07",
    "\u200d",
    "́",
    "…",
]
CONFIG = BertConfig(**SIZES).to_dict()


def small():
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES)).eval()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return model


def same_vectors(ours, theirs, vocab_size, atol):
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, vocab_size, (3, 12), generator=generator)
    real = torch.arange(12) < torch.tensor([12, 7, 3])[:, None]
    ids, segments = ids * real, (torch.arange(12) >= 5).long().expand_as(ids)
    with torch.no_grad():
        asked = {"attention_mask": real.long(), "token_type_ids": segments}
        expected = theirs(ids, **asked).last_hidden_state
        got = ours.encode(ids, segments, padding_mask(ids, 0))
    torch.testing.assert_close(got[real], expected[real], rtol=0, atol=atol)


def test_a_bert_of_hugging_faces_gives_the_same_vectors_and_no_opinion_on_gaps(tmp_path):
    theirs = small()
    theirs.save_pretrained(tmp_path)
    ours = load_model(tmp_path, BERT, BERTConfig, bert_from_hugging_face)
    same_vectors(ours, theirs, SIZES["vocab_size"], atol=1e-5)
    assert not ours(torch.tensor([[5, 6]])).any(), "it has no head, so that all words are alike"


def translated(**config):
    return lambda: bert_from_hugging_face(CONFIG | config, small().state_dict())


test_what_our_bert_does_not_compute_is_refused = refused(
    {
        "hidden_act='relu', expected 'gelu'": translated(hidden_act="relu"),
        "layer_norm_eps=1e-05, expected 1e-12": translated(layer_norm_eps=1e-5),
        "model_type='roberta', expected 'bert'": translated(model_type="roberta"),
        "expected .SEP. among the 3 tokens": lambda: WordPiece(["[UNK]", "[CLS]", "a"]),
        "has no WordPiece vocabulary: all-minilm-l6-v2": lambda: no_vocabulary(),
    }
)


def no_vocabulary():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scratchformer.tokenizers.word_piece.find_real_model", real_model.Path)
        WordPiece.pretrained("no-such-folder/weights")


def odd_texts(n):
    rng = random.Random(0)
    words = [token.strip("#") for token in TOKENS[4:]]
    for _ in range(n):
        yield "".join(rng.choice(rng.choice((ODD, words))) for _ in range(rng.randrange(30)))


def test_pieces_are_the_longest_known_and_a_word_with_a_hole_is_unknown():
    tok = WordPiece(TOKENS)
    asked = {"unhappier": "unhapp ##ier", "cats": "cat ##s", "Naïve": "naive", "catz": "[UNK]"}
    asked |= {"cat" + "s" * 97: " ".join(["cat"] + ["##s"] * 97), "cat" + "s" * 98: "[UNK]"}
    for word, pieces in asked.items():
        ids = [TOKENS.index(piece) for piece in pieces.split()]
        assert tok.encode(word) == [2, *ids, 3], word
    assert tok.decode(tok.encode("The cats, unhappy")) == "[CLS] the cats , unhappy [SEP]"
    assert tok.vocab_size == len(TOKENS)


def equal_ids(ours, vocabulary, texts):
    theirs = BertWordPieceTokenizer(vocabulary, lowercase=True)
    assert [ours.encode(text) for text in texts] == [theirs.encode(text).ids for text in texts]


def test_odd_texts_are_cut_as_by_the_tokenizers_package():
    vocabulary = {token: i for i, token in enumerate(TOKENS)}
    equal_ids(WordPiece(TOKENS), vocabulary, list(odd_texts(3000)))


# ---- the model itself, where it is at hand ----


def test_minilm_is_equal_to_transformers_and_is_cut_alike():
    try:
        path = real_model.find_real_model(real_model.MINILM, download=False)
    except OSError:
        pytest.skip("it is not at hand: python -m scratchformer.data.real_model all-minilm-l6-v2")
    ours, tok = BERT.pretrained(real_model.MINILM), WordPiece.pretrained(real_model.MINILM)
    theirs = BertModel.from_pretrained(path.parent).eval()
    same_vectors(ours, theirs, tok.vocab_size, atol=1e-4)
    encoded = [p for name, p in ours.named_parameters() if not name.startswith(("tr", "lm"))]
    assert sum(p.numel() for p in encoded) == 22_565_376
    assert json.loads((path.parent / "config.json").read_text())["vocab_size"] == tok.vocab_size
    equal_ids(tok, str(path.with_name("vocab.txt")), list(odd_texts(1000)))
