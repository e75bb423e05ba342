"""The exercises of chapter 4, a first network."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from scratchformer_course.kit.checks.compare import difference, same
from scratchformer_course.kit.checks.engine import exercise
from scratchformer_course.kit.checks.verdict import Wrong, expect
from scratchformer_course.kit.checks.words import words

IDS = torch.tensor([5, 3, 8, 1, 9, 2, 7, 4, 6])


def _windows(ids, length, starts, ahead=1):
    x = torch.stack([ids[s : s + length] for s in starts])
    return x, torch.stack([ids[s + ahead : s + ahead + length] for s in starts])


@exercise("4.1")
class windows:
    """windows(ids: (N,), length, stride) -> x (W, length) and y (W, length), y one id later"""

    cases = ((IDS, 3, 3), (IDS, 3, 5), (IDS, 2, 1), (IDS[:3], 2, 9))

    def judge(call):
        praise = windows.compare(call)
        # The right answer raises an error here, which `cases` cannot say.
        silent = "must raise a ValueError: a window that does not move on is a mistake to be told"
        for stride in (0, -1):
            told = isinstance(call(IDS, 3, stride).error, ValueError)
            expect(told, f"`stride={stride}` {silent}.")
        return praise

    def right(ids, length, stride):
        if stride < 1:
            raise ValueError(f"stride={stride} must be at least 1")
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last, stride), last])

    def also(ids, length, stride):
        if stride <= 0:
            raise ValueError("the stride must be positive")
        start, found = 0, []
        while start + length < len(ids):
            found.append(ids[start : start + length + 1])
            start += stride
        if start - stride + length + 1 != len(ids):
            found.append(ids[-length - 1 :])
        return torch.stack(found)[:, :-1], torch.stack(found)[:, 1:]

    def also_by_index(ids, length, stride):
        if stride < 1:
            raise ValueError("no stride below 1")
        last = len(ids) - length - 1
        starts = torch.arange(0, last + stride, stride).clamp(max=last)
        places = starts[:, None] + torch.arange(length)
        return ids[places], ids[places + 1]

    def drops_the_last_window(ids, length, stride):
        """The last window is missing: move it back, to end with the last id"""
        return _windows(ids, length, range(0, len(ids) - length, stride))

    def gives_x_as_its_own_target(ids, length, stride):
        """`y` is the same as `x`: it must be one id further"""
        x, _ = windows.right(ids, length, stride)
        return x, x

    def gives_one_target_a_window(ids, length, stride):
        """`y` has as many ids as `x`: a target for each place of the window"""
        x, y = windows.right(ids, length, stride)
        return x, y[:, -1]

    def ignores_the_stride(ids, length, stride):
        """The stride is ignored: windows begin `stride` ids apart"""
        return windows.right(ids, length, 1)

    def takes_the_length_for_the_stride(ids, length, stride):
        return windows.right(ids, length, length)

    def stops_one_id_too_early(ids, length, stride):
        """The last window stops one id too early: `y` ends with the last id"""
        return windows.right(ids[:-1], length, stride)

    def repeats_the_last_window(ids, length, stride):
        """The last window comes twice where the steps end there anyway"""
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last + 1, stride), last])

    def swaps_x_and_y(ids, length, stride):
        """`x` and `y` are swapped: `y` is the one that lies later in the text"""
        x, y = windows.right(ids, length, stride)
        return y, x

    def returns_pairs(ids, length, stride):
        """… is a tuple, but an int64 tensor"""
        return list(zip(*windows.right(ids, length, stride), strict=True))

    def returns_windows_for_stride_0(ids, length, stride):
        """… `stride=0` must raise a ValueError"""
        return windows.right(ids, length, max(stride, 1))

    def lets_range_complain_about_0_alone(ids, length, stride):
        """… `stride=-1` must raise a ValueError"""
        last = len(ids) - length - 1
        return _windows(ids, length, [*range(0, last, stride), last])


LOGITS = torch.tensor([[2.0, 1.0, -1.0], [0.5, -0.5, 0.0], [1.0, 3.0, 2.0], [-2.0, 0.0, 1.0]])
TARGETS = torch.tensor([0, 2, 1, 0])


@exercise("4.2")
class cross_entropy:
    """cross_entropy(logits: (B, V), targets: (B,)) -> the mean of −ln p[target], one number"""

    cases = (
        (LOGITS, TARGETS),
        (torch.zeros(2, 65), torch.tensor([0, 64])),
        (torch.tensor([[1000.0, 998.0], [-1000.0, -999.0]]), torch.tensor([1, 0])),
    )

    def judge(call):
        praise = cross_entropy.compare(call)
        slopes = (
            "must stay a tensor made by torch's own operations, or `backward()` finds no slopes"
        )
        logits = LOGITS.clone().requires_grad_()
        value = call(logits, TARGETS).value
        expect(getattr(value, "requires_grad", False), f"The loss {slopes}.")
        try:
            (found,) = torch.autograd.grad(value, logits, allow_unused=True)
        except Exception as error:
            raise Wrong(f"`backward()` from this loss fails: {words(error)}.") from None
        cut = "cut off from the logits, by `.item()`, `.data` or `.detach()`"
        expect(found is not None, f"The loss is {cut}: `backward()` finds no slopes.")
        found = found.to(value.dtype)  # half precision holds 3 or 4 digits
        right = (LOGITS.softmax(1) - F.one_hot(TARGETS, LOGITS.shape[1])) / len(LOGITS)
        if not same(found, right):
            told = f"At `logits`, `backward()` {difference(found, right)}."
            raise Wrong(f"The loss is right, its slopes are not: is a part {cut}?\n{told}")
        return praise

    def right(logits, targets):
        logits = logits - logits.max(dim=1, keepdim=True).values
        log_p = logits - logits.exp().sum(dim=1, keepdim=True).log()
        return -log_p[torch.arange(len(targets)), targets].mean()

    def also(logits, targets):
        return F.cross_entropy(logits, targets)

    def also_row_by_row(logits, targets):
        losses = [-row.log_softmax(0)[t] for row, t in zip(logits, targets, strict=True)]
        return torch.stack(losses).mean()

    def also_with_the_largest_logit_as_a_constant(logits, targets):
        largest = logits.detach().amax(dim=1, keepdim=True)
        log_sum = (logits - largest).exp().sum(dim=1).log() + largest.squeeze(1)
        return (log_sum - logits.gather(1, targets[:, None]).squeeze(1)).mean()

    def lets_exp_overflow(logits, targets):
        """`exp` of a large logit is infinite: take the row's largest logit away first"""
        p = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
        return -p[torch.arange(len(targets)), targets].log().mean()

    def forgets_the_softmax(logits, targets):
        """These are logits: softmax makes probabilities of them, and then comes −ln"""
        return -logits[torch.arange(len(targets)), targets].mean()

    def takes_the_softmax_over_the_batch(logits, targets):
        """The softmax runs over the batch: the probabilities of one row sum to 1"""
        return -logits.log_softmax(0)[torch.arange(len(targets)), targets].mean()

    def takes_the_softmax_twice(logits, targets):
        """Softmax is taken twice: `F.cross_entropy` expects logits"""
        return F.cross_entropy(logits.softmax(dim=1), targets)

    def forgets_the_logarithm(logits, targets):
        """This is the mean probability: the loss is −ln of each, and then the mean"""
        return logits.softmax(dim=1)[torch.arange(len(targets)), targets].mean()

    def takes_the_logarithm_of_the_mean(logits, targets):
        """This is −ln of the mean probability: take −ln of each first, then the mean"""
        p = logits.softmax(dim=1)[torch.arange(len(targets)), targets]
        return -p.mean().log()

    def forgets_the_minus(logits, targets):
        """The sign is wrong: ln p is negative, a loss is not"""
        return -cross_entropy.right(logits, targets)

    def adds_up(logits, targets):
        """This is the sum over the batch: take the mean"""
        return cross_entropy.right(logits, targets) * len(targets)

    def takes_bits(logits, targets):
        """These are logarithms to base 2: take natural ones"""
        return cross_entropy.right(logits, targets) / math.log(2)

    def takes_every_target_in_every_row(logits, targets):
        """`log_p[:, targets]` takes all targets in every row: each row has one of its own"""
        return -logits.log_softmax(1)[:, targets].mean()

    def ignores_the_targets(logits, targets):
        """All characters count: only the probability of the target does"""
        return -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()

    def returns_a_loss_for_each_row(logits, targets):
        """There is a loss for each row: return their mean"""
        return F.cross_entropy(logits, targets, reduction="none")

    def returns_a_float(logits, targets):
        """… must stay a tensor"""
        return cross_entropy.right(logits, targets).item()

    def makes_a_new_tensor_of_the_number(logits, targets):
        """… cut off from the logits"""
        return torch.tensor(F.cross_entropy(logits, targets).item(), requires_grad=True)

    def asks_for_slopes_at_the_end(logits, targets):
        """… `backward()` finds no slopes"""
        return F.cross_entropy(logits.data, targets).requires_grad_()

    def detaches_the_log_of_the_sum(logits, targets):
        """… its slopes are not"""
        own = logits[torch.arange(len(targets)), targets]
        return (logits.logsumexp(dim=1).detach() - own).mean()

    def detaches_the_logit_of_the_target(logits, targets):
        """… its slopes are not"""
        own = logits[torch.arange(len(targets)), targets]
        return (logits.logsumexp(dim=1) - own.detach()).mean()

    def leaves_the_graph_used_up(logits, targets):
        """… `backward()` from this loss fails"""
        loss = F.cross_entropy(logits, targets)
        if loss.requires_grad:
            loss.backward()
        return loss


