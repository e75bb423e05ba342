"""The exercises of chapter 14, encoder–decoder."""

import itertools

import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from scratchformer.checks.engine import exercise
from scratchformer.checks.verdict import expect

IGNORED = -100  # the label that `F.cross_entropy` leaves out


def _padded(rows, value):
    """Lists of ids as one (B, T) tensor, padded behind the ids."""
    return pad_sequence([torch.tensor(row) for row in rows], True, value)


@exercise("14.1")
class shift_right:
    """shift_right(rows, begin_id, end_id, pad_id) -> (inputs, labels), both (B, T)

    `rows` are lists of ids. Labels are padded with -100, inputs with pad_id.
    """

    cases = (
        ([[7, 8, 9], [5]], 1, 2, 0),
        ([[0], [4, 4]], 3, 6, 5),  # a token has the number that pads elsewhere
    )

    def right(rows, begin_id, end_id, pad_id):
        inputs = _padded([[begin_id, *row] for row in rows], pad_id)
        return inputs, _padded([[*row, end_id] for row in rows], IGNORED)

    def also(rows, begin_id, end_id, pad_id):
        T = max(map(len, rows)) + 1
        framed = [[begin_id, *row, end_id] for row in rows]
        inputs = [(row[:-1] + [pad_id] * T)[:T] for row in framed]
        labels = [(row[1:] + [IGNORED] * T)[:T] for row in framed]
        return torch.tensor(inputs), torch.tensor(labels)

    def pads_the_labels_with_pad_id(rows, begin_id, end_id, pad_id):
        """The labels are padded with `pad_id`: padding is trained on"""
        inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
        return inputs, _padded([[*row, end_id] for row in rows], pad_id)

    def swaps_inputs_and_labels(rows, begin_id, end_id, pad_id):
        """The two are swapped: the inputs first"""
        inputs, labels = shift_right.right(rows, begin_id, end_id, pad_id)
        return labels, inputs

    def shifts_nothing(rows, begin_id, end_id, pad_id):
        """Nothing is shifted: the decoder is shown each token it has to predict"""
        ended = [[*row, end_id] for row in rows]
        return _padded(ended, pad_id), _padded(ended, IGNORED)

    def pads_the_inputs_with_minus_100(rows, begin_id, end_id, pad_id):
        """Inputs are padded with `pad_id`"""
        return shift_right.right(rows, begin_id, end_id, IGNORED)

    def has_no_end_token(rows, begin_id, end_id, pad_id):
        """No label is `end_id`: the decoder would never learn to stop"""
        return _padded([[begin_id, *row[:-1]] for row in rows], pad_id), _padded(rows, IGNORED)

    def has_no_end_token_and_cuts_the_last_column_of_the_inputs(rows, begin_id, end_id, pad_id):
        inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
        return inputs[:, :-1], _padded(rows, IGNORED)

    def has_no_begin_token(rows, begin_id, end_id, pad_id):
        """The inputs start with the first token, not `begin_id`: nothing predicts that token"""
        return _padded(rows, pad_id), _padded([[*row[1:], end_id] for row in rows], IGNORED)

    def pads_in_front(rows, begin_id, end_id, pad_id):
        """Pad behind the tokens: position 0 is where every target begins"""
        T = max(map(len, rows))
        inputs = [[pad_id] * (T - len(row)) + [begin_id, *row] for row in rows]
        labels = [[IGNORED] * (T - len(row)) + [*row, end_id] for row in rows]
        return torch.tensor(inputs), torch.tensor(labels)

    def puts_the_end_token_behind_the_padding(rows, begin_id, end_id, pad_id):
        """… returned -100 at [1, 1], expected 2 in `answer[1]`"""
        inputs, _ = shift_right.right(rows, begin_id, end_id, pad_id)
        ends = torch.full((len(rows), 1), end_id)
        return inputs, torch.cat([_padded(rows, IGNORED), ends], dim=1)


