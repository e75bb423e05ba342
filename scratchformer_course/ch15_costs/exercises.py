"""The exercises of chapter 15, costs. Imports no torch."""

from scratchformer_course.kit.checks.engine import exercise


def _gpt(V, T, C, L, matrices=12, vectors=13, end=2):
    """Parameters of a GPT: a block has so many times C² and so many times C, the last norm 2 C."""
    return (V + T) * C + L * (matrices * C * C + vectors * C) + end * C


@exercise("15.1")
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


def _flops(V, T, C, L, weights=12, scores=2, head=1):
    """Forward: a block multiplies by so many times C² weights, and forms so many T² products."""
    return L * (2 * T * weights * C * C + scores * 2 * T * T * C) + head * 2 * T * C * V


@exercise("15.2")
class forward_flops:
    """forward_flops(vocab_size, T, d_model, n_layers) -> operations of a forward pass"""

    cases = ((65, 16, 8, 3), (11, 40, 6, 1), (50_257, 1024, 768, 12))
    praise = "`forward_flops` is right: GPT-2's smallest needs 2.9e11 operations for 1,024 tokens."

    def right(vocab_size, T, d_model, n_layers):
        return _flops(vocab_size, T, d_model, n_layers)

    def also(vocab_size, T, d_model, n_layers):
        def product(rows, inner, columns):
            return 2 * rows * inner * columns

        total = product(T, d_model, vocab_size)
        for _ in range(n_layers):
            total += product(T, d_model, 3 * d_model) + product(T, d_model, d_model)
            total += product(T, d_model, T) + product(T, T, d_model)
            total += product(T, d_model, 4 * d_model) + product(T, 4 * d_model, d_model)
        return total

    def counts_multiplications_only(V, T, C, L):
        """These are multiplications: each has an addition, so twice as many operations"""
        return _flops(V, T, C, L) // 2

    def forgets_the_scores_and_the_mixing(V, T, C, L):
        """The products without weights are missing: the scores, and the mixing of values"""
        return _flops(V, T, C, L, scores=0)

    def counts_the_scores_or_the_mixing(V, T, C, L):
        """Attention has two products of T times T times C, all pairs counted: here is one"""
        return _flops(V, T, C, L, scores=1)

    def forgets_the_head(V, T, C, L):
        """The output head is missing: a product with V rows of C weights"""
        return _flops(V, T, C, L, head=0)

    def forgets_the_head_and_the_scores(V, T, C, L):
        """Only the weights of the blocks are counted: the head and attention's T² are missing"""
        return _flops(V, T, C, L, scores=0, head=0)

    def counts_the_tables_as_products(V, T, C, L):
        """A table is looked up, not multiplied: only the head counts V"""
        return _flops(V, T, C, L) + 2 * T * C * (V + T)

    def counts_every_parameter_twice(V, T, C, L):
        """That is 2 N T: it counts biases, norms and positions, and no scores"""
        return 2 * T * _gpt(V, T, C, L)

    def counts_one_token(V, T, C, L):
        """That is for one token: there are T"""
        return _flops(V, T, C, L) // T

    def lets_each_token_see_one(V, T, C, L):
        """Each of the T tokens is compared with all T: the scores need T²"""
        return _flops(V, T, C, L, scores=0) + L * 4 * T * C

    def counts_one_block(V, T, C, L):
        """Only one block is counted"""
        return _flops(V, T, C, 1)

    def counts_a_head_for_each_block(V, T, C, L):
        """The head stands once, behind all blocks"""
        return _flops(V, T, C, L, head=L)

    def counts_half_a_feed_forward_network(V, T, C, L):
        """The network widens to 4 C and comes back: two matrices of 4 C²"""
        return _flops(V, T, C, L, weights=8)

    def forgets_the_projection_back(V, T, C, L):
        """Attention has four matrices: the projection back is missing"""
        return _flops(V, T, C, L, weights=11)

    def counts_the_backward_pass_too(V, T, C, L):
        """That is training, forward and backward: only the forward pass is asked for"""
        return 3 * _flops(V, T, C, L)


