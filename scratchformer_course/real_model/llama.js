// A Llama in JavaScript: SmolLM2 as it lies in its file, without PyTorch and without a library.
//
//   const file = await course.gguf.open(blob);
//   const tokenizer = course.tokenizer.load(course.vocabulary.describe(file.settings));
//   const model = await course.llama.load(file);
//   const { logits } = course.llama.forward(model, tokenizer.encode("The capital of France is"));
//
// What else it can be asked, and what can be changed meanwhile, is in changes.js. Names of weights are
// the file's. A matrix (rows, columns) is one array, row after row.
// T: new tokens, S: all so far, C: d_model, H: heads of queries, K: heads of keys and values,
// D: channels of a head, V: vocabulary.

course.define("llama", () => {
  const { softmax, probabilities, generator, pick } = course.model;
  const { dot, add, activate } = course.model.parts;

  // ---- from the file to a model ----

  // Names of Python's LlamaConfig -> the file's
  const SETTINGS = {
    context_length: "context_length",
    d_model: "embedding_length",
    n_layers: "block_count",
    n_heads: "attention.head_count",
    n_kv_heads: "attention.head_count_kv",
    d_ff: "feed_forward_length",
    rope_base: "rope.freq_base",
    norm_eps: "attention.layer_norm_rms_epsilon",
  };
  // How wide a head's keys are, its values, and what turns of them: all D
  const WIDTHS = ["attention.key_length", "attention.value_length", "rope.dimension_count"];

  function check(isRight, message) {
    if (!isRight) throw new Error(message);
  }
  const refuse = (isRight, why) => check(isRight, `The file is of another model: ${why}.`);

  /** @returns {any} */
  function configOf({ settings, tensors }) {
    const kind = settings["general.architecture"];
    refuse(kind === "llama", `its architecture is ${kind}, expected llama`);
    const known = [...Object.values(SETTINGS), ...WIDTHS, "vocab_size"];
    for (const name of Object.keys(settings)) {
      const isKnown = !name.startsWith("llama.") || known.includes(name.slice(6));
      refuse(isKnown, `it has the setting ${name}, which may change what is computed`);
    }
    const config = { vocab_size: tensors["token_embd.weight"]?.shape[0] };
    for (const [name, theirs] of Object.entries(SETTINGS)) {
      config[name] = settings[`llama.${theirs}`];
      refuse(config[name] > 0, `its ${theirs} is ${config[name]}`);
    }
    const { d_model, n_layers, n_heads: H, n_kv_heads: K } = config;
    const blocks = Object.keys(tensors).filter((name) => name.endsWith("attn_q.weight")).length;
    refuse(blocks === n_layers, `it has ${blocks} blocks, expected ${n_layers}`);
    const D = settings["llama.attention.key_length"] ?? d_model / H;
    const isAlike = WIDTHS.every((name) => (settings[`llama.${name}`] ?? D) === D);
    const fits = isAlike && D % 2 === 0 && H % K === 0;
    refuse(fits, `it has ${H} heads and ${K} of keys, of ${D} channels that do not all turn`);
    return { ...config, head_dim: D };
  }

  // Name of a tensor -> its shape, rows first
  function shapesOf({ vocab_size, d_model: C, d_ff, n_heads, n_kv_heads, n_layers, head_dim: D }) {
    const [queries, keys] = [n_heads * D, n_kv_heads * D];
    const block = { attn_norm: [C], attn_q: [queries, C], attn_k: [keys, C], attn_v: [keys, C] };
    const network = { ffn_norm: [C], ffn_gate: [d_ff, C], ffn_up: [d_ff, C], ffn_down: [C, d_ff] };
    const parts = Object.entries({ ...block, attn_output: [C, queries], ...network });
    const shapes = { "token_embd.weight": [vocab_size, C], "output_norm.weight": [C] };
    for (let i = 0; i < n_layers; i++) {
      for (const [part, shape] of parts) shapes[`blk.${i}.${part}.weight`] = shape;
    }
    return shapes;
  }

  // A file of gguf.js -> a model; `isPlain`: without WebAssembly
  async function load(file, isPlain = false) {
    const { tensors } = file;
    const config = configOf(file);
    const shapes = shapesOf(config);
    let head = "token_embd.weight"; // a token is read and written with the same vector, or
    if ("output.weight" in tensors) head = "output.weight";
    shapes[head] = shapes["token_embd.weight"];
    for (const name of new Set([...Object.keys(shapes), ...Object.keys(tensors)])) {
      const { shape = "missing", bits = 0 } = tensors[name] ?? {};
      const wanted = shapes[name] ?? "no such tensor";
      refuse(`${shape}` === `${wanted}`, `${name} is ${shape}, expected ${wanted}`);
      const isPacked = shape.length === 1 ? bits === 32 : bits < 32 && shape[1] % 32 === 0;
      refuse(isPacked, `${name} is not packed as Q4_1 or Q8_0, or, if a vector, as F32`);
    }
    const matrices = Object.entries(tensors).filter(([name]) => shapes[name].length === 2);
    const store = course.packed.create(matrices, isPlain);
    const model = { config, store, vectors: {}, head };
    await fill(model, file);
    return model;
  }

  // The file's weights, one tensor after the other, so that they are in memory once. vectors: the
  // weights of the norms, (C) each
  async function fill({ store, vectors }, { blob, tensors }) {
    for (const [name, { shape, start, end }] of Object.entries(tensors)) {
      const view = new DataView(await blob.slice(start, end).arrayBuffer());
      if (shape.length === 2) course.packed.fill(store, name, view);
      else {
        const weight = new Float32Array(shape[0]);
        vectors[name] = weight.map((_, i) => view.getFloat32(4 * i, true));
        refuse(vectors[name].every(Number.isFinite), `${name} has weights that are no numbers`);
      }
    }
  }

  // ---- the parts ----

  // x Wᵀ, x (T, columns) -> (T, rows). A weight that is set changes one sum of each token
  function apply({ store }, name, x, plan) {
    const y = course.packed.product(store, name, x);
    const { rows, columns } = store.matrices[name];
    for (const { row, column, value } of plan.weightsOf(name)) {
      const more = value - course.packed.rowOf(store, name, row)[column];
      for (let t = 0; t < x.length / columns; t++)
        y[t * rows + row] += more * x[t * columns + column];
    }
    return y;
  }

  // RMSNorm: each row / √(mean of its squares + eps), times a weight for each channel
  function norm({ config, vectors }, name, x, plan) {
    const C = config.d_model;
    const weight = Float32Array.from(vectors[name]);
    for (const { column, value } of plan.weightsOf(name)) weight[column] = value;
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += C) {
      let mean = 0; // which GPT-2's norm takes away
      if (plan.has("norm")) for (let c = 0; c < C; c++) mean += x[start + c] / C;
      let squares = 0;
      for (let c = 0; c < C; c++) squares += (x[start + c] - mean) ** 2;
      const scale = 1 / Math.sqrt(squares / C + config.norm_eps);
      for (let c = 0; c < C; c++) y[start + c] = (x[start + c] - mean) * scale * weight[c];
    }
    return y;
  }

  // In each head of x, T rows from the place `first` on, pair i turns by place · base^(-2i / D). The
  // file has pairs side by side. PyTorch's class has their halves apart: its channel c < D/2 is the
  // file's 2c, and its c + D/2 the file's 2c + 1. Pairs of neighbours there are others here.
  function rotate(x, T, { head_dim: D, rope_base }, first, plan) {
    const round = plan.has("angles") ? Math.fround : (n) => n;
    const base = plan.has("base") ? 10000 : rope_base;
    const fileOf = (c) => (c < D / 2 ? 2 * c : 2 * c - D + 1);
    for (let i = 0; i < D / 2; i++) {
      const [a, b] = plan.has("pairs") ? [fileOf(2 * i), fileOf(2 * i + 1)] : [2 * i, 2 * i + 1];
      const speed = round(base ** ((-2 * i) / D));
      for (let start = 0; start < x.length; start += D) {
        const angle = round(round(first + Math.floor((start * T) / x.length)) * speed);
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        const [one, other] = [x[start + a], x[start + b]];
        x[start + a] = one * cos - other * sin;
        x[start + b] = other * cos + one * sin;
      }
    }
    return x;
  }

  // The tokens read so far, and in each block their keys and values, (S, K D), with room for more. To
  // go back to the first n of them, set ids.length = n.
  function newCache({ config: { n_layers } }) {
    const empty = () => Array.from({ length: n_layers }, () => new Float32Array(0));
    return { ids: [], k: empty(), v: empty() };
  }

  // An array with `rows` after the first `used` numbers; a longer one if there is no room
  function append(array, used, rows) {
    const needed = used + rows.length;
    const longer = array.length < needed ? new Float32Array(Math.ceil(1.25 * needed)) : array;
    if (longer !== array) longer.set(array.subarray(0, used));
    longer.set(rows, used);
    return longer;
  }

  // The sum of vectors (D), each times its weight: they begin at `first`, and each is `step` after the last.
  // Four at a time, so that each sum is read and written once for the four
  function mixed(weights, v, first, step, D) {
    const sum = new Float64Array(D);
    let s = 0;
    for (; s + 3 < weights.length; s += 4) {
      const [w0, w1, w2, w3] = [weights[s], weights[s + 1], weights[s + 2], weights[s + 3]];
      const from = first + s * step;
      for (let i = from; i < from + D; i++) {
        sum[i - from] += w0 * v[i] + w1 * v[i + step] + w2 * v[i + 2 * step] + w3 * v[i + 3 * step];
      }
    }
    for (; s < weights.length; s++) {
      for (let d = 0; d < D; d++) sum[d] += weights[s] * v[first + s * step + d];
    }
    return sum;
  }

  // What the heads of a block find, side by side: x (T, C) -> (T, H D). Each token asks itself and its
  // past. H / K neighbouring heads share keys and values.
  function attend(model, block, x, cache, plan) {
    const { d_model: C, n_heads: H, n_kv_heads: K, head_dim: D } = model.config;
    const [T, old, i] = [x.length / C, cache.ids.length, block - 1];
    const project = (part) => apply(model, `blk.${i}.attn_${part}.weight`, x, plan);
    const [ofQueries, ofKeys] = plan.starts.map((start) => start + old);
    const q = rotate(project("q"), T, model.config, ofQueries, plan); // (T, H D)
    const newKeys = rotate(project("k"), T, model.config, ofKeys, plan); // (T, K D)
    cache.k[i] = append(cache.k[i], old * K * D, newKeys);
    cache.v[i] = append(cache.v[i], old * K * D, project("v"));
    const [k, v] = [cache.k[i], cache.v[i]]; // (S, K D)
    const found = new Float32Array(T * H * D);
    for (let h = 0; h < H; h++) {
      const shared = (((h * K) / H) | 0) * D; // where a row has this head's keys and values
      for (let t = 0; t < T; t++) {
        const to = (t * H + h) * D;
        const scores = new Float64Array(old + t + 1);
        for (let s = 0; s < scores.length; s++) {
          scores[s] = dot(q, to, k, s * K * D + shared, D) / Math.sqrt(D);
        }
        const weights = softmax(scores);
        found.set(mixed(weights, v, shared, K * D, D), to);
        plan.sawWeights(block, h + 1, t, weights);
      }
    }
    plan.sawFound(block, found);
    return found;
  }

  // SwiGLU's hidden layer, silu(gate(x)) · up(x): x (T, C) -> (T, d_ff)
  function hidden(model, block, x, plan) {
    const gate = apply(model, `blk.${block - 1}.ffn_gate.weight`, x, plan);
    const up = apply(model, `blk.${block - 1}.ffn_up.weight`, x, plan);
    const silu = (z) => z / (1 + Math.exp(-z));
    const gelu = (z) => activate("gelu", z); // as in Gemma
    const open = plan.has("gate") ? gelu : silu;
    return up.map((value, i) => open(gate[i]) * value);
  }

  // The vectors of these tokens: (T, C)
  function embed({ config: { d_model: C }, store }, ids, plan) {
    const x = new Float32Array(ids.length * C);
    const set = plan.weightsOf("token_embd.weight");
    for (const [t, id] of ids.entries()) {
      x.set(course.packed.rowOf(store, "token_embd.weight", id), t * C);
      for (const { row, column, value } of set) if (row === id) x[t * C + column] = value;
    }
    return x;
  }

  // The last norm and the head: x (T, C) -> logits (T, V)
  const toLogits = (model, x, plan) =>
    apply(model, model.head, norm(model, "output_norm.weight", x, plan), plan);

  // ---- the model ----

  // ids of T tokens, which follow those of `cache` -> {logits, …answers}: logits (V) for the token
  // after the last. A cache keeps what was read under the changes of that time.
  /** @type {(model: any, ids: number[], options?: any) => any} */
  function forward(model, ids, { cache = newCache(model), change, ask } = {}) {
    checkIds(model, ids, cache);
    const plan = course.changes.plan(model, { change, ask }, cache.ids.length, ids.length);
    const C = model.config.d_model;
    let x = embed(model, ids, plan); // (T, C)
    plan.sawStream(0, x);
    for (let block = 1; block <= model.config.n_layers; block++) {
      const name = `blk.${block - 1}`;
      let y = norm(model, `${name}.attn_norm.weight`, x, plan);
      y = apply(model, `${name}.attn_output.weight`, attend(model, block, y, cache, plan), plan);
      const middle = add(x, y);
      y = hidden(model, block, norm(model, `${name}.ffn_norm.weight`, middle, plan), plan);
      y = apply(model, `${name}.ffn_down.weight`, y, plan);
      if (!plan.isSilent(block)) x = add(middle, y); // a silent one has filled its cache
      plan.sawStream(block, x);
    }
    cache.ids.push(...ids);
    const last = plan.wantsAll ? x : x.slice(-C);
    return { logits: toLogits(model, last, plan), ...plan.answers };
  }

  // The stream after any block, (T, C) -> logits (T, V), as after the last
  /** @type {(model: any, x: Float32Array, change?: any) => Float32Array} */
  const readOut = (model, x, change) => toLogits(model, x, course.changes.plan(model, { change }));

  // New tokens after `ids`, until the context is full: {id, p, …what forward gives}, of which p are
  // the probabilities that the id was drawn from. Settings are seed, change, ask, and the rules
  // temperature, top_k, top_p, min_p and repetition_penalty, which makes the logits of tokens that occurred
  // smaller; those given to next(settings) hold from there on.
  /** @type {(model: any, ids: number[], options?: any) => Generator<any, void, any>} */
  function* generate(model, ids, { cache = newCache(model), seed = 0, ...settings } = {}) {
    const random = generator(seed);
    for (let read = ids; ; ) {
      const { change, ask, repetition_penalty: penalty = 1, ...rules } = settings;
      const run = forward(model, read, { cache, change, ask });
      const logits = run.logits.slice(-model.config.vocab_size);
      for (const id of new Set(penalty === 1 ? [] : cache.ids)) {
        logits[id] = logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty;
      }
      const p = probabilities(logits, rules);
      read = [pick(p, random())];
      Object.assign(settings, yield { id: read[0], p, ...run });
      if (cache.ids.length === model.config.context_length) return;
    }
  }

  function checkIds({ config: { vocab_size, context_length: most } }, ids, cache) {
    const wrong = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocab_size);
    const S = cache.ids.length + ids.length;
    check(ids.length > 0, "got no token, expected at least one");
    check(wrong === undefined, `id ${wrong} is not one of ${vocab_size} tokens`);
    check(S <= most, `got ${S} tokens, expected at most context_length=${most}`);
  }

  return { load, fill, newCache, forward, readOut, generate };
});
