// The GPT of this course once more, in JavaScript: no PyTorch, no library.
//
// It runs weights that PyTorch trained, in a browser or in Node, to the same logits.
// Names are those of scratchformer_course/page_model/speedrun.py.
// A matrix (rows, columns) is one Float32Array, and entry (i, j) is m[i * columns + j].
// T: new tokens, S: all so far, C: d_model, H: heads, D: C / H, V: vocabulary.

course.define("model", () => {
  // ---- from the exported description to a model ----

  // sign, 5 bits of exponent, 10 bits of fraction -> a number
  function float16(bits) {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const part = (bits & 1023) / 1024;
    return sign * (exponent ? (1 + part) * 2 ** (exponent - 15) : part / 2 ** 14);
  }

  // A description of Python -> {config, weights: name -> Float32Array}. In 8 bits
  // the scales of a matrix's rows stand before its whole numbers.
  function load({ config, tensors, weights: base64, bits = 16 }) {
    const text = atob(base64);
    const weights = {};
    let n = 0; // bytes read so far
    const byte = () => text.charCodeAt(n++);
    const half = () => float16(byte() | (byte() << 8));
    const signed = () => (byte() << 24) >> 24; // -128 to 127
    for (const { name, shape } of tensors) {
      const tensor = new Float32Array(shape.reduce((a, b) => a * b));
      const columns = tensor.length / shape[0];
      if (bits === 16 || shape.length === 1) weights[name] = tensor.map(half);
      else {
        const scales = Float32Array.from({ length: shape[0] }, half);
        weights[name] = tensor.map(
          (_, i) => scales[Math.floor(i / columns)] * signed(),
        );
      }
    }
    if (n !== text.length) {
      throw new Error(`got ${text.length} bytes of weights, expected ${n}`);
    }
    weights["lm_head.weight"] ??= weights["wte.weight"]; // tied
    return { config, weights };
  }

  // ---- the parts ----

  // The dot product of `length` numbers, from a[i] and from b[j] on.
  function dot(a, i, b, j, length) {
    let even = 0; // two sums are quicker than one
    let odd = 0;
    let n = 0;
    for (; n + 1 < length; n += 2) {
      even += a[i + n] * b[j + n];
      odd += a[i + n + 1] * b[j + n + 1];
    }
    return even + odd + (n < length ? a[i + n] * b[j + n] : 0);
  }

  // x Wᵀ + b: x (T, inputs), weight (outputs, inputs), bias (outputs) or none ->
  // (T, outputs). Four outputs at a time: each x is read once for the four.
  // `| 0`: whole numbers are faster.
  function linear(x, T, weight, bias) {
    const inputs = (x.length / T) | 0;
    const outputs = (weight.length / inputs) | 0;
    const y = new Float32Array(T * outputs);
    for (let t = 0; t < T; t++) {
      const start = t * inputs;
      let o = 0;
      for (; o + 3 < outputs; o += 4) {
        const a = o * inputs;
        const b = a + inputs;
        const c = b + inputs;
        const d = c + inputs;
        let [sumA, sumB, sumC, sumD] = [0, 0, 0, 0];
        for (let i = 0; i < inputs; i++) {
          const value = x[start + i];
          sumA += value * weight[a + i];
          sumB += value * weight[b + i];
          sumC += value * weight[c + i];
          sumD += value * weight[d + i];
        }
        const to = t * outputs + o;
        y[to] = sumA;
        y[to + 1] = sumB;
        y[to + 2] = sumC;
        y[to + 3] = sumD;
      }
      for (; o < outputs; o++) {
        y[t * outputs + o] = dot(x, start, weight, o * inputs, inputs);
      }
      if (bias) for (o = 0; o < outputs; o++) y[t * outputs + o] += bias[o];
    }
    return y;
  }

  // Each row to mean 0 and variance 1; times weight, plus bias, if there are any
  function layerNorm(x, rows, weight, bias, epsilon = 1e-5) {
    const width = (x.length / rows) | 0;
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += width) {
      let mean = 0;
      let variance = 0;
      const row = x.subarray(start, start + width); // no copy
      for (const value of row) mean += value / width;
      for (const value of row) variance += (value - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(variance + epsilon);
      for (let c = 0; c < width; c++) {
        const value = (row[c] - mean) * scale * (weight ? weight[c] : 1);
        y[start + c] = value + (bias ? bias[c] : 0);
      }
    }
    return y;
  }

  // The norm, or the linear layer, of this name
  const norm = ({ weights: w, config }, name, x, T) =>
    layerNorm(x, T, w[`${name}.weight`], w[`${name}.bias`], config.epsilon);
  const apply = ({ weights: w }, name, x, T) =>
    linear(x, T, w[`${name}.weight`], w[`${name}.bias`]);

  function add(a, b) {
    const sum = new Float32Array(a.length);
    for (let i = 0; i < a.length; i++) sum[i] = a[i] + b[i];
    return sum;
  }

  function activate(kind, x) {
    if (kind === "relu2") return Math.max(0, x) ** 2;
    const inner = Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
    return 0.5 * x * (1 + Math.tanh(inner)); // GELU
  }

  // Scores -> weights that sum to 1, in place: `length` of them, from `start` on
  function softmax(scores, start = 0, length = scores.length, scale = 1) {
    const end = start + length;
    let largest = -Infinity;
    let sum = 0;
    for (let s = start; s < end; s++) largest = Math.max(largest, scores[s]);
    for (let s = start; s < end; s++) {
      const weight = Math.exp(scale * (scores[s] - largest));
      scores[s] = weight;
      sum += weight;
    }
    for (let s = start; s < end; s++) scores[s] /= sum;
    return scores;
  }

  // Channels 2i and 2i + 1 of each head turn by place · 10000^(-2i / D)
  function rotary(x, C, D, old) {
    const y = new Float32Array(x.length);
    for (let n = 0; n < x.length; n += 2) {
      const angle = (old + Math.floor(n / C)) * 10000 ** (-(n % D) / D);
      const cos = Math.cos(angle);
      const sin = Math.sin(angle);
      y[n] = x[n] * cos - x[n + 1] * sin;
      y[n + 1] = x[n] * sin + x[n + 1] * cos;
    }
    return y;
  }

  // ---- the model ----

  // The tokens read so far; their keys and values, (context_length, C) in each layer
  function newCache({ config: { n_layers, context_length, d_model } }) {
    const buffer = () => new Float32Array(context_length * d_model);
    const buffers = () => Array.from({ length: n_layers }, buffer);
    return { ids: [], k: buffers(), v: buffers() };
  }

  // What the first block reads: ids, new from `old` on -> (T, C)
  function embed(model, ids, old, off) {
    const { config, weights } = model;
    const { d_model: C, vocab_size: V } = config;
    const first = Math.max(0, old - config.smear);
    const rows = ids.length - first;
    const pairs = weights["bigrams.table.weight"];
    let x = new Float32Array(rows * C);
    for (let r = 0; r < rows; r++) {
      const id = ids[first + r];
      const pair = (ids[first + r - 1] ?? 0) * V + id;
      for (let c = 0; c < C; c++) {
        x[r * C + c] = weights["wte.weight"][id * C + c];
        if (pairs) x[r * C + c] += pairs[(pair % config.bigram_rows) * C + c];
      }
    }
    if (config.embedding_norm) x = norm(model, "ln_e", x, rows);
    let mixed = x; // with the last tokens: x(t) + Σ W_k x(t - k)
    for (let k = 1; k <= config.smear && k < rows; k++) {
      const earlier = x.subarray(0, (rows - k) * C);
      const back = apply(model, `smear.back.${k - 1}`, earlier, rows - k);
      mixed = mixed.map((value, i) => value + (i < k * C ? 0 : back[i - k * C]));
    }
    x = mixed.slice((old - first) * C);
    if (config.positions !== "learned" || off.positions) return x;
    return add(x, weights["wpe.weight"].subarray(old * C));
  }

  // Each new token asks all that it may see: x (T, C) -> heads side by side, (T, C),
  // and weights, (H, T, S). The cache gets the new tokens' keys and values.
  function attend(model, i, x, ids, cache, off, hook) {
    const { config } = model;
    const { d_model: C, n_heads: H } = config;
    const D = (C / H) | 0;
    const T = (x.length / C) | 0;
    const old = cache.ids.length;
    const S = old + T;
    const name = `h.${i}.attn`;
    const qkv = apply(model, `${name}.c_attn`, x, T); // (T, 3 C)
    let [q, k, v] = [0, 1, 2].map((part) => {
      const rows = new Float32Array(T * C);
      for (let t = 0; t < T; t++) {
        rows.set(qkv.subarray((3 * t + part) * C, (3 * t + part + 1) * C), t * C);
      }
      return rows; // (T, C): head h is in the channels h D to (h + 1) D
    });
    if (config.value_embeddings) {
      const table = model.weights[`values.${i}.weight`]; // (V, C)
      const at = (n) => ids[Math.floor(n / C)] * C + (n % C);
      v = v.map((value, n) => value + table[at(n)]);
    }
    if (config.qk_norm) [q, k] = [q, k].map((rows) => layerNorm(rows, T * H));
    if (config.positions === "rotary" && !off.positions) {
      [q, k] = [q, k].map((rows) => rotary(rows, C, D, old));
    }
    cache.k[i].set(k, old * C);
    cache.v[i].set(v, old * C);
    [k, v] = [cache.k, cache.v].map((all) => all[i].subarray(0, S * C)); // (S, C)
    hook?.(`${name}.q`, q);
    hook?.(`${name}.k`, k);
    hook?.(`${name}.v`, v);

    const heads = new Float32Array(T * C);
    const weights = new Float32Array(H * T * S);
    const scale = off.scale ? 1 : 1 / Math.sqrt(D);
    for (let h = 0; h < H; h++) {
      for (let t = 0; t < T; t++) {
        const seen = off.causal ? S : old + t + 1; // itself and its past
        const scores = new Float64Array(seen);
        const to = t * C + h * D; // where the head's channels of token t begin
        for (let s = 0; s < seen; s++) {
          scores[s] = dot(q, to, k, s * C + h * D, D) * scale;
        }
        const row = softmax(scores);
        weights.set(row, (h * T + t) * S);
        if (off.heads.some(([b, n]) => b === i && n === h)) continue; // zeros
        for (let s = 0; s < seen; s++) {
          const weight = row[s];
          const from = s * C + h * D;
          for (let d = 0; d < D; d++) heads[to + d] += weight * v[from + d];
        }
      }
    }
    hook?.(`${name}.heads`, heads);
    return { heads, weights };
  }

  // ids of T tokens -> logits (T, V): those at t are for the token after it. Also
  // each layer's attention, (H, T, S), and the stream x (T, C) before the first and
  // after each block. cache, of newCache, holds the tokens before `ids`. hook(name,
  // array) sees q, k, v, heads and x, and may change them. off: {heads: [[layer,
  // head]], blocks: [layer], positions, scale (the division by √D), causal (the mask)}.
  /** @type {(model: any, ids: number[], options?: any) => any} */
  function forward(model, ids, { cache = newCache(model), off = {}, hook } = {}) {
    off = checkedOff(model, off);
    checkIds(model, ids, cache, off);
    const T = ids.length;
    const attention = [];
    let x = embed(model, [...cache.ids, ...ids], cache.ids.length, off);
    hook?.("embedding", x);
    const stream = [x];
    for (let i = 0; i < model.config.n_layers; i++) {
      const block = `h.${i}`;
      if (off.blocks.includes(i)) attention.push(null);
      else {
        let y = norm(model, `${block}.ln_1`, x, T);
        const { heads, weights } = attend(model, i, y, ids, cache, off, hook);
        x = add(x, apply(model, `${block}.attn.c_proj`, heads, T));
        y = norm(model, `${block}.ln_2`, x, T);
        y = apply(model, `${block}.mlp.c_fc`, y, T); // (T, 4 C)
        y = y.map((value) => activate(model.config.activation, value));
        x = add(x, apply(model, `${block}.mlp.c_proj`, y, T));
        attention.push(weights);
      }
      hook?.(block, x);
      stream.push(x);
    }
    cache.ids.push(...ids);
    return { logits: readOut(model, x), attention, stream };
  }

  // The last norm and the head: the stream of any layer, (T, C) -> logits (T, V)
  function readOut(model, x) {
    const T = x.length / model.config.d_model;
    return apply(model, "lm_head", norm(model, "ln_f", x, T), T);
  }

  const isBelow = (n, limit) => Number.isInteger(n) && n >= 0 && n < limit;
  function check(isRight, message) {
    if (!isRight) throw new Error(message);
  }

  // `off` with its lists, which may be empty
  function checkedOff({ config: { n_layers, n_heads } }, off) {
    const names = ["heads", "blocks", "positions", "scale", "causal"];
    const unknown = Object.keys(off).find((name) => !names.includes(name));
    check(
      unknown === undefined,
      `off has ${unknown}, expected ${names.join(", ")}`,
    );
    const all = { heads: [], blocks: [], ...off };
    const named = [...all.heads, ...all.blocks.map((block) => [block, 0])];
    for (const [block, head] of named) {
      const exists = isBelow(block, n_layers) && isBelow(head, n_heads);
      check(exists, `off has block ${block}, head ${head}: there is none`);
    }
    return all;
  }

  function checkIds({ config }, ids, cache, off) {
    const { vocab_size, context_length: most } = config;
    const old = cache.ids.length;
    const S = old + ids.length;
    const wrong = ids.find((id) => !isBelow(id, vocab_size));
    check(ids.length > 0, "got no token, expected at least one");
    check(wrong === undefined, `id ${wrong} is not one of ${vocab_size} tokens`);
    check(S <= most, `got ${S} tokens, expected at most context_length=${most}`);
    check(
      !off.causal || !old,
      "got a cache without the causal mask: old tokens would change",
    );
  }

  // ---- text ----

  // -ln of the probability that each token got from those before it: T - 1 numbers
  function losses(logits, ids) {
    const V = logits.length / ids.length;
    return ids.slice(1).map((id, t) => {
      const p = softmax(Float64Array.from(logits.subarray(t * V, (t + 1) * V)));
      return -Math.log(p[id]);
    });
  }

  // Logits (V) -> probabilities; a temperature of 0 gives all to the likeliest token.
  // top_k keeps the k likeliest, then top_p the fewest that reach p together. min_p keeps those that
  // have at least this share of the likeliest one's probability.
  function probabilities(logits, rules = {}) {
    const { temperature = 1, top_k = null, top_p = null, min_p = 0 } = rules;
    check(temperature >= 0, `temperature=${temperature}, expected 0 or more`);
    check((top_k ?? 1) >= 1, `top_k=${top_k}, expected at least 1`);
    const pFits = (top_p ?? 1) > 0 && (top_p ?? 1) <= 1;
    check(pFits, `top_p=${top_p}, expected 0 < top_p <= 1`);
    const p = new Float64Array(logits.length);
    const largest = logits.reduce((a, b) => Math.max(a, b)); // any temperature may divide 0
    if (temperature === 0) {
      p[logits.indexOf(largest)] = 1;
      return p;
    }
    for (const id of p.keys()) p[id] = (logits[id] - largest) / temperature;
    softmax(p);
    if (top_k === null && (top_p ?? 1) === 1 && min_p === 0) return p;
    const likeliest = p.slice().sort().reverse(); // their probabilities
    const order = likeliest.subarray(0, top_k ?? p.length);
    const together = order.reduce((sum, value) => sum + value, 0);
    let before = 0; // what the likelier ones hold
    let n = 0;
    for (const value of order) {
      if (value < min_p * order[0]) break;
      if ((top_p ?? 1) < 1 && before > 0 && before >= top_p * together) break;
      before += value;
      n++;
    }
    const least = likeliest[n - 1]; // of equally likely ones the first are kept
    let equal = n - p.reduce((above, value) => above + Number(value > least), 0);
    const isKept = (value) => value > least || (value === least && equal-- > 0);
    return p.map((value) => (isKept(value) ? value / before : 0));
  }

  // A seed -> a function that draws from 0 to 1, always the same (mulberry32)
  function generator(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let n = Math.imul(seed ^ (seed >>> 15), seed | 1);
      n ^= n + Math.imul(n ^ (n >>> 7), n | 61);
      return ((n ^ (n >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  // The token on whose stretch of the line from 0 to 1 the number u falls
  function pick(p, u) {
    let sum = 0;
    const id = p.findIndex((value) => {
      sum += value;
      return u < sum;
    });
    return id >= 0 ? id : p.findLastIndex((value) => value > 0); // sum just below 1
  }

  /** @type {ModelScript["generate"]} */
  // New ids after `ids`, without end. While all fit, the cache saves reading them
  // again; after that the last context_length are read, each at a new place.
  function* generate(model, ids, { seed = 0, off = {}, ...rules } = {}) {
    const random = generator(seed);
    const { context_length, vocab_size } = model.config;
    const cache = off.causal ? null : newCache(model);
    for (ids = [...ids]; ; ) {
      const { logits } =
        cache && ids.length <= context_length
          ? forward(model, ids.slice(cache.ids.length), { cache, off })
          : forward(model, ids.slice(-context_length), { off });
      ids.push(pick(probabilities(logits.slice(-vocab_size), rules), random()));
      yield ids.at(-1);
    }
  }

  const parts = { dot, norm, apply, add, attend, activate };
  const text = { softmax, losses, probabilities, generator, pick, generate };
  return { load, newCache, forward, readOut, parts, ...text };
});
