"""The exercises of chapter 16, scaling. Imports no torch."""

import math

import numpy as np

from scratchformer.checks.engine import exercise


def _gpt(V, T, C, L, matrices=12, vectors=13, end=2):
    """Parameters of a GPT: a block has so many times C² and so many times C, the last norm 2 C."""
    return (V + T) * C + L * (matrices * C * C + vectors * C) + end * C


@exercise("16.1")
class gpt_parameters:
    """gpt_parameters(vocab_size, context_length, d_model, n_layers) -> parameters of a GPT"""

    cases = ((65, 16, 8, 3), (11, 4, 6, 1), (50_257, 1024, 768, 12))
    praise = "`gpt_parameters` is right: the last call was GPT-2's smallest, 124,439,808."

    def right(vocab_size, context_length, d_model, n_layers):
        return _gpt(vocab_size, context_length, d_model, n_layers)

    def also(vocab_size, context_length, d_model, n_layers):
        def linear(inputs, outputs):
            return inputs * outputs + outputs

        C, norm = d_model, 2 * d_model
        total = vocab_size * C + context_length * C + norm
        for _ in range(n_layers):
            total += norm + linear(C, 3 * C) + linear(C, C)
            total += norm + linear(C, 4 * C) + linear(4 * C, C)
        return total

    def counts_the_tied_head(V, T, C, L):
        """The head is counted again: it is the token table, so it adds nothing"""
        return _gpt(V, T, C, L) + V * C

    def forgets_the_last_norm(V, T, C, L):
        """The last norm is missing: 2 C behind the blocks"""
        return _gpt(V, T, C, L, end=0)

    def forgets_the_positions(V, T, C, L):
        """The position table is missing: a vector for each position"""
        return _gpt(V, 0, C, L)

    def forgets_the_token_table(V, T, C, L):
        """The token table is missing: a vector for each token"""
        return _gpt(0, T, C, L)

    def forgets_both_tables(V, T, C, L):
        """The two tables are missing: count tokens and positions too"""
        return _gpt(0, 0, C, L)

    def counts_matrices_only(V, T, C, L):
        """Only the matrices are counted: biases and norms add 13 C"""
        return _gpt(V, T, C, L, vectors=0, end=0)

    def counts_matrices_and_the_last_norm_only(V, T, C, L):
        """The 13 C of biases and norms in a block are missing"""
        return _gpt(V, T, C, L, vectors=0)

    def forgets_the_norms_of_a_block(V, T, C, L):
        """The two norms of each block are missing: a weight and a bias each"""
        return _gpt(V, T, C, L, vectors=9)

    def forgets_the_biases(V, T, C, L):
        """The biases of the linear layers are missing: 3 C, C, 4 C and C"""
        return _gpt(V, T, C, L, vectors=4)

    def forgets_the_projection_back(V, T, C, L):
        """Attention has four matrices: the projection back is missing"""
        return _gpt(V, T, C, L, matrices=11)

    def counts_half_a_feed_forward_network(V, T, C, L):
        """The network widens to 4 C and comes back: two matrices of 4 C²"""
        return _gpt(V, T, C, L, matrices=8)

    def counts_one_block(V, T, C, L):
        """Only one block is counted"""
        return _gpt(V, T, C, 1)

    def counts_a_last_norm_for_each_block(V, T, C, L):
        """The last norm stands once, behind all blocks"""
        return _gpt(V, T, C, L, end=2 * L)


