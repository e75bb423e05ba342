"""Checks for the exercises of chapter 12, encoder–decoder."""

import math

import torch

from scratchformer.checks.first_edition import Call, exercise, expect


@exercise("12.1", "rows, begin_id, end_id, pad_id")
def shift_right(call: Call) -> None:
    """shift_right(rows, begin_id, end_id, pad_id) -> (inputs, labels), both (B, T)

    `rows` are lists of ids. Labels are padded with -100, inputs with pad_id.
    """
    begin, end, pad, no = 1, 2, 0, -100
    inputs = torch.tensor([[begin, 7, 8, 9], [begin, 5, pad, pad]])
    labels = torch.tensor([[7, 8, 9, end], [5, end, no, no]])
    trained = labels.masked_fill(labels == no, pad)
    short = torch.tensor([[7, 8, 9], [5, no, no]])
    ends = (inputs[:, :3], short), (torch.tensor([[begin, 7, 8], [begin, pad, pad]]), short)
    call([[7, 8, 9], [5]], begin, end, pad).gives(
        (inputs, labels),
        ((inputs, trained), "The labels are padded with `pad_id`: padding is trained on"),
        ((labels, inputs), "The two are swapped: the inputs first"),
        (
            (labels.masked_fill(labels == no, pad), labels),
            "Nothing is shifted: the decoder is shown each token it has to predict",
        ),
        ((inputs.masked_fill(inputs == pad, no), labels), "Inputs are padded with `pad_id`"),
        *((wrong, "No label is `end_id`: the decoder would never learn to stop") for wrong in ends),
        (
            (torch.tensor([[7, 8, 9], [5, 0, 0]]), torch.tensor([[8, 9, 2], [2, no, no]])),
            "The inputs start with the first token, not `begin_id`: nothing predicts that token",
        ),
        (
            (
                torch.tensor([[1, 7, 8, 9], [0, 0, 1, 5]]),
                torch.tensor([[7, 8, 9, 2], [no, no, 5, 2]]),
            ),
            "Pad behind the tokens: position 0 is where every target begins",
        ),
    )
    # Other ids; and a row whose own token has the number that pads elsewhere.
    call([[0], [4, 4]], 3, 6, 5).gives(
        (torch.tensor([[3, 0, 5], [3, 4, 4]]), torch.tensor([[0, 6, no], [4, 4, 6]]))
    )


@exercise("12.2", "target, pad_id")
def decoder_mask(call: Call) -> None:
    """decoder_mask(target: (B, T), pad_id) -> (B, T, T), True = may attend"""
    for pad, target in ((0, [[1, 7, 8, 9], [1, 5, 0, 0]]), (9, [[1, 0, 9], [1, 0, 4]])):
        target = torch.tensor(target)
        told = (target != pad)[:, None, :]
        past = torch.ones(target.shape[1], target.shape[1]).tril().bool()
        right = past & told
        every = past.expand(right.shape)
        future = "The padding mask replaces the causal one: the decoder sees the future"
        call(target, pad).gives(
            right,
            (told.expand(right.shape), future),
            (told, future),
            (every, "Only the future is hidden: positions still look at padding"),
            (past, "Only the future is hidden: positions still look at padding"),
            (~right, "The other way round: True = may attend"),
            (past | told, "A pair must pass both tests: `&`, not `|`"),
            (past.T & told, "Upside down: this shows the future and hides the past"),
            (past & told.mT, "Padding is hidden as a query; as a key it must be: its column"),
        )


