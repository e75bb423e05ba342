"""The exercises of chapter 18, GPT-2."""

import re

import torch

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import Wrong, expect


def _config(*sizes):
    names = ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer")
    return dict(zip(names, sizes, strict=True))


def _total(config, tables=("vocab_size", "n_positions"), matrices=12, vectors=13, end=2):
    """A block has `matrices` times C² and `vectors` times C parameters, the last norm `end` C."""
    C = config["n_embd"]
    block = matrices * C * C + vectors * C
    return sum(config[table] for table in tables) * C + config["n_layer"] * block + end * C


@exercise("18.1")
class count:
    """count(config: Hugging Face's dict) -> the number of parameters of that GPT-2"""

    cases = (
        _config(50, 8, 12, 3, 2),
        _config(100, 32, 20, 4, 5),
        _config(50_257, 1024, 768, 12, 12),
    )
    praise = "`count` is right for three sizes; the last of them is GPT-2 small, with 124,439,808."

    def right(config):
        return _total(config)

    def also(config):
        C = config["n_embd"]
        linear = [(C, 3 * C), (C, C), (C, 4 * C), (4 * C, C)]
        block = sum(i * o + o for i, o in linear) + 2 * 2 * C
        tables = config["vocab_size"] * C + config["n_positions"] * C
        return tables + config["n_layer"] * block + 2 * C

    def counts_the_head(config):
        """The output head is counted too: it is the token table, a second time"""
        return _total(config, tables=("vocab_size", "n_positions", "vocab_size"))

    def forgets_the_positions(config):
        """The table of positions is missing"""
        return _total(config, tables=["vocab_size"])

    def forgets_the_tokens(config):
        """The table of tokens is missing"""
        return _total(config, tables=["n_positions"])

    def forgets_the_last_norm(config):
        """The norm after the last block is missing: 2 n_embd more"""
        return _total(config, end=0)

    def forgets_the_biases(config):
        """The biases of the four linear layers are missing: 9 n_embd in each block"""
        return _total(config, vectors=4)

    def forgets_the_norms(config):
        """The norms are missing: each has a factor and a shift"""
        return _total(config, vectors=9, end=0)

    def counts_norms_without_a_shift(config):
        """A norm has two vectors, a factor and a shift: one is missing"""
        return _total(config, vectors=11, end=1)

    def counts_one_block(config):
        """One block is counted: there are `n_layer` of them"""
        return _total({**config, "n_layer": 1})

    def makes_c_attn_as_wide_as_the_model(config):
        """`c_attn` makes queries, keys and values: it is 3 n_embd wide"""
        return _total(config, matrices=10, vectors=11)

    def makes_the_feed_forward_network_as_wide_as_the_model(config):
        """The feed-forward network is 4 n_embd wide inside, and has two layers"""
        return _total(config, matrices=6, vectors=10)

    def counts_attention_for_each_head(config):
        """Counted once for each head: heads share the width, they do not add to it"""
        H = config["n_head"]
        return _total(config, matrices=4 * H + 8, vectors=4 * H + 9)

    def counts_the_masks(config):
        """The causal masks are in the file, but nothing learns them"""
        return _total(config) + config["n_layer"] * config["n_positions"] ** 2

    def returns_bytes(config):
        """These are the bytes: a parameter takes 4"""
        return 4 * _total(config)


TABLES = ("wte.weight", "wpe.weight", "transformer.wte.weight")
NORMS = ("h.0.ln_1.weight", "h.3.ln_2.weight", "ln_f.weight", "h.2.ln_1.bias", "ln_f.bias")
MASKS = ("h.0.attn.bias", "transformer.h.11.attn.bias", "h.4.attn.masked_bias")