def _causal(target):
    T = target.shape[1]
    return torch.ones(T, T, dtype=torch.bool).tril()


def _told(target, pad_id):
    """Where a key is a token and no padding, (B, 1, T)."""
    return (target != pad_id).unsqueeze(1)


@exercise("14.2")
class decoder_mask:
    """decoder_mask(target: (B, T), pad_id) -> (B, T, T), True = may attend"""

    cases = (
        (torch.tensor([[1, 7, 8, 9], [1, 5, 0, 0]]), 0),
        (torch.tensor([[1, 0, 9], [1, 0, 4]]), 9),
    )

    def right(target, pad_id):
        return _causal(target) & _told(target, pad_id)

    def also(target, pad_id):
        B, T = target.shape
        mask = torch.zeros(B, T, T, dtype=torch.bool)
        for b, i, j in itertools.product(range(B), range(T), range(T)):
            mask[b, i, j] = j <= i and target[b, j] != pad_id
        return mask

    def hides_padding_only(target, pad_id):
        """The padding mask replaces the causal one: the decoder sees the future"""
        return _told(target, pad_id).repeat(1, target.shape[1], 1)

    def hides_padding_only_with_one_row_for_each_target(target, pad_id):
        return _told(target, pad_id)

    def hides_the_future_only(target, pad_id):
        """Only the future is hidden: positions still look at padding"""
        return _causal(target).repeat(len(target), 1, 1)

    def hides_the_future_only_in_one_mask_for_all_targets(target, pad_id):
        return _causal(target)

    def hides_where_it_is_True(target, pad_id):
        """The other way round: True = may attend"""
        return ~decoder_mask.right(target, pad_id)

    def lets_either_test_be_enough(target, pad_id):
        """A pair must pass both tests: `&`, not `|`"""
        return _causal(target) | _told(target, pad_id)

    def upper_triangle(target, pad_id):
        """Upside down: this shows the future and hides the past"""
        return _causal(target).T & _told(target, pad_id)

    def hides_padding_as_a_query(target, pad_id):
        """Padding is hidden as a query; as a key it must be: its column"""
        return _causal(target) & _told(target, pad_id).mT


LOGITS = 3 * torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
TARGETS = torch.tensor([0, 4, 2, 2])


def _cross_entropy(log_p, targets, epsilon, rest=None):
    """Mean of -Σ q ln p; q is 1 - ε at the target, and `rest` (ε / V) is added to all."""
    rest = epsilon / log_p.shape[1] if rest is None else rest
    wanted = F.one_hot(targets, log_p.shape[1]) * (1 - epsilon) + rest
    return float(-(wanted * log_p).sum(dim=1).mean())