@exercise("15.3")
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


def _fits(memory, V, T, C, L, state=16, blocks=16, logits=3, last=2, size=4):
    """Whole texts beside the parameters' `state` bytes each: so many C a block, so many V."""
    one = size * T * (L * blocks * C + last * C + logits * V)
    return max(0, (memory - state * _gpt(V, T, C, L)) // one)


@exercise("15.4")
class largest_batch:
    """largest_batch(memory, vocab_size, T, d_model, n_layers) -> how many texts fit"""

    cases = (
        (10**9, 65, 64, 48, 3),
        (24 * 10**9, 50_257, 1024, 768, 12),
        (80 * 10**9, 1000, 512, 4096, 24),  # the parameters fit, and no text
        (10**9, 50_257, 1024, 768, 12),  # not even the parameters
    )
    praise = "`largest_batch` is right: 24 GB hold GPT-2's smallest and 17 texts of 1,024 tokens."

    def right(memory, vocab_size, T, d_model, n_layers):
        return _fits(memory, vocab_size, T, d_model, n_layers)

    def also(memory, vocab_size, T, d_model, n_layers):
        left = memory - 16 * _gpt(vocab_size, T, d_model, n_layers)
        token = 4 * ((16 * n_layers + 2) * d_model + 3 * vocab_size)
        if left < 0:
            return 0
        return int(left / (token * T))

    def forgets_the_parameters(memory, *sizes):
        """The parameters are not counted: each takes 16 bytes before the first text comes"""
        return _fits(memory, *sizes, state=0)

    def counts_the_weights_alone(memory, *sizes):
        """4 bytes are the weight alone: its gradient and AdamW's two averages take 12 more"""
        return _fits(memory, *sizes, state=4)

    def forgets_the_optimizer(memory, *sizes):
        """AdamW's two averages are missing: a parameter takes 16 bytes"""
        return _fits(memory, *sizes, state=8)

    def forgets_one_of_the_averages(memory, *sizes):
        """AdamW keeps two averages for each parameter, so it takes 16 bytes"""
        return _fits(memory, *sizes, state=12)

    def forgets_the_loss(memory, *sizes):
        """The loss is missing: three tables of logits, 3 V numbers for each token"""
        return _fits(memory, *sizes, logits=0)

    def counts_the_table_that_is_kept(memory, *sizes):
        """One table of logits is kept, but three are there in the loss's backward pass"""
        return _fits(memory, *sizes, logits=1)

    def counts_the_two_new_tables_alone(memory, *sizes):
        """The loss keeps a table already: with the two new ones there are three"""
        return _fits(memory, *sizes, logits=2)

    def forgets_the_last_norm(memory, *sizes):
        """The last norm is missing: it keeps 2 C numbers for each token"""
        return _fits(memory, *sizes, last=0)

    def counts_one_block(memory, *sizes):
        """Every block keeps 16 C numbers: L times"""
        V, T, C, L = sizes
        return max(0, (memory - 16 * _gpt(V, T, C, L)) // (4 * T * (18 * C + 3 * V)))

    def counts_numbers_instead_of_bytes(memory, *sizes):
        """Numbers are no bytes: each kept number takes 4"""
        return _fits(memory, *sizes, size=1)

    def returns_tokens(memory, V, T, C, L):
        """These are tokens: how many whole texts of T tokens are they?"""
        one = 4 * (L * 16 * C + 2 * C + 3 * V)
        return max(0, (memory - 16 * _gpt(V, T, C, L)) // one)

    def returns_a_fraction(memory, V, T, C, L):
        """… but an int such as"""
        one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
        return max(0, memory - 16 * _gpt(V, T, C, L)) / one

    def rounds_up(memory, V, T, C, L):
        """Rounded up: a part of a text does not fit"""
        one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
        return max(0, -((16 * _gpt(V, T, C, L) - memory) // one))

    def goes_below_zero(memory, V, T, C, L):
        """Less than nothing cannot fit: 0 where the parameters alone are too large"""
        one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
        return (memory - 16 * _gpt(V, T, C, L)) // one