@exercise("16.2")
class training_days:
    """training_days(parameters, tokens, devices, peak, share) -> days of training, 6 N D"""

    cases = (
        (124e6, 10e9, 8, 312e12, 0.4),
        (2.5e9, 100e9, 64, 1e15, 0.35),
        (7e9, 2e12, 512, 3e14, 0.5),
    )
    praise = "`training_days` is right. Try it with GPT-3's 175 billion parameters."

    def right(parameters, tokens, devices, peak, share):
        return 6 * parameters * tokens / (devices * peak * share) / 86_400

    def also(parameters, tokens, devices, peak, share):
        forward = 2 * parameters * tokens
        backward = 2 * forward
        return (forward + backward) / devices / peak / share / 60 / 60 / 24

    def counts_the_forward_pass_only(parameters, *rest):
        """2 N D is the forward pass: the backward pass costs twice as much again"""
        return training_days.right(parameters / 3, *rest)

    def counts_the_backward_pass_only(parameters, *rest):
        """4 N D is the backward pass: the forward pass is missing"""
        return training_days.right(parameters * 2 / 3, *rest)

    def counts_one_operation_a_parameter(parameters, *rest):
        """N D counts no operations: each parameter costs 6 for a token"""
        return training_days.right(parameters / 6, *rest)

    def returns_seconds(*case):
        """These are seconds: a day has 86,400"""
        return training_days.right(*case) * 86_400

    def returns_hours(*case):
        """These are hours: a day has 24"""
        return training_days.right(*case) * 24

    def runs_at_the_peak(parameters, tokens, devices, peak, share):
        """The share is missing: no device reaches its peak"""
        return training_days.right(parameters, tokens, devices, peak, 1.0)

    def multiplies_by_the_share(parameters, tokens, devices, peak, share):
        """Multiplied by the share: what is reached is less, so divide"""
        return training_days.right(parameters, tokens, devices, peak, 1 / share)

    def counts_one_device(parameters, tokens, devices, peak, share):
        """That is one device alone: the work is shared"""
        return training_days.right(parameters, tokens, 1, peak, share)

    def multiplies_by_the_devices(parameters, tokens, devices, peak, share):
        """More devices make it longer here: divide by their number"""
        return training_days.right(parameters, tokens, 1 / devices, peak, share)

    def upside_down(*case):
        """This is upside down: operations over operations a second"""
        return 1 / training_days.right(*case)


@exercise("16.3")
class texts_that_fit:
    """texts_that_fit(memory, n_layers, d_model, T, bytes_per_number) -> caches that fit, whole"""

    cases = (
        (10**9, 12, 768, 1024, 4),
        (80 * 10**9, 96, 12_288, 2048, 2),
        (24 * 10**9, 32, 4096, 700, 2),
    )
    praise = (
        "`texts_that_fit` is right: 80 GB hold 8 texts for GPT-3, and not one of its parameters."
    )

    def right(memory, n_layers, d_model, T, bytes_per_number):
        return memory // (2 * n_layers * T * d_model * bytes_per_number)

    def also(memory, n_layers, d_model, T, bytes_per_number):
        keys = np.int64(n_layers) * T * d_model
        return math.floor(memory / int(2 * keys) / bytes_per_number)

    def stores_keys_only(memory, L, C, T, size):
        """A key and a value are kept for each token: twice as many"""
        return memory // (L * T * C * size)

    def stores_one_block(memory, L, C, T, size):
        """Every block has a cache of its own: L of them"""
        return texts_that_fit.right(memory, 1, C, T, size)

    def counts_numbers_instead_of_bytes(memory, L, C, T, size):
        """Numbers are no bytes: each takes `bytes_per_number`"""
        return texts_that_fit.right(memory, L, C, T, 1)

    def takes_a_key_for_one_number(memory, L, C, T, size):
        """A key is a vector: d_model numbers, all heads together"""
        return texts_that_fit.right(memory, L, 1, T, size)

    def stores_one_token(memory, L, C, T, size):
        """That is the cache of one token: a text has T"""
        return texts_that_fit.right(memory, L, C, 1, size)

    def squares_T(memory, L, C, T, size):
        """T is squared: attention compares all pairs, but keeps T keys"""
        return texts_that_fit.right(memory, L, C, T * T, size)

    def makes_keys_four_times_as_wide(memory, L, C, T, size):
        """4 d_model is the feed-forward network's: keys are d_model wide"""
        return texts_that_fit.right(memory, L, 4 * C, T, size)

    def counts_memory_in_bits(memory, *rest):
        """Memory is in bytes here, not in bits"""
        return texts_that_fit.right(8 * memory, *rest)

    def rounds_up(memory, L, C, T, size):
        """Rounded up: a part of a cache is of no use"""
        return math.ceil(memory / (2 * L * T * C * size))

    def returns_a_fraction_of_a_text(memory, L, C, T, size):
        """… but an int such as"""
        return memory / (2 * L * T * C * size)

    def returns_what_one_text_needs(memory, L, C, T, size):
        """That is what one text needs: how many of them fit?"""
        return 2 * L * T * C * size