HEAD = "The head is the token table itself, which is there already: skip it"
MASK = "This is no bias but the causal mask of a block, and no parameter of ours"
# For each wrong answer, why it is wrong: the first pattern that the tensor's name holds decides.
REASONS = {
    "copy": {
        "lm_head": HEAD,
        r"\.attn\.(masked_)?bias": MASK,
        "transformer": "`transformer.` before a name changes nothing",
        r"h\.0\.attn\.c_attn": "Hugging Face keeps this matrix as (in, out)",
        r"attn\.c_proj": "It is square, so its shape tells nothing: it is (in, out), like the rest",
        "": "Every block has four matrices to turn, and this is one",
    },
    "turn": {
        "lm_head": HEAD,
        r"\.attn\.(masked_)?bias": MASK,
        "w[tp]e": "An embedding is a table, one row for each id, in both: it must not be turned",
        "ln_": "A norm holds vectors: there is nothing to turn",
        "": "A vector has nothing to turn",
    },
    "skip": {
        r"c_attn\.bias": "A real bias, of queries, keys and values, is lost: its name ends in "
        "`attn.bias` as well",
        "w[tp]e": "The model needs this table",
        "ln_": "Norms are learned too",
        "": "This was learned: the model needs it",
    },
}


@exercise("18.2")
class what_to_do:
    """what_to_do(name of a tensor in Hugging Face's file) -> "copy", "turn" or "skip" """

    cases = (
        "h.0.attn.c_attn.weight",
        "h.0.attn.c_attn.bias",
        *(
            f"{start}{layer}.{matrix}.{end}"
            for layer in (0, 7, 11)
            for matrix in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
            for start, end in (("h.", "weight"), ("transformer.h.", "weight"), ("h.", "bias"))
        ),
        *TABLES,
        *NORMS,
        *MASKS,
        "lm_head.weight",
    )
    praise = "`what_to_do` is right for every name in files old and new: 4 kinds of matrix to turn."

    def explain(got, name):
        call, right = f"`what_to_do({name!r})`", what_to_do.right(name)
        expect(got in REASONS, f"{call} must be one of 'copy', 'turn' and 'skip', got `{got!r}`.")
        why = next(why for part, why in REASONS[got].items() if re.search(part, name))
        raise Wrong(f"{why}.\n{call} returned `{got!r}`, expected `{right!r}`.")

    def right(name):
        if name == "lm_head.weight" or name.endswith((".attn.bias", ".attn.masked_bias")):
            return "skip"
        return "turn" if re.search(r"c_(attn|proj|fc)\.weight$", name) else "copy"

    def also(name):
        parts = name.removeprefix("transformer.").split(".")
        if parts[0] == "lm_head" or parts[-2:] in (["attn", "bias"], ["attn", "masked_bias"]):
            return "skip"
        return "turn" if parts[-2].startswith("c_") and parts[-1] == "weight" else "copy"

    def drops_the_bias_of_c_attn(name):
        """… its name ends in `attn.bias` as well"""
        return "skip" if name.endswith("attn.bias") else what_to_do.right(name)

    def copies_the_square_matrix(name):
        """… It is square, so its shape tells nothing"""
        return "copy" if name.endswith("attn.c_proj.weight") else what_to_do.right(name)

    def turns_every_matrix(name):
        """… it must not be turned"""
        return "turn" if name in TABLES else what_to_do.right(name)

    def turns_biases(name):
        """… A vector has nothing to turn"""
        return "turn" if ".c_" in name else what_to_do.right(name)

    def turns_nothing(name):
        """… Hugging Face keeps this matrix as (in, out)"""
        return what_to_do.right(name).replace("turn", "copy")

    def copies_masks(name):
        """… the causal mask of a block"""
        return "copy" if name in MASKS else what_to_do.right(name)

    def copies_the_masks_of_older_files(name):
        """… the causal mask of a block"""
        return "copy" if name.endswith("masked_bias") else what_to_do.right(name)

    def copies_the_head(name):
        """… which is there already"""
        return "copy" if name == "lm_head.weight" else what_to_do.right(name)

    def skips_norms(name):
        """… Norms are learned too"""
        return "skip" if "ln_" in name else what_to_do.right(name)

    def turns_norms(name):
        """… A norm holds vectors"""
        return "turn" if "ln_" in name else what_to_do.right(name)

    def skips_tables(name):
        """… The model needs this table"""
        return "skip" if name in TABLES else what_to_do.right(name)

    def skips_the_feed_forward_network(name):
        """… This was learned: the model needs it"""
        return "skip" if "mlp" in name else what_to_do.right(name)

    def knows_no_prefix(name):
        """… before a name changes nothing"""
        return what_to_do.right(name) if name.startswith("h.") else "copy"

    def uses_other_words(name):
        """… must be one of 'copy', 'turn' and 'skip'"""
        return what_to_do.right(name).replace("turn", "transpose")

    def knows_blocks_of_one_digit_only(name):
        """… Every block has four matrices to turn"""
        return "copy" if "h.11.attn.c_attn.w" in name else what_to_do.right(name)