@exercise("12.3", "logits, targets, epsilon")
def smoothed_loss(call: Call) -> None:
    """smoothed_loss(logits: (N, V), targets: (N,), epsilon) -> mean nats, label-smoothed"""
    generator = torch.Generator().manual_seed(0)
    for epsilon in (0.0, 0.1, 0.3):
        logits = 3 * torch.randn(4, 5, generator=generator)
        targets = torch.tensor([0, 4, 2, 2])
        log_p = logits.log_softmax(1)
        hit = log_p[torch.arange(4), targets]
        right = -((1 - epsilon) * hit + epsilon * log_p.mean(1))
        others = -((1 - epsilon) * hit + epsilon * (log_p.sum(1) - hit) / 4)
        twice = log_p.exp().log_softmax(1)
        twice = -((1 - epsilon) * twice[torch.arange(4), targets] + epsilon * twice.mean(1))
        mistakes = [
            (right, "One number for each row: return their mean"),
            (float(right.sum()), "The rows are added up: return their mean"),
            (float(-right.mean()), "The sign is wrong: a loss falls as the model learns"),
            (float(twice.mean()), "Softmax is taken twice: logits go in, once"),
        ]
        if epsilon:
            mistakes += [
                (float(-hit.mean()), "Nothing is smoothed: `epsilon` is not used"),
                (float(others.mean()), "All V tokens share `epsilon`, the target too: ε / V each"),
                (float(-(1 - epsilon) * hit.mean()), "The share of all V tokens is missing"),
            ]
        call(logits, targets, epsilon).gives(float(right.mean()), *mistakes)
    huge = torch.tensor([[1000.0, 0.0], [1000.0, 0.0]])
    why = "`softmax` and then `log` gives ln 0 here: take `log_softmax`"
    call(huge, torch.tensor([0, 0]), 0.1).gives(50.0, (math.inf, why), (math.nan, why))


@exercise("12.4", "next_token, begin_id, vocab_size")
def two_histories(call: Call) -> str:
    """two_histories(next_token, begin_id, vocab_size) -> two lists of ids that begin alike

    Both end in the same token, yet next_token(ids) differs.
    """

    def alternates(ids):  # 3 and 4 in turn, and 5 after two of them
        return 5 if len(ids) > 3 else 4 - ids.count(4) % 2

    def remembers(ids):  # the token behind begin_id comes back after a 2
        return ids[1] if len(ids) > 2 and ids[-1] == 2 else 2

    for next_token, begin, V in ((alternates, 1, 6), (remembers, 0, 4)):
        histories = call(next_token, begin, V).like(([1, 3], [1, 4, 3]))
        expect(len(histories) == 2, f"{len(histories)} histories came, two are expected.")
        for ids in histories:
            expect(ids[:1] == [begin], f"`{ids}` does not begin with `begin_id`, {begin}.")
            expect(all(0 <= i < V for i in ids), f"`{ids}` holds ids outside 0 to {V - 1}.")
            expect(len(ids) <= 8, f"A history of {len(ids)} tokens is longer than needed: 8 do.")
        a, b = histories
        expect(a != b, f"`{a}` twice: two different histories are needed.")
        expect(a[-1] == b[-1], f"They end in {a[-1]} and {b[-1]}: the last token must be the same.")
        came = next_token(list(a)), next_token(list(b))
        same = f"After both comes {came[0]}: here the last token would have been enough."
        expect(came[0] != came[1], same)
    return f"After `{a}` comes {came[0]}, after `{b}` {came[1]}: the last token cannot tell which."


@exercise("12.5", "log_p, new, width")
def beam_step(call: Call) -> None:
    """beam_step(log_p: (K,), new: (K, V), width) -> (parents, tokens), each (width,), best first"""
    log_p = torch.tensor([0.5, 0.3, 0.2]).log()
    rows = [0.1, 0.14, 0.3, 0.46], [0.47, 0.39, 0.08, 0.06], [0.02, 0.03, 0.35, 0.6]
    first = torch.tensor(rows)
    forgets = "What a target has cost so far is forgotten: add `log_p`"
    apart = "One child for each parent: the best `width` of all K · V may share a parent"
    for new, width in ((first.log(), 3), (first.roll(1, 0).log(), 2)):
        total = log_p[:, None] + new
        best, alone, worst = (t.flatten().topk(width).indices for t in (total, new, -total))
        child = total.max(1)
        order = child.values.topk(width).indices
        call(log_p, new, width).gives(
            (best // 4, best % 4),
            ((order, child.indices[order]), apart),
            ((alone // 4, alone % 4), forgets),
            ((worst // 4, worst % 4), "These are the least likely"),
            ((best % 4, best // 4), "Parents and tokens are swapped: parents first"),
            ((best, best % 4), f"{int(best[0])} is a place among K · V, no parent: divide by V"),
            ((best.flip(0) // 4, best.flip(0) % 4), "The best comes first: yours is the last"),
        )