@exercise("16.4")
class exponent:
    """exponent(x1, y1, x2, y2, E) -> α of y = E + A / x^α through two points"""

    cases = ((2.0, 5.0, 16.0, 1.3, 0.8), (100.0, 3.0, 3200.0, 1.5, 1.0), (1e5, 2.1, 1e6, 1.7, 1.2))
    praise = (
        "`exponent` is right: the slope of a straight line, once E is gone and both axes are logs."
    )

    def right(x1, y1, x2, y2, E):
        return math.log((y1 - E) / (y2 - E)) / math.log(x2 / x1)

    def also(x1, y1, x2, y2, E):
        slope, _ = np.polyfit(np.log10([x1, x2]), np.log10([y1 - E, y2 - E]), 1)
        return -slope

    def has_the_wrong_sign(x1, y1, x2, y2, E):
        """The sign: α is positive where the loss falls"""
        return -exponent.right(x1, y1, x2, y2, E)

    def does_not_subtract_E(x1, y1, x2, y2, E):
        """E is not subtracted: only the part above it follows the power law"""
        return exponent.right(x1, y1, x2, y2, 0.0)

    def does_not_subtract_E_and_has_the_wrong_sign(x1, y1, x2, y2, E):
        """E is not subtracted, and α is positive where the loss falls"""
        return -exponent.right(x1, y1, x2, y2, 0.0)

    def upside_down(x1, y1, x2, y2, E):
        """This is upside down: by how much y falls, for how much x grows"""
        return 1 / exponent.right(x1, y1, x2, y2, E)

    def takes_no_logarithm_of_the_losses(x1, y1, x2, y2, E):
        """The losses need a logarithm too, above E"""
        return (y1 - y2) / math.log(x2 / x1)

    def takes_no_logarithm_at_all(x1, y1, x2, y2, E):
        """That is the slope of a straight line: take logarithms"""
        return (y1 - y2) / (x2 - x1)

    def takes_no_logarithm_of_x(x1, y1, x2, y2, E):
        """x needs a logarithm too"""
        return math.log((y1 - E) / (y2 - E)) / (x2 - x1)

    def returns_the_fall_alone(x1, y1, x2, y2, E):
        """Divide by the logarithm of how much x grew"""
        return math.log((y1 - E) / (y2 - E))

    def divides_the_ratios(x1, y1, x2, y2, E):
        """Divide logarithms, not the ratios themselves"""
        return (y1 - E) / (y2 - E) * x1 / x2

    def subtracts_E_too_late(x1, y1, x2, y2, E):
        """Subtract E from each loss, before the logarithm"""
        return (math.log(y1) - math.log(y2) - E) / math.log(x2 / x1)


def _line(x, y, at):
    """The least-squares line through the points, at one place."""
    return float(np.polyval(np.polyfit(x, y, 1), at))


@exercise("16.5")
class without_floor:
    """without_floor(x, y, far) -> the loss at `far` by a straight line through (log x, log y)"""

    cases = (
        ([10.0, 100.0, 1000.0], [8.0, 4.0, 2.0], 2000.0),
        ([1e3, 1e4, 1e5, 1e6], [3.0, 1.9, 1.5, 1.3], 1e12),  # the points do not lie on a line
    )
    praise = "`without_floor` is right, and what it says is wrong: no loss falls for ever."

    def right(x, y, far):
        return math.exp(_line(np.log(x), np.log(y), math.log(far)))

    def also(x, y, far):
        columns = np.stack([np.ones(len(x)), np.log2(x)], axis=1)
        start, slope = np.linalg.lstsq(columns, np.log2(y), rcond=None)[0]
        return 2 ** (start + slope * math.log2(far))

    def stays_in_logarithms(x, y, far):
        """This is the logarithm of the loss: take exp of it"""
        return _line(np.log(x), np.log(y), math.log(far))

    def takes_no_logarithms(x, y, far):
        """A straight line without logarithms: take them of both"""
        return _line(x, y, far)

    def takes_no_logarithm_of_x(x, y, far):
        """x needs its logarithm too"""
        return math.exp(_line(x, np.log(y), far))

    def takes_no_logarithm_of_y(x, y, far):
        """y needs its logarithm too"""
        return _line(np.log(x), y, math.log(far))

    def takes_no_logarithm_of_far(x, y, far):
        """The line is in log x: take the logarithm of `far`"""
        return math.exp(_line(np.log(x), np.log(y), far))

    def takes_a_power_of_ten(x, y, far):
        """Natural logarithms need exp, not a power of 10"""
        return 10 ** _line(np.log(x), np.log(y), math.log(far))

    def returns_the_last_loss(x, y, far):
        """That is the last loss: go on along the line, to `far`"""
        return y[-1]

    def uses_the_first_and_last_points(x, y, far):
        """Only the first and last points are used: fit them all"""
        return without_floor.right([x[0], x[-1]], [y[0], y[-1]], far)

    def uses_the_first_two_points(x, y, far):
        """Only the first two points are used: fit them all"""
        return without_floor.right(x[:2], y[:2], far)

    def uses_the_last_two_points(x, y, far):
        """Only the last two points are used: fit them all"""
        return without_floor.right(x[-2:], y[-2:], far)