def _weights():
    """Small random weights, in our layout; the table of positions is square by chance."""
    generator = torch.Generator().manual_seed(17)
    shapes = {"wte.weight": (9, 6), "wpe.weight": (6, 6)}
    for i in range(2):
        block = {"ln_1": (6,), "attn.c_attn": (18, 6), "attn.c_proj": (6, 6)}
        block |= {"mlp.c_fc": (24, 6), "mlp.c_proj": (6, 24)}
        shapes |= {f"h.{i}.{name}.weight": shape for name, shape in block.items()}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def _turned(weights, is_chosen):
    return {name: t.T if is_chosen(name, t) else t for name, t in weights.items()}


def _is_square(name, t):
    return t.dim() == 2 and t.shape[0] == t.shape[1] and name.startswith("h.")


@exercise("18.3")
class break_silently:
    """break_silently(weights: dict of our tensors) -> a dict that fits, its square ones turned"""

    def judge(call):
        weights = _weights()
        square = [name for name, t in weights.items() if _is_square(name, t)]
        got = call(weights).like(weights, "Return a dict of tensors.")
        expect(got.keys() == weights.keys(), "Return all the tensors, under the same names.")
        for name, tensor in got.items():
            is_now, was = tuple(tensor.shape), tuple(weights[name].shape)
            why = f"{name} was {was} and is {is_now} now: the loader compares shapes."
            expect(is_now == was, why)
        changed = [name for name in weights if not torch.equal(got[name], weights[name])]
        expect(changed, "Nothing is broken yet.")
        table = "`wpe.weight` is square by chance, but it is a table: leave it as it is."
        expect("wpe.weight" not in changed, table)
        for name in changed:
            why = f"{name} is not square: it cannot have been turned and still fit."
            expect(name in square, why)
        left = f"One block is left: there are {len(square)}, and {square[-1]} is in the last."
        expect(changed == square, left)
        for name in square:
            why = f"{name} has changed, but not by turning it: exchange rows and columns."
            expect(torch.equal(got[name], weights[name].T), why)
        return "Broken, and no shape tells: in each block, `attn.c_proj.weight` is square."

    def right(weights):
        return _turned(weights, _is_square)

    def also(weights):
        broken = dict(weights)
        for name in weights:
            if name.endswith("attn.c_proj.weight"):
                broken[name] = weights[name].transpose(0, 1).contiguous()
        return broken

    def turns_all_matrices(weights):
        """… the loader compares shapes"""
        return _turned(weights, lambda name, t: t.dim() == 2)

    def turns_the_table_of_positions_too(weights):
        """… it is a table"""
        return _turned(weights, lambda name, t: t.dim() == 2 and t.shape[0] == t.shape[1])

    def changes_nothing(weights):
        """… Nothing is broken yet"""
        return dict(weights)

    def turns_the_first_block_only(weights):
        """… One block is left"""
        return _turned(weights, lambda name, t: _is_square(name, t) and name.startswith("h.0"))

    def returns_the_turned_ones_alone(weights):
        """… Return all the tensors"""
        return {name: t.T for name, t in weights.items() if _is_square(name, t)}

    def forces_others_into_the_shape(weights):
        """… is not square"""
        return {n: t.T.reshape(t.shape) if ".c_" in n else t for n, t in weights.items()}

    def flips_instead_of_turning(weights):
        """… exchange rows and columns"""
        return {name: t.flip(0) if _is_square(name, t) else t for name, t in weights.items()}

    def adds_noise(weights):
        """… is not square"""
        return {name: t + 1 if "c_fc" in name else t for name, t in weights.items()}

    def turns_them_in_place(weights):
        """… changes its argument `weights` in place"""
        weights.update(break_silently.right(weights))
        return weights