@exercise("14.3")
class smoothed_loss:
    """smoothed_loss(logits: (N, V), targets: (N,), epsilon) -> mean nats, label-smoothed"""

    cases = (
        (LOGITS[0], TARGETS, 0.0),
        (LOGITS[1], TARGETS, 0.1),
        (LOGITS[2], TARGETS, 0.3),
        (torch.tensor([[1000.0, 0.0], [1000.0, 0.0]]), torch.tensor([0, 0]), 0.1),
    )

    def right(logits, targets, epsilon):
        return _cross_entropy(logits.log_softmax(dim=1), targets, epsilon)

    def also(logits, targets, epsilon):
        return F.cross_entropy(logits, targets, label_smoothing=epsilon)

    def also_in_two_parts(logits, targets, epsilon):
        log_p = logits - logits.logsumexp(dim=1, keepdim=True)
        hit = log_p[torch.arange(len(targets)), targets]
        return -((1 - epsilon) * hit + epsilon * log_p.mean(dim=1)).mean()

    def smooths_nothing(logits, targets, epsilon):
        """Nothing is smoothed: `epsilon` is not used"""
        return smoothed_loss.right(logits, targets, 0.0)

    def shares_among_the_other_tokens(logits, targets, epsilon):
        """All V tokens share `epsilon`, the target too: ε / V each"""
        rest = (1 - F.one_hot(targets, logits.shape[1])) * epsilon / (logits.shape[1] - 1)
        return _cross_entropy(logits.log_softmax(dim=1), targets, epsilon, rest)

    def forgets_the_share_of_all_tokens(logits, targets, epsilon):
        """The share of all V tokens is missing"""
        return (1 - epsilon) * smoothed_loss.right(logits, targets, 0.0)

    def takes_softmax_twice(logits, targets, epsilon):
        """Softmax is taken twice: logits go in, once"""
        return smoothed_loss.right(logits.softmax(dim=1), targets, epsilon)

    def returns_one_number_for_each_row(logits, targets, epsilon):
        """One number for each row: return their mean"""
        return F.cross_entropy(logits, targets, label_smoothing=epsilon, reduction="none")

    def adds_up_the_rows(logits, targets, epsilon):
        """The rows are added up: return their mean"""
        return len(targets) * smoothed_loss.right(logits, targets, epsilon)

    def has_the_wrong_sign(logits, targets, epsilon):
        """The sign is wrong: a loss falls as the model learns"""
        return -smoothed_loss.right(logits, targets, epsilon)

    def takes_the_logarithm_of_a_softmax(logits, targets, epsilon):
        """`softmax` and then `log` gives ln 0 here: take `log_softmax`"""
        return _cross_entropy(logits.softmax(dim=1).log(), targets, epsilon)

    def divides_exponentials_that_were_not_shifted(logits, targets, epsilon):
        p = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
        return _cross_entropy(p.log(), targets, epsilon)


def _alternates(ids):
    """3 and 4 in turn, and 5 once there are more than three tokens."""
    return 5 if len(ids) > 3 else 4 - ids.count(4) % 2


def _remembers(ids):
    """The token behind begin_id comes back after a 2."""
    return ids[1] if len(ids) > 2 and ids[-1] == 2 else 2


def _search(next_token, begin_id, vocab_size):
    """The first two histories, by length, that end alike and go on differently."""
    seen = {}
    for n in range(4):
        for body in itertools.product(range(vocab_size), repeat=n):
            ids = [begin_id, *body]
            before = seen.setdefault(ids[-1], ids)
            if next_token(ids) != next_token(before):
                return before, ids
    raise ValueError("no such pair of histories")