def _random(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, W1, W2 = _random(4, seed=1), _random(4, 6, seed=2), _random(6, 5, seed=3)


def _parts(x, W1, W2, target):
    """The hidden layer, the slopes at the logits, and those at the hidden layer."""
    hidden = (x @ W1).relu()
    at_logits = (hidden @ W2).softmax(dim=0)
    at_logits[target] -= 1
    return hidden, at_logits, W2 @ at_logits


@exercise("4.3")
class slopes:
    """slopes(x: (C,), W1: (C, H), W2: (H, V), target) -> slope of W1 (C, H), slope of W2 (H, V)"""

    cases = ((X, W1, W2, 2), (-X, W1, W2, 0))

    def right(x, W1, W2, target):
        hidden, at_logits, at_hidden = _parts(x, W1, W2, target)
        at_hidden = at_hidden * (hidden > 0)
        return x[:, None] * at_hidden, hidden[:, None] * at_logits

    def also(x, W1, W2, target):
        hidden = (x @ W1).relu()
        at_logits = (hidden @ W2).softmax(0) - F.one_hot(torch.tensor(target), W2.shape[1])
        at_hidden = torch.where(x @ W1 > 0, at_logits @ W2.T, 0.0)
        return torch.outer(x, at_hidden), torch.outer(hidden, at_logits)

    def also_by_backward(x, W1, W2, target):
        W1, W2 = W1.clone().requires_grad_(), W2.clone().requires_grad_()
        loss = -((x @ W1).relu() @ W2).log_softmax(dim=0)[target]
        return torch.autograd.grad(loss, (W1, W2))

    def lets_slopes_through_a_closed_ReLU(x, W1, W2, target):
        """The slope of W1 goes through the ReLU only where the hidden number is above 0"""
        hidden, at_logits, at_hidden = _parts(x, W1, W2, target)
        return torch.outer(x, at_hidden), torch.outer(hidden, at_logits)

    def closes_the_ReLU_where_the_slope_is_negative(x, W1, W2, target):
        """The ReLU is open where the hidden number is above 0, whatever the sign of the slope"""
        hidden, at_logits, at_hidden = _parts(x, W1, W2, target)
        return torch.outer(x, at_hidden.relu()), torch.outer(hidden, at_logits)

    def forgets_the_1_at_the_target(x, W1, W2, target):
        """The slope at the logits is p less 1 at the target: here the target plays no part"""
        hidden = (x @ W1).relu()
        p = (hidden @ W2).softmax(dim=0)
        return torch.outer(x, (W2 @ p) * (hidden > 0)), torch.outer(hidden, p)

    def takes_1_away_everywhere(x, W1, W2, target):
        """Take 1 away at the target only, not at every character"""
        hidden = (x @ W1).relu()
        p = (hidden @ W2).softmax(dim=0) - 1
        return torch.outer(x, (W2 @ p) * (hidden > 0)), torch.outer(hidden, p)

    def turns_the_sign(x, W1, W2, target):
        """The signs are turned: the slope at the target's logit is p − 1, below 0"""
        first, second = slopes.right(x, W1, W2, target)
        return -first, -second

    def stops_at_the_logits_with_p_alone_for_W1(x, W1, W2, target):
        """The slope at the hidden layer is W2 times the slope at the logits, not W2 times p"""
        hidden = (x @ W1).relu()
        p = (hidden @ W2).softmax(dim=0)
        return torch.outer(x, (W2 @ p) * (hidden > 0)), slopes.right(x, W1, W2, target)[1]

    def takes_x_as_it_is_after_the_ReLU(x, W1, W2, target):
        """W1 is multiplied by x itself, negative numbers too: no ReLU on x"""
        return slopes.right(x, W1, W2, target)[0] * (x > 0)[:, None], slopes.right(
            x, W1, W2, target
        )[1]

    def swaps_the_two(x, W1, W2, target):
        """The two are swapped: first W1's, then W2's"""
        return slopes.right(x, W1, W2, target)[::-1]

    def turns_the_matrices(x, W1, W2, target):
        """Rows and columns are swapped: a slope has the shape of its matrix"""
        first, second = slopes.right(x, W1, W2, target)
        return first.T, second.T

    def returns_the_new_weights(x, W1, W2, target):
        """These are weights after a step: return the slopes"""
        first, second = slopes.right(x, W1, W2, target)
        return W1 - first, W2 - second


WINDOWS = torch.tensor([[3, 0, 5, 2], [1, 1, 4, 0], [5, 2, 3, 3]])
SETTINGS = {"vocab_size": 6, "length": 4, "d_model": 3, "d_hidden": 7}


@exercise("4.4")
class TextNetwork:
    """TextNetwork(vocab_size, length, d_model, d_hidden)(ids: (B, T)) -> logits (B, V)"""

    def cases():
        other = {"vocab_size": 6, "length": 2, "d_model": 5, "d_hidden": 4}
        return (SETTINGS, WINDOWS), (other, WINDOWS[:1, :2])

    class right(nn.Module):
        def __init__(self, vocab_size, length, d_model, d_hidden):
            super().__init__()
            self.embed = nn.Embedding(vocab_size, d_model)
            self.hidden = nn.Linear(length * d_model, d_hidden)
            self.out = nn.Linear(d_hidden, vocab_size)

        def forward(self, ids):
            joined = self.embed(ids).flatten(1)
            return self.out(self.hidden(joined).relu())

    class also(right):
        def forward(self, ids):
            joined = torch.cat([self.embed(column) for column in ids.T], dim=1)
            return self.out(F.relu(self.hidden(joined)))

    class also_with_matrices(right):
        def forward(self, ids):
            x = self.embed.weight[ids].reshape(len(ids), -1)
            hidden = (x @ self.hidden.weight.T + self.hidden.bias).clamp(min=0)
            return hidden @ self.out.weight.T + self.out.bias

    class forgets_the_ReLU(right):
        """There is no ReLU after the hidden layer: two linear layers in a row are only one"""

        def forward(self, ids):
            return self.out(self.hidden(self.embed(ids).flatten(1)))

    class has_a_ReLU_on_the_logits(right):
        """A ReLU cuts the logits at 0: it belongs after the hidden layer only"""

        def forward(self, ids):
            return self.out(self.hidden(self.embed(ids).flatten(1)).relu()).relu()

    class has_a_ReLU_on_the_vectors(right):
        """A ReLU cuts the vectors of the table: it belongs after the hidden layer"""

        def forward(self, ids):
            return self.out(self.hidden(self.embed(ids).flatten(1).relu()))

    class returns_probabilities(right):
        """These are probabilities: return the logits, the loss takes the softmax itself"""

        def forward(self, ids):
            return TextNetwork.right.forward(self, ids).softmax(dim=1)

    class returns_log_probabilities(right):
        """These are ln p: return the logits themselves"""

        def forward(self, ids):
            return TextNetwork.right.forward(self, ids).log_softmax(dim=1)

    class joins_the_wrong_way(right):
        """The vectors are mixed up: join them one after the other, with `flatten(1)`"""

        def forward(self, ids):
            return self.out(self.hidden(self.embed(ids).mT.flatten(1)).relu())

    class reads_backwards(right):
        """The window is read from its end: place 0 comes first"""

        def forward(self, ids):
            return TextNetwork.right.forward(self, ids.flip(1))

    class adds_the_vectors(right):
        """The hidden layer needs all vectors of the window side by side: (B, T * C)"""

        def forward(self, ids):
            return self.out(self.hidden(self.embed(ids).sum(dim=1)).relu())

    class joins_the_batch_too(right):
        """The hidden layer needs all vectors of the window side by side: (B, T * C)"""

        def forward(self, ids):
            return self.out(self.hidden(self.embed(ids).flatten()).relu())

    class has_a_hidden_layer_for_one_vector(right):
        """… `hidden.weight` has shape (7, 3), but (7, 12)"""

        def __init__(self, vocab_size, length, d_model, d_hidden):
            super().__init__(vocab_size, length, d_model, d_hidden)
            self.hidden = nn.Linear(d_model, d_hidden)

    class has_no_biases(right):
        """… the parameter `hidden.bias` is missing"""

        def __init__(self, vocab_size, length, d_model, d_hidden):
            super().__init__(vocab_size, length, d_model, d_hidden)
            self.hidden = nn.Linear(length * d_model, d_hidden, bias=False)


def _descend(w, rate, steps, move):
    """The places of a descent on (w − 3)²; `move(slopes)` makes one number of all slopes so far."""
    places, found = [w], []
    for _ in range(steps):
        found.append(2 * (places[-1] - 3))
        places.append(places[-1] - rate * move(found))
    return places


@exercise("4.5")
class forgetful_descent:
    """forgetful_descent(w, rate, steps) -> steps + 1 places, each step along all slopes so far"""

    cases = ((1.0, 0.25, 4), (5.0, 0.1, 6), (0.0, 0.5, 0))

    def right(w, rate, steps):
        return _descend(w, rate, steps, sum)

    def also(w, rate, steps):
        places, slope = [w], 0.0
        for _ in range(steps):
            slope += 2 * (w - 3)
            w = w - rate * slope
            places.append(w)
        return places

    def sets_the_slope_to_zero(w, rate, steps):
        """This is the right descent: the fault is that the old slopes stay in the sum"""
        return _descend(w, rate, steps, lambda slopes: slopes[-1])

    def takes_the_mean(w, rate, steps):
        """This is the mean of the slopes so far: `backward()` adds them up"""
        return _descend(w, rate, steps, lambda slopes: sum(slopes) / len(slopes))

    def steps_uphill(w, rate, steps):
        """It steps uphill: the step goes against the sum of the slopes"""
        return _descend(w, rate, steps, lambda slopes: -sum(slopes))

    def measures_the_slope_once(w, rate, steps):
        """The slope is measured at the start only: it changes with every step"""
        return _descend(w, rate, steps, lambda slopes: slopes[0] * len(slopes))

    def takes_half_the_slope(w, rate, steps):
        """The slope of (w − 3)² is 2 · (w − 3)"""
        return _descend(w, rate, steps, lambda slopes: sum(slopes) / 2)

    def measures_the_slope_after_the_step(w, rate, steps):
        """Each step misses the newest slope: first add the slope, then step"""
        return _descend(w, rate, steps, lambda slopes: sum(slopes[:-1]))

    def adds_the_last_two_only(w, rate, steps):
        """Only the last two slopes are added: nothing is ever set to zero, so all of them stay"""
        return _descend(w, rate, steps, lambda slopes: sum(slopes[-2:]))

    def leaves_out_the_start(w, rate, steps):
        """The list begins after the first step: the start belongs to it"""
        return _descend(w, rate, steps, sum)[1:]

    def takes_one_step_too_many(w, rate, steps):
        """That is one step too many: the list has steps + 1 places"""
        return _descend(w, rate, steps + 1, sum)

    def returns_the_last_place(w, rate, steps):
        """… but a list"""
        return _descend(w, rate, steps, sum)[-1]
