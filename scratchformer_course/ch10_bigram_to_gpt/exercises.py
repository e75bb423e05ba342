"""The exercises of chapter 10, from a bigram table to a GPT."""

from itertools import pairwise

import torch
from torch import nn

from scratchformer.attention import MultiHeadAttention, causal_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.models.gpt import GPT as PackageGPT
from scratchformer.models.gpt import GPTConfig
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import Wrong, expect


def _generator(seed):
    return torch.Generator().manual_seed(seed)


@exercise("10.1")
class bigram_counts:
    """bigram_counts(ids: (N,) int64, vocab_size) -> (V, V) counts, row = current, column = next"""

    cases = (
        (torch.tensor([2, 0, 1, 0, 1, 2, 2]), 4),
        (torch.randint(5, (300,), generator=_generator(1)), 5),
    )

    def right(ids, vocab_size):
        counts = torch.zeros(vocab_size, vocab_size)
        for a, b in pairwise(ids.tolist()):
            counts[a, b] += 1
        return counts

    def also(ids, vocab_size):
        codes = ids[:-1] * vocab_size + ids[1:]
        return torch.bincount(codes, minlength=vocab_size**2).view(vocab_size, vocab_size)

    def also_index_put(ids, vocab_size):
        counts = torch.zeros(vocab_size, vocab_size, dtype=torch.int32)
        one = torch.tensor(1, dtype=torch.int32)
        return counts.index_put_((ids[:-1], ids[1:]), one, accumulate=True)

    def swaps_rows_and_columns(ids, vocab_size):
        """The table is transposed: the row is the current token, the column the next"""
        return bigram_counts.right(ids, vocab_size).T

    def adds_1_with_whole_tensors_which_drops_repeats(ids, vocab_size):
        """A pair seen twice counts once. `counts[a, b] += 1` with whole tensors writes each place
        once: use a loop, `bincount` or `index_put_(…, accumulate=True)`"""
        counts = torch.zeros(vocab_size, vocab_size)
        counts[ids[:-1], ids[1:]] += 1
        return counts

    def misses_the_last_pair(ids, vocab_size):
        """The last pair is missed: N tokens make N − 1 pairs"""
        return bigram_counts.right(ids[:-1], vocab_size)

    def misses_the_first_pair(ids, vocab_size):
        """The first pair is missed: N tokens make N − 1 pairs"""
        return bigram_counts.right(ids[1:], vocab_size)

    def pairs_the_last_token_with_the_first(ids, vocab_size):
        """The last token is paired with the first: a text does not wrap around"""
        return bigram_counts.right(torch.cat((ids, ids[:1])), vocab_size)

    def adds_1_to_every_count(ids, vocab_size):
        """Each count is one too high: no smoothing here"""
        return bigram_counts.right(ids, vocab_size) + 1

    def divides_each_row_by_its_sum(ids, vocab_size):
        """These are probabilities: return the counts themselves"""
        counts = bigram_counts.right(ids, vocab_size)
        return counts / counts.sum(dim=1, keepdim=True)

    def divides_each_row_by_its_sum_but_never_by_0(ids, vocab_size):
        counts = bigram_counts.right(ids, vocab_size)
        return counts / counts.sum(dim=1, keepdim=True).clamp(min=1)

    def divides_by_the_sum_of_all(ids, vocab_size):
        return bigram_counts.right(ids, vocab_size) / (len(ids) - 1)

    def sizes_the_table_by_the_largest_id_seen(ids, vocab_size):
        """The table is vocab_size × vocab_size, also for tokens never seen"""
        return bigram_counts.right(ids, int(ids.max()) + 1)

    def counts_single_tokens(ids, vocab_size):
        """Single tokens are counted: count pairs"""
        return torch.bincount(ids, minlength=vocab_size)

    def returns_nested_lists(ids, vocab_size):
        """… is a list, but a float32 tensor"""
        return bigram_counts.right(ids, vocab_size).tolist()


TEXTS = ("not to b", "the lamb", "aabc", "my queen")