@exercise("18.4")
class windows:
    """windows(n, context, stride) -> list of (begin, end, fresh) that scores n predictions once"""

    cases = ((10, 4, 2), (9, 4, 2), (12, 4, 4), (3, 4, 2), (11, 5, 3), (7, 3, 1))
    praise = "`windows` is right: every prediction is scored once, and most see a long context."

    def right(n, context, stride):
        begin, done, found = 0, 0, []
        while done < n:
            end = min(begin + context, n)
            found.append((begin, end, end - done))
            begin, done = begin + stride, end
        return found

    def also(n, context, stride):
        starts = range(0, max(n - context, 0) + stride, stride)
        ends = [min(begin + context, n) for begin in starts]
        fresh = [end - before for before, end in zip([0, *ends], ends, strict=False)]
        return [window for window in zip(starts, ends, fresh, strict=True) if window[2]]

    def scores_overlaps_twice(n, context, stride):
        """Every prediction of a window counts here: where windows overlap, twice"""
        return [(b, e, e - b) for b, e, _ in windows.right(n, context, stride)]

    def runs_to_the_end_of_the_range(n, context, stride):
        """Windows go on after the last prediction, and score some of them again"""
        return [(b, min(b + context, n), min(b + context, n) - b) for b in range(0, n, stride)]

    def goes_on_with_empty_windows(n, context, stride):
        """Once `end` is n all is scored: windows with nothing fresh cost time, stop there"""
        found = windows.right(n, context, stride)
        late = range(len(found) * stride, n, stride)
        return found + [(b, min(b + context, n), 0) for b in late]

    def ends_behind_the_text(n, context, stride):
        """The last window ends behind the text: `end` is at most n"""
        found = windows.right(n, context, stride)
        return [(b, b + context, context if b == 0 else stride) for b, _, _ in found]

    def scores_a_stride_in_the_first_window(n, context, stride):
        """Nothing stands before the first window: all its predictions are fresh"""
        return [(b, e, stride) for b, e, _ in windows.right(n, context, stride)]

    def scores_a_stride_in_the_last_window(n, context, stride):
        """The last window may hold fewer fresh predictions than the stride"""
        found = windows.right(n, context, stride)
        return [(b, e, context if b == 0 else stride) for b, e, _ in found]

    def drops_the_last_window(n, context, stride):
        """The last predictions are never scored"""
        return windows.right(n, context, stride)[:-1]

    def ignores_the_stride(n, context, stride):
        """The stride is not used: a window begins `stride` further"""
        return windows.right(n, context, context)

    def makes_windows_as_long_as_the_stride(n, context, stride):
        """These windows are `stride` long: they should reach `context`"""
        return windows.right(n, stride, stride)

    def returns_two_numbers(n, context, stride):
        """Return three numbers for each window"""
        return [(b, e) for b, e, _ in windows.right(n, context, stride)]

    def includes_the_last_index(n, context, stride):
        """`end` is not included, as in a slice"""
        return [(b, e - 1, f) for b, e, f in windows.right(n, context, stride)]
