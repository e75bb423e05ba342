"""Wrong answers that the usual cases let pass, as edits of the right ones, by exercise."""

DROPS = " -> nn.functional.dropout({}, 0.1, self.training)"
WRONG = {
    "matrix_product": ["in range(len(a)) -> in range(min(8, len(a)))"],
    "pairs_of": ["i + window + 1 -> i + min(window, 5) + 1"],
    "merge_pair": [
        "word[i : i + 2] == pair -> word[i + 1 :] and word[i] + word[i + 1] == pair[0] + pair[1]",
        "word[i] + word[i + 1] -> ''.join(word[i : i + 2])",
        "word[i : i + 2] == pair -> word[i : i + 2] == pair and word[i + 1 : i + 3] != pair",
    ],
    "nearest": [
        "similar[i] = -2 -> similar[i] = -2; similar[16:] = -2",
        "similar[i] = -2 -> pass\n"
        "topk(k).indices -> sort(descending=True, stable=True).indices[1 : k + 1]",
    ],
    "sinusoidal": ["pairs.flatten(1) -> pairs.flatten(1).bfloat16()"],
    "cross_entropy": ["logits.max(dim=1, keepdim=True).values -> logits.max()"],
    "nats_back": ["grad * p -> (grad * p).half().float()"],
    "masked_softmax": ["-math.inf -> -1e9"],
    "fading_scores": ["- torch.arange(T) -> - torch.arange(T); back = back.clamp(max=8)"],
    "attention": [
        "mask=None -> mask",
        "weights @ v, weights -> weights @ v, weights.detach()",
        "-math.inf -> -1e9",
        "masked_fill(~mask, -> masked_fill((~mask) | (scores == 0),",
    ],
    "MultiHeadAttention": [f"heads.reshape(x.shape){DROPS.format('heads.reshape(x.shape)')}"],
    "split_heads": [
        "x.view(B, T, n_heads, C // n_heads) -> "
        "x.as_strided((B, T, n_heads, C // n_heads), (T * C, C, C // n_heads, 1))"
    ],
    "meets_at": ["a * c + b * d -> abs(a * c + b * d)", "angle / speed -> round(angle / speed)"],
    "rotary": ["outer(positions, -> outer(positions.bfloat16().float(),"],
    "attend": ["positions)  # (T, D) -> positions % 100)"],
    "two_rules": ["[1.0, 0.0, 1.0] -> [1.0, -0.5, 1.0]"],
    "layer_norm": ["variance + eps -> variance.detach() + eps"],
    "TransformerBlock": [
        f"self.ln_2(x){DROPS.format('self.ln_2(x)')}",
        "mask=mask -> mask=None if mask is None else causal_mask(x.shape[1])",
    ],
    "bigram_counts": [
        "ids[:-1] * vocab_size -> (ids[:-1] * vocab_size).short()",
        ".float() -> .short().float()",
        ".float() -> .half()",
    ],
    "GPT": ["std=0.02) -> std=0.02 if p.shape[0] != d_model else 0.01)"],
    "only_the_king": ["= 12 -> = 1200\n-30.0 -> -3590.0"],
    "no_repeat": [
        "range(len(ids) - n + 1) -> range(max(0, len(ids) - 40), len(ids) - n + 1)",
        "logits.clone() -> logits",
    ],
    "cached_step": ["q @ keys.T -> q @ keys[-9:].T\n@ values, -> @ values[-9:],"],
    "spoken_at": ["mean(dim=0) -> amax(dim=0)", "+ 0.5) * 0.02 -> + 0.45) * 0.02"],
    "gpt_parameters": [
        "return (vocab -> from ctypes import c_float; return int(c_float((vocab\n"
        "+ 2 * C -> + 2 * C).value)"
    ],
    "find_floor": [
        ".sum() -> .sum().round(3)",
        "min(floors -> min([E for E in floors if E] or floors",
    ],
    "best_size": ["law(N, operations / (6 * N))) -> abs(law(N, operations / (6 * N))))"],
    "smear": ["x.clone() -> x.detach().clone()", "enumerate(matrices, -> enumerate(matrices[:6],"],
    "rms_norm": [
        "x.float() -> x.detach().float()",
        "weight * (wide -> (weight.float() * wide",
    ],
    "top_two": [
        "p.topk(2).indices -> p[:, :16].topk(2).indices",
        "kept.sum(dim=-1, keepdim=True) -> kept.sum(dim=-1, keepdim=True).half().float()",
    ],
    "accepted": [
        "in enumerate(draft) -> in enumerate(draft[:8])\nlen(draft), -> len(draft[:8]),",
        ">= p[i, token] -> > p[i, token]",
    ],
    "future_changes_nothing": [
        "logits = model(ids) -> ids = ids[:1]; logits = model(ids)",
        "(beginning - logits[:, :t]) -> (beginning - logits[:, :t]).sum(-1)",
        "beginning - logits[:, :t] -> beginning.softmax(-1) - logits[:, :t].softmax(-1)",
    ],
    "cache_difference": [
        "model(ids) -> model(ids, model.new_cache())",
        "(both[0] - both[1]).abs() -> (both[0] - both[1])",
        "(both[0] - both[1]).abs() -> (both[0] - both[1])[:, 1:].abs()",
        "return -> return 0.0 if both[0].argmax(-1).equal(both[1].argmax(-1)) else",
    ],
}