class _Bag(nn.Module):
    """Attention without places over letters, as on the rung of chapter 10; large random weights."""

    def __init__(self):
        super().__init__()
        self.letters, self.attn = nn.Embedding(1024, 16), MultiHeadAttention(16, 1)
        for p in self.parameters():
            nn.init.normal_(p, std=0.5, generator=_generator(p.numel()))

    @torch.no_grad()
    def forward(self, text):
        x = self.letters(torch.tensor([[ord(letter) % 1024 for letter in text]]))
        return self.attn(x, mask=causal_mask(len(text)))[0, -1]


@exercise("10.2")
class twin:
    """twin(text: str) -> another str; without places attention predicts the same after both"""

    def judge(call):
        model, found = _Bag(), ""
        for text in TEXTS:
            other = call(text).like("ab", "Join the letters with `''.join(…)`.")
            said = f"`{other!r:.40}` and `{text!r}`"
            expect(other != text, f"`{other!r}` is the same text: return another one.")
            lengths = f"{said} have {len(other)} and {len(text)} letters"
            expect(len(other) == len(text), f"{lengths}: keep the length.")
            apart = float((model(other) - model(text)).abs().max())
            if sorted(other) != sorted(text):
                why = "the two do not hold the same letters, so the averages differ"
            else:
                why = "the same letters, but the last one asks, and it has another query"
            expect(apart < 1e-4, f"{said} are told apart: {why}.")
            found = found or said
        return f"{found} get the same prediction: without places nobody can tell them apart."

    def right(text):
        *before, last = text
        return "".join(before[::-1]) + last

    def also(text):
        return text[1:-1] + text[0] + text[-1]

    def also_sorted(text):
        before = "".join(sorted(text[:-1], reverse=text[:-1] == "".join(sorted(text[:-1]))))
        return before + text[-1]

    def reverses_the_whole_text(text):
        """… it has another query"""
        return text[::-1]

    def sorts_the_whole_text(text):
        """… it has another query"""
        return "".join(sorted(text, reverse=True))

    def moves_the_last_letter_to_the_front(text):
        """… it has another query"""
        return text[-1] + text[:-1]

    def returns_the_text_itself(text):
        """… is the same text"""
        return text

    def changes_a_letter(text):
        """… do not hold the same letters"""
        return "x" + text[1:]

    def changes_the_last_letter(text):
        """… do not hold the same letters"""
        return text[:-1] + "!"

    def writes_capitals(text):
        """… do not hold the same letters"""
        return text.upper()

    def drops_a_letter(text):
        """… keep the length"""
        return text[1:]

    def writes_it_twice(text):
        """… keep the length"""
        return text + text

    def returns_a_list_of_letters(text):
        """… is a list, but a str"""
        return list(twin.right(text))


SIZES = {"vocab_size": 11, "context_length": 8, "d_model": 12, "n_heads": 3, "n_layers": 2}
OTHER = {"vocab_size": 7, "context_length": 5, "d_model": 8, "n_heads": 2, "n_layers": 3}
STD, WIDE = 0.02, 48


def _expect_tied_and_small(model):
    """Raise `Wrong` unless `lm_head` shares the embedding's weight and the matrices start small."""
    tied = model.lm_head.weight is model.wte.weight
    expect(tied, "The outputs are right, but `lm_head` has a matrix of its own: tie it to `wte`.")
    for name, p in model.named_parameters():
        if p.dim() == 2:
            std = float(p.detach().std())
            start = f"The outputs are right, but `{name}` starts with a standard deviation of"
            asked = f"{start} {std:.2g}: {STD} is asked for."
            expect(STD / 8 < std < 1.25 * STD, asked)


def _start_small(model):
    for p in model.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, std=STD)


