import torch


def sample_next(logits, temperature, generator):
    if temperature == 0:
        return logits.argmax().item()
    p = torch.softmax(logits / temperature, dim=-1)
    return torch.multinomial(p, 1, generator=generator).item()


def nucleus(p, top_p):
    ordered, ids = p.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered  # what the likelier ones have together
    kept = ordered.masked_fill(before >= top_p, 0)
    kept = torch.zeros_like(p).scatter(-1, ids, kept)
    return kept / kept.sum(dim=-1, keepdim=True)


@torch.no_grad()
def generate(model, ids, max_new_tokens, temperature=0.0, seed=0):
    generator, cache = torch.Generator().manual_seed(seed), model.new_cache()
    ids, fresh = list(ids), list(ids)
    for _ in range(max_new_tokens):
        logits = model(torch.tensor([fresh]), cache)[0, -1]
        fresh = [sample_next(logits, temperature, generator)]
        ids += fresh
    return ids
