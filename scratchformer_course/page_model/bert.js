// The BERT of chapter 13 in JavaScript, made of the parts of model.js.
//
// Names are those of scratchformer/models/bert.py. Three things differ from the GPT: no causal mask,
// norms behind each addition, and a head with a layer of its own.
// T: tokens, C: d_model, V: vocabulary.

course.define("bert", () => {
  const { load, newCache, softmax, parts } = course.model;
  const { norm, apply, add, attend } = parts;
  const [PAD, CLS, SEP, MASK] = [0, 1, 2, 3]; // the ids before those of the words
  const NO_MASK = { causal: true, heads: [] }; // the causal mask is off, and no head is

  // The error function to within 1.5e-7 (Abramowitz and Stegun, 7.1.26)
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
    const sum = factors.reduce((total, factor) => (total + factor) * t, 0);
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }

  const gelu = (x) => x.map((value) => 0.5 * value * (1 + erf(value / Math.SQRT2)));

  // ids and segments of T tokens -> the sum of three vectors for each, normalised: (T, C)
  function embed(model, ids, segments) {
    const { weights: w, config } = model;
    const C = config.d_model;
    const x = new Float32Array(ids.length * C);
    for (let t = 0; t < ids.length; t++) {
      for (let c = 0; c < C; c++) {
        const [id, segment] = [ids[t] * C + c, segments[t] * C + c];
        x[t * C + c] = w["wte.weight"][id] + w["wpe.weight"][t * C + c] + w["wse.weight"][segment];
      }
    }
    return norm(model, "ln_e", x, ids.length);
  }

  // ids and segments of T tokens -> logits (T, V) for what stands, or stood, at each place
  function forward(model, ids, segments) {
    const T = ids.length;
    const { n_layers, context_length: maxTokens } = model.config;
    if (T > maxTokens)
      throw new Error(`got ${T} tokens, expected at most context_length=${maxTokens}`);
    const cache = newCache(model); // empty: all tokens are new
    let x = embed(model, ids, segments);
    for (let i = 0; i < n_layers; i++) {
      const block = `h.${i}`;
      const { heads } = attend(model, i, x, ids, cache, NO_MASK);
      x = norm(model, `${block}.ln_1`, add(x, apply(model, `${block}.attn.c_proj`, heads, T)), T);
      const inner = gelu(apply(model, `${block}.mlp.c_fc`, x, T)); // (T, 4 C)
      x = norm(model, `${block}.ln_2`, add(x, apply(model, `${block}.mlp.c_proj`, inner, T)), T);
    }
    x = norm(model, "transform.2", gelu(apply(model, "transform.0", x, T)), T);
    return apply(model, "lm_head", x, T);
  }

  // Ids of one or two texts -> {ids, segments}, framed by [CLS] and [SEP]; a text without tokens is
  // none
  function row(...texts) {
    const kept = texts.filter((text) => text.length);
    const ids = [CLS, ...kept.flatMap((text) => [...text, SEP])];
    const first = (kept[0]?.length ?? 0) + 2; // [CLS], the first text and its [SEP]
    return { ids, segments: ids.map((_, t) => Number(t >= first)) };
  }

  // The gaps of a row: where each is, and a probability for each token that is a word
  function gaps(model, { ids, segments }) {
    const V = model.config.vocab_size;
    const logits = forward(model, ids, segments);
    return ids.flatMap((id, place) => {
      if (id !== MASK) return [];
      const wordLogits = Float64Array.from(logits.subarray(place * V, (place + 1) * V));
      return [{ place, p: softmax(wordLogits.fill(-Infinity, PAD, MASK + 1)) }];
    });
  }

  return { load, forward, row, gaps, MASK };
});