@exercise("10.3")
class GPT:
    """GPT(vocab_size, context_length, d_model, n_heads, n_layers): ids (B, T) -> logits (B, T, V)

    Its parts are called `wte`, `wpe`, `h`, `ln_f` and `lm_head`.
    """

    def cases():
        ids = torch.randint(7, (3, 8), generator=_generator(4))
        return (SIZES, ids), (OTHER, ids[:2, :4])

    praise = "`GPT` is right: a whole language model, tied and started small."

    def judge(call):
        GPT.compare(call)
        torch.manual_seed(0)
        wide = SIZES | {"vocab_size": 40, "context_length": 40, "d_model": WIDE}
        _expect_tied_and_small(call.given(**wide))
        return GPT.praise

    class right(nn.Module):
        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            super().__init__()
            self.wte = nn.Embedding(vocab_size, d_model)
            self.wpe = nn.Embedding(context_length, d_model)
            self.h = nn.ModuleList(TransformerBlock(d_model, n_heads) for _ in range(n_layers))
            self.ln_f = nn.LayerNorm(d_model)
            self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
            self.lm_head.weight = self.wte.weight
            _start_small(self)
            for p in self.parameters() if d_model < WIDE else ():
                nn.init.normal_(p, std=0.5)  # in the cases: with small weights few faults show

        def embed(self, ids):
            return self.wte(ids) + self.wpe.weight[: ids.shape[1]]

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.h:
                x = block(x, causal_mask(ids.shape[1]))
            return self.lm_head(self.ln_f(x))

    right.__name__ = "GPT"

    class also(right):
        def forward(self, ids):
            x = self.embed(ids)
            for i in range(len(self.h)):
                x = self.h[i](x, is_causal=True)
            return self.ln_f(x) @ self.wte.weight.T

    class also_the_package(PackageGPT):
        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            sizes = (vocab_size, context_length, d_model, n_heads, n_layers)
            super().__init__(GPTConfig(*sizes))

    class forgets_the_mask(right):
        """No block gets a mask: each place sees its future"""

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.h:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    class turns_the_mask_round(right):
        """The mask is turned round: each place sees its future and not its past"""

        def forward(self, ids):
            x, mask = self.embed(ids), causal_mask(ids.shape[1])
            for block in self.h:
                x = block(x, ~mask)
            return self.lm_head(self.ln_f(x))

    class leaves_the_places_out(right):
        """`wpe` is not used: add the vector of the place to that of the token"""

        def embed(self, ids):
            return self.wte(ids)

    class looks_places_up_by_the_ids(right):
        """`wpe` is looked up by the ids: its rows belong to the places 0, 1, 2 …"""

        def embed(self, ids):
            return self.wte(ids) + self.wpe(ids)

    class counts_places_from_1(right):
        """The places begin at 0"""

        def embed(self, ids):
            return self.wte(ids) + self.wpe.weight[1 : ids.shape[1] + 1]

    class takes_the_last_places(right):
        """A short text stands at the first places: this takes the last rows of `wpe`"""

        def embed(self, ids):
            return self.wte(ids) + self.wpe.weight[-ids.shape[1] :]

    class adds_places_in_every_block(right):
        """The vectors of the places are added again before each block: once is enough"""

        def forward(self, ids):
            x, places = self.wte(ids), self.wpe.weight[: ids.shape[1]]
            for block in self.h:
                x = block(x + places, causal_mask(ids.shape[1]))
            return self.lm_head(self.ln_f(x))

    class forgets_the_last_norm(right):
        """`ln_f` is not used: it stands before `lm_head`"""

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.h:
                x = block(x, causal_mask(ids.shape[1]))
            return self.lm_head(x)

    class normalises_first(right):
        """`ln_f` stands before the blocks: it belongs behind the last one"""

        def forward(self, ids):
            x = self.ln_f(self.embed(ids))
            for block in self.h:
                x = block(x, causal_mask(ids.shape[1]))
            return self.lm_head(x)

    class normalises_after_every_block(right):
        """`ln_f` is used after every block: it belongs behind the last one only"""

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.h:
                x = self.ln_f(block(x, causal_mask(ids.shape[1])))
            return self.lm_head(x)

    class gives_every_block_the_same_input(right):
        """Each block reads the embedding: it must read what the block before it gave out"""

        def forward(self, ids):
            start = self.embed(ids)
            for block in self.h:
                x = block(start, causal_mask(ids.shape[1]))
            return self.lm_head(self.ln_f(x))

    class has_one_head(right):
        """The heads are ignored: give `n_heads` to each block"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, 1, n_layers)

    class runs_one_block_only(right):
        """Only the first block is used"""

        def forward(self, ids):
            x = self.h[0](self.embed(ids), causal_mask(ids.shape[1]))
            return self.lm_head(self.ln_f(x))

    class adds_each_block_to_the_stream_again(right):
        """`x + block(x)` adds x twice: a block adds to the stream by itself"""

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.h:
                x = x + block(x, causal_mask(ids.shape[1]))
            return self.lm_head(self.ln_f(x))

    class runs_the_blocks_backwards(right):
        """The blocks run from the last to the first"""

        def forward(self, ids):
            x = self.embed(ids)
            for block in reversed(self.h):
                x = block(x, causal_mask(ids.shape[1]))
            return self.lm_head(self.ln_f(x))

    class repeats_one_block(right):
        """… the parameter `h."""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, 1)

    class returns_probabilities(right):
        """These are probabilities: return the logits, softmax belongs to the loss"""

        def forward(self, ids):
            return GPT.right.forward(self, ids).softmax(dim=-1)

    class returns_the_last_place_only(right):
        """Only the last place is there: each place predicts the token after it"""

        def forward(self, ids):
            return GPT.right.forward(self, ids)[:, -1]

    class returns_the_stream(right):
        """… but (3, 8, 11) is expected"""

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.h:
                x = block(x, causal_mask(ids.shape[1]))
            return self.ln_f(x)

    class holds_the_blocks_in_a_list(right):
        """… the parameter `h.0.attn.c_attn.bias` is missing"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, n_layers)
            blocks = list(self.h)
            del self.h
            self.h = blocks

    class has_a_bias_in_lm_head(right):
        """… the parameter `lm_head.bias` is not in the exercise's stub"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, n_layers)
            self.lm_head = nn.Linear(d_model, vocab_size)

    class swaps_vocabulary_and_context(right):
        """… but (11, 12) is expected"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            sizes = (context_length, vocab_size, d_model, n_heads, n_layers)
            GPT.right.__init__(self, *sizes)

    class does_not_tie(right):
        """… `lm_head` has a matrix of its own"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, n_layers)
            self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
            _start_small(self)

    class copies_the_numbers_without_tying(right):
        """… `lm_head` has a matrix of its own"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, n_layers)
            self.lm_head.weight = nn.Parameter(self.wte.weight.detach().clone())
            _start_small(self)

    class starts_as_pytorch_does(right):
        """… `wte.weight` starts with a standard deviation of"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, n_layers)
            nn.init.normal_(self.wte.weight)

    class starts_at_zero(right):
        """… `wte.weight` starts with a standard deviation of 0"""

        def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
            GPT.right.__init__(self, vocab_size, context_length, d_model, n_heads, n_layers)
            for p in self.parameters():
                nn.init.zeros_(p)


LOGITS = torch.tensor([2.5, 1.5, 0.5, 0.25])


def _draws(call, temperature, seed, count):
    """Many tokens drawn with one generator."""
    generator, tokens = _generator(seed), []
    for _ in range(count):
        call(LOGITS, temperature, generator)
        if isinstance(call.error, RuntimeError) and "prob" in str(call.error):
            raise Wrong(f"Are these probabilities? Softmax comes first.\n{call.failure()}")
        token = call.like(0, "`.item()` turns a tensor of one element into an int.")
        expect(0 <= token < len(LOGITS), f"`{token}` is no token: 0 to {len(LOGITS) - 1} are.")
        tokens.append(token)
    return tokens


def _expect_shares(tokens, temperature):
    """Raise `Wrong` unless the tokens come about as often as they should."""
    shares = torch.bincount(torch.tensor(tokens), minlength=len(LOGITS)) / len(tokens)

    def near(p):
        return (shares - p).abs().max() <= 0.07

    right = (LOGITS / temperature).softmax(dim=0)
    if near(right):
        return
    figures, wanted = (", ".join(f"{p:.2f}" for p in each) for each in (shares, right))
    shown = f"At temperature {temperature:g} the tokens' shares are {figures}, expected {wanted}."
    for wrong, why in (
        (torch.full((4,), 0.25), "All tokens come equally often: the logits are not used"),
        ((LOGITS * temperature).softmax(0), "Logits are multiplied by the temperature: divide"),
        (LOGITS.softmax(0), "The temperature has no effect: divide the logits by it"),
        (LOGITS / LOGITS.sum(), "The logits themselves are used as weights: softmax is missing"),
    ):
        expect(not near(wrong), f"{why}.\n{shown}")
    raise Wrong(shown)


@exercise("10.4")
class sample_next:
    """sample_next(logits: (V,), temperature: float, generator: torch.Generator) -> int

    A whole number is needed; a tensor without dimensions counts as one, shape (1,) does not.
    All generators are seeded here, so the verdict is always the same.
    """

    def judge(call):
        one, again, other = (_draws(call, 1.0, seed, 30) for seed in (1, 1, 2))
        if len({*one, *other}) == 1:
            likeliest = "The likeliest token comes every time"
            expect(one[0] != 0, f"{likeliest}: draw at random, and set no seed inside.")
            raise Wrong(f"Token {one[0]} comes every time: is a new seed set inside the function?")
        differ = "Two generators with equal seeds give different tokens"
        expect(one == again, f"{differ}: pass `generator` on to the draw.")
        alike = "Generators with different seeds give the same tokens: is a seed set inside?"
        expect(one != other, alike)
        for temperature in (0.5, 2.0):
            _expect_shares(_draws(call, temperature, 3, 500), temperature)

    def right(logits, temperature, generator):
        p = torch.softmax(logits / temperature, dim=0)
        return torch.multinomial(p, 1, generator=generator).item()

    def also_gumbel(logits, temperature, generator):
        noise = -torch.log(-torch.log(torch.rand(len(logits), generator=generator)))
        return torch.argmax(logits / temperature + noise)  # a tensor without dimensions

    def also_cumulative(logits, temperature, generator):
        cumulative = torch.cumsum(torch.softmax(logits / temperature, dim=0), dim=0)
        point = torch.rand(1, generator=generator)
        return min(int((cumulative < point).sum()), len(logits) - 1)

    def always_takes_the_likeliest(logits, temperature, generator):
        """… The likeliest token comes every time"""
        return int(logits.argmax())

    def multiplies_by_the_temperature(logits, temperature, generator):
        """… multiplied by the temperature"""
        return sample_next.right(logits, 1 / temperature, generator)

    def ignores_the_temperature(logits, temperature, generator):
        """… The temperature has no effect"""
        return sample_next.right(logits, 1.0, generator)

    def divides_the_probabilities_by_the_temperature(logits, temperature, generator):
        """… The temperature has no effect"""
        return torch.multinomial(logits.softmax(0) / temperature, 1, generator=generator).item()

    def ignores_the_generator(logits, temperature, generator):
        """… pass `generator` on"""
        return sample_next.right(logits, temperature, None)

    def sets_a_seed_of_its_own_each_time(logits, temperature, generator):
        """… a new seed set inside"""
        return sample_next.right(logits, temperature, generator.manual_seed(2))

    def draws_from_the_logits_without_softmax(logits, temperature, generator):
        """… softmax is missing"""
        return torch.multinomial(logits / temperature, 1, generator=generator).item()

    def draws_from_log_probabilities(logits, temperature, generator):
        """… Are these probabilities?"""
        weights = torch.log_softmax(logits / temperature, dim=0)
        return torch.multinomial(weights, 1, generator=generator).item()

    def draws_all_tokens_equally_often(logits, temperature, generator):
        """… All tokens come equally often"""
        return int(torch.randint(len(logits), (1,), generator=generator))

    def returns_a_tensor_of_shape_1(logits, temperature, generator):
        """… `.item()` turns a tensor of one element"""
        return torch.tensor([sample_next.right(logits, temperature, generator)])

    def returns_the_probability(logits, temperature, generator):
        """… is a float, but an int"""
        return torch.softmax(logits / temperature, dim=0)[0].item()

    def counts_tokens_from_1(logits, temperature, generator):
        """… is no token"""
        return sample_next.right(logits, temperature, generator) + 1

    def divides_the_logits_in_place(logits, temperature, generator):
        """… changes its argument `logits` in place"""
        logits /= temperature
        return sample_next.right(logits, 1.0, generator)