@exercise("14.4")
class two_histories:
    """two_histories(next_token, begin_id, vocab_size) -> two lists of ids that begin alike

    Both end in the same token, yet next_token(ids) differs.
    """

    def judge(call):
        for next_token, begin, V in ((_alternates, 1, 6), (_remembers, 0, 4)):
            histories = call(next_token, begin, V).like(([1, 3], [1, 4, 3]))
            expect(len(histories) == 2, f"{len(histories)} histories came, two are expected.")
            for ids in histories:
                expect(ids[:1] == [begin], f"`{ids}` does not begin with `begin_id`, {begin}.")
                expect(all(0 <= i < V for i in ids), f"`{ids}` holds ids outside 0 to {V - 1}.")
                long = f"A history of {len(ids)} tokens is longer than needed: 8 do."
                expect(len(ids) <= 8, long)
            a, b = histories
            expect(a != b, f"`{a}` twice: two different histories are needed.")
            ends = f"They end in {a[-1]} and {b[-1]}: the last token must be the same."
            expect(a[-1] == b[-1], ends)
            after = next_token(a), next_token(b)
            same = f"After both comes {after[0]}: here the last token would have been enough."
            expect(after[0] != after[1], same)
        comes = f"After `{a}` comes {after[0]}, after `{b}` {after[1]}"
        return f"{comes}: the last token cannot tell which."

    def right(next_token, begin_id, vocab_size):
        return _search(next_token, begin_id, vocab_size)

    def also(next_token, begin_id, vocab_size):
        generator = torch.Generator().manual_seed(0)
        while True:
            lengths = torch.randint(1, 5, (2,), generator=generator).tolist()
            a, b = (
                [begin_id, *torch.randint(vocab_size, (n,), generator=generator).tolist()]
                for n in lengths
            )
            if a[-1] == b[-1] and next_token(a) != next_token(b):
                return a, b

    def returns_one_history_twice(next_token, begin_id, vocab_size):
        """… two different histories are needed"""
        return [begin_id, 2], [begin_id, 2]

    def ends_in_different_tokens(next_token, begin_id, vocab_size):
        """… the last token must be the same"""
        return [begin_id, 2], [begin_id, 3]

    def finds_histories_that_go_on_alike(next_token, begin_id, vocab_size):
        """… here the last token would have been enough"""
        return [begin_id, 2, 3, 3], [begin_id, 3, 3, 3]

    def leaves_begin_id_out(next_token, begin_id, vocab_size):
        """… does not begin with `begin_id`"""
        a, b = _search(next_token, begin_id, vocab_size)
        return a[-1:], b

    def invents_an_id_outside_the_vocabulary(next_token, begin_id, vocab_size):
        """… holds ids outside"""
        return [begin_id, vocab_size], [begin_id, 2, vocab_size]

    def returns_one_history(next_token, begin_id, vocab_size):
        """… histories came, two are expected"""
        return ([begin_id, 2],)

    def makes_very_long_histories_to_be_sure(next_token, begin_id, vocab_size):
        """… longer than needed"""
        return [begin_id, *[3] * 20], [begin_id, *[2] * 20, 3]


LOG_P = torch.tensor([0.5, 0.3, 0.2]).log()
NEW = torch.tensor(
    [[0.1, 0.14, 0.3, 0.46], [0.47, 0.39, 0.08, 0.06], [0.02, 0.03, 0.35, 0.6]]
).log()


def _places(scores, width):
    """The `width` best places of a flattened (K, V) table, best first."""
    return scores.flatten().topk(width).indices


@exercise("14.5")
class beam_step:
    """beam_step(log_p: (K,), new: (K, V), width) -> (parents, tokens), each (width,), best first"""

    cases = ((LOG_P, NEW, 3), (LOG_P, NEW.roll(1, 0), 2))

    def right(log_p, new, width):
        best = _places(log_p[:, None] + new, width)
        return best // new.shape[1], best % new.shape[1]

    def also(log_p, new, width):
        K, V = new.shape
        every = [(float(log_p[k] + new[k, v]), k, v) for k in range(K) for v in range(V)]
        _, parents, tokens = zip(*sorted(every, reverse=True)[:width], strict=True)
        return torch.tensor(parents), torch.tensor(tokens)

    def takes_one_child_for_each_parent(log_p, new, width):
        """One child for each parent: the best `width` of all K · V may share a parent"""
        best = (log_p[:, None] + new).max(dim=1)
        order = best.values.argsort(descending=True)[:width]
        return order, best.indices[order]

    def forgets_the_past_cost(log_p, new, width):
        """What a target has cost so far is forgotten: add `log_p`"""
        return beam_step.right(torch.zeros_like(log_p), new, width)

    def keeps_the_least_likely(log_p, new, width):
        """These are the least likely"""
        return beam_step.right(-log_p, -new, width)

    def returns_tokens_before_parents(log_p, new, width):
        """Parents and tokens are swapped: parents first"""
        parents, tokens = beam_step.right(log_p, new, width)
        return tokens, parents

    def does_not_divide_by_V(log_p, new, width):
        """This is a place among all K · V, not a parent: divide by V"""
        best = _places(log_p[:, None] + new, width)
        return best, best % new.shape[1]

    def puts_the_worst_of_the_best_first(log_p, new, width):
        """The best comes first: yours is the last"""
        parents, tokens = beam_step.right(log_p, new, width)
        return parents.flip(0), tokens.flip(0)
