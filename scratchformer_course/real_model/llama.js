// A Llama in JavaScript: SmolLM2 as it lies in its file, without PyTorch and without a library.
//
//   const file = course.gguf.read(buffer);
//   const tokenizer = course.tokenizer.load(course.gguf.tokenizerOf(file));
//   const model = course.llama.load(file);
//   const { logits } = course.llama.forward(model, tokenizer.encode("The capital of France is"));
//
// Blocks and heads are counted from 1, as on the pages; names of weights are the file's.
// T: new tokens, S: all so far, C: d_model, H: heads of queries, K: heads of keys and values,
// D: channels of a head, V: vocabulary. A matrix (rows, columns) is one array, row after row.

course.define("llama", () => {
  const { softmax, probabilities, generator, pick, parts } = course.model;

  // ---- from the file to a model ----

  // Names as in Python's LlamaConfig, and the file's
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
  // How wide a head's keys, its values and what turns of it are: here, D
  const WIDTHS = ["attention.key_length", "attention.value_length", "rope.dimension_count"];
  const OTHERS = ["vocab_size"]; // which the table tells

  function check(isRight, message) {
    if (!isRight) throw new Error(message);
  }
  const refuse = (isRight, why) => check(isRight, `The file is of another model: ${why}.`);

  function configOf({ settings, tensors }) {
    const kind = settings["general.architecture"];
    refuse(kind === "llama", `its architecture is ${kind}, expected llama`);
    const known = [...Object.values(SETTINGS), ...WIDTHS, ...OTHERS].map((name) => `llama.${name}`);
    const other = Object.keys(settings).find(
      (name) => name.startsWith("llama.") && !known.includes(name),
    );
    refuse(!other, `it has the setting ${other}, which may change what is computed`);
    const config = { vocab_size: tensors["token_embd.weight"]?.shape[0] };
    for (const [name, theirs] of Object.entries(SETTINGS)) {
      config[name] = settings[`llama.${theirs}`];
      refuse(config[name] > 0, `its ${theirs} is ${config[name]}`);
    }
    const { d_model, n_layers, n_heads, n_kv_heads } = config;
    const blocks = Object.keys(tensors).filter((name) => name.endsWith("attn_q.weight")).length;
    refuse(blocks === n_layers, `it has ${blocks} blocks, expected ${n_layers}`);
    config.head_dim = settings["llama.attention.key_length"] ?? d_model / n_heads;
    const isWhole = config.head_dim % 2 === 0 && n_heads % n_kv_heads === 0;
    refuse(isWhole, `${n_heads} heads of ${config.head_dim} channels share ${n_kv_heads} keys`);
    for (const name of WIDTHS) {
      const width = settings[`llama.${name}`] ?? config.head_dim;
      refuse(width === config.head_dim, `its ${name} is ${width}, expected ${config.head_dim}`);
    }
    return config;
  }

  // Name of a tensor -> its shape, rows first
  function shapesOf({ config, isTied }) {
    const { vocab_size: V, d_model: C, d_ff, n_heads, n_kv_heads, n_layers, head_dim: D } = config;
    const block = {
      attn_norm: [C],
      attn_q: [n_heads * D, C],
      attn_k: [n_kv_heads * D, C],
      attn_v: [n_kv_heads * D, C],
      attn_output: [C, n_heads * D],
      ffn_norm: [C],
      ffn_gate: [d_ff, C],
      ffn_up: [d_ff, C],
      ffn_down: [C, d_ff],
    };
    const shapes = { "token_embd.weight": [V, C], "output_norm.weight": [C] };
    if (!isTied) shapes["output.weight"] = [V, C];
    for (let i = 0; i < n_layers; i++) {
      for (const [name, shape] of Object.entries(block)) shapes[`blk.${i}.${name}.weight`] = shape;
    }
    return shapes;
  }

  // A file of gguf.read -> a model; `isPlain`: without WebAssembly. The file is not needed after it.
  function load(file, isPlain = false) {
    const { view, tensors } = file;
    const config = configOf(file);
    const isTied = !("output.weight" in tensors); // a token is read and written with one vector
    const expected = shapesOf({ config, isTied });
    for (const name of new Set([...Object.keys(expected), ...Object.keys(tensors)])) {
      const [shape, wanted] = [
        tensors[name]?.shape ?? "missing",
        expected[name] ?? "no such tensor",
      ];
      refuse(`${shape}` === `${wanted}`, `${name} is ${shape}, expected ${wanted}`);
      const isPacked = shape.length === 2 && tensors[name].bits < 32 && shape[1] % 32 === 0;
      const isVector = shape.length === 1 && tensors[name].bits === 32;
      refuse(
        isPacked || isVector,
        `${name} is not packed as Q4_1 or Q8_0, or, if a vector, as F32`,
      );
    }
    const names = Object.keys(expected).filter((name) => expected[name].length === 2);
    const sizes = names.map((name) => {
      const [rows, columns] = expected[name];
      return { name, rows, columns, bits: tensors[name].bits };
    });
    const store = course.packed.create(sizes, isPlain);
    const vectors = {}; // the weights of the norms, (C) each
    for (const [name, { shape, start }] of Object.entries(tensors)) {
      if (shape.length === 2) course.packed.fill(store, name, view, start);
      else {
        vectors[name] = new Float32Array(shape[0]).map((_, i) =>
          view.getFloat32(start + 4 * i, true),
        );
        refuse(vectors[name].every(Number.isFinite), `${name} has weights that are no numbers`);
      }
    }
    const head = isTied ? "token_embd.weight" : "output.weight";
    return { config, store, vectors, head };
  }

  // ---- the parts ----

  // x Wᵀ, x (T, columns) -> (T, rows), with the weights that are set: each changes one sum
  function apply({ store }, name, x, { weights }) {
    const y = course.packed.product(store, name, x);
    const { rows, columns } = store.matrices[name];
    for (const set of weights.filter((weight) => weight.name === name)) {
      const difference = set.value - course.packed.rowOf(store, name, set.row)[set.column];
      for (let t = 0; t < x.length / columns; t++) {
        y[t * rows + set.row] += difference * x[t * columns + set.column];
      }
    }
    return y;
  }

  // RMSNorm: each row / √(mean of its squares + eps), times a weight for each channel
  function norm({ config, vectors }, name, x, { lines, weights }) {
    const C = config.d_model;
    const weight = Float32Array.from(vectors[name]);
    for (const set of weights) if (set.name === name) weight[set.column] = set.value;
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += C) {
      let mean = 0; // GPT-2's norm takes it away
      if (lines.includes("norm")) for (let c = 0; c < C; c++) mean += x[start + c] / C;
      let squares = 0;
      for (let c = 0; c < C; c++) squares += (x[start + c] - mean) ** 2;
      const scale = 1 / Math.sqrt(squares / C + config.norm_eps);
      for (let c = 0; c < C; c++) y[start + c] = (x[start + c] - mean) * scale * weight[c];
    }
    return y;
  }

  // The pairs of channels [a, b] of a head that turn together. The file has neighbours together, and
  // PyTorch's class halves: its channel c < D/2 is the file's 2 c, its c + D/2 the file's 2 c + 1.
  function pairsOf(D, lines) {
    const fileOf = (c) => (c < D / 2 ? 2 * c : 2 * c - D + 1);
    const neighbours = Array.from({ length: D / 2 }, (_, i) => [2 * i, 2 * i + 1]);
    return lines.includes("pairs") ? neighbours.map((pair) => pair.map(fileOf)) : neighbours;
  }

  // Pair i of each head turns by place · base^(-2i / D), in place; row 0 of x is at place `start`
  function rotate(x, rows, { head_dim: D, rope_base }, start, { lines }) {
    const base = lines.includes("base") ? 10000 : rope_base;
    const width = x.length / rows;
    for (const [i, [a, b]] of pairsOf(D, lines).entries()) {
      const speed = base ** ((-2 * i) / D);
      for (let t = 0; t < rows; t++) {
        const cos = Math.cos((start + t) * speed);
        const sin = Math.sin((start + t) * speed);
        for (let head = t * width; head < (t + 1) * width; head += D) {
          const [first, second] = [x[head + a], x[head + b]];
          x[head + a] = first * cos - second * sin;
          x[head + b] = second * cos + first * sin;
        }
      }
    }
    return x;
  }

  // Keys and values of the tokens read so far: (S, K D) in each block, with room for more
  function newCache({ config: { n_layers } }) {
    const empty = () => Array.from({ length: n_layers }, () => new Float32Array(0));
    return { ids: [], k: empty(), v: empty() };
  }

  // `rows` after the numbers that an array has in use; it grows where there is no room
  function append(array, used, rows) {
    const needed = used + rows.length;
    let grown = array;
    if (needed > array.length) {
      grown = new Float32Array(Math.ceil((1.25 * needed) / rows.length) * rows.length);
      grown.set(array);
    }
    grown.set(rows, used);
    return grown;
  }

  // The dot product of D numbers, from a[i] and from b[j] on
  function dot(a, i, b, j, D) {
    let even = 0;
    let odd = 0;
    for (let d = 0; d < D; d += 2) {
      even += a[i + d] * b[j + d];
      odd += a[i + d + 1] * b[j + d + 1];
    }
    return even + odd;
  }

  // What the heads of a block find, side by side: x (T, C) -> (T, H D). Each token asks itself and its
  // past; heads 1 to H / K share the first keys and values, and so on.
  function attend(model, block, x, cache, change, look) {
    const { n_heads: H, n_kv_heads: K, head_dim: D } = model.config;
    const T = x.length / model.config.d_model;
    const old = cache.ids.length;
    const project = (part) => apply(model, `blk.${block - 1}.attn_${part}.weight`, x, change);
    const q = rotate(project("q"), T, model.config, old, change); // (T, H D)
    const newKeys = rotate(project("k"), T, model.config, old, change); // (T, K D)
    const k = append(cache.k[block - 1], old * K * D, newKeys);
    const v = append(cache.v[block - 1], old * K * D, project("v"));
    [cache.k[block - 1], cache.v[block - 1]] = [k, v];
    const found = new Float32Array(T * H * D);
    for (let h = 0; h < H; h++) {
      const shared = Math.floor((h * K) / H) * D; // where its keys and values begin in a row
      for (let t = 0; t < T; t++) {
        const to = t * H * D + h * D;
        const scores = new Float64Array(old + t + 1);
        for (let s = 0; s < scores.length; s++) {
          scores[s] = dot(q, to, k, s * K * D + shared, D) / Math.sqrt(D);
        }
        const weights = softmax(scores);
        for (let s = 0; s < weights.length; s++) {
          const from = s * K * D + shared;
          for (let d = 0; d < D; d++) found[to + d] += weights[s] * v[from + d];
        }
        look.attention(block, h + 1, t, weights);
      }
    }
    for (const [b, h] of change.heads) {
      if (b !== block) continue;
      for (let t = 0; t < T; t++) found.fill(0, (t * H + h - 1) * D, (t * H + h) * D);
    }
    for (const { block: b, head, place, vector } of change.vectors) {
      const t = place - old;
      if (b === block && t >= 0 && t < T) found.set(vector, (t * H + head - 1) * D);
    }
    look.vectors(block, found);
    return found;
  }

  // SwiGLU's hidden layer, silu(gate(x)) · up(x): x (T, C) -> (T, d_ff); Gemma has GELU in the gate
  function gated(model, block, x, change) {
    const gate = apply(model, `blk.${block - 1}.ffn_gate.weight`, x, change);
    const up = apply(model, `blk.${block - 1}.ffn_up.weight`, x, change);
    const activate = change.lines.includes("gate")
      ? (z) => parts.activate("gelu", z)
      : (z) => z / (1 + Math.exp(-z));
    return up.map((value, i) => activate(gate[i]) * value);
  }

  // ---- the model ----

  // ids of T tokens, which follow those of `cache` -> logits (V) for the token after the last.
  //
  // change, which of its own has nothing in it:
  //   heads    [[block, head], …]: nothing of what they find is added
  //   blocks   [block, …]: nothing of what they compute is added
  //   vectors  [{block, head, place, vector}, …]: D numbers in place of what a head finds at a place
  //            of the text, counted from 0
  //   lines    of "norm" (GPT-2's), "gate" (GELU's), "base" (10,000), "pairs" (halves): chapter 19
  //   weights  [{name, row, column, value}, …]: each weight once; a norm has row 0 alone
  // ask, for what comes along with the logits:
  //   logits    "all": those after each of the T tokens, (T, V)
  //   attention [[block, head], …]: their weights, (T, S), by name: attention["24.5"]
  //   vectors   [[block, head], …]: what they find, (T, D): vectors["24.5"]
  //   stream    [block, …]: x (T, C) after it, or, for 0, before the first: stream[24]
  // A cache holds what was read under the changes of that time.
  /** @type {(model: any, ids: number[], options?: any) => any} */
  function forward(model, ids, { cache = newCache(model), change = {}, ask = {} } = {}) {
    change = checked(model, change, CHANGES);
    ask = checked(model, ask, QUESTIONS);
    checkIds(model, ids, cache);
    const T = ids.length;
    const { d_model: C, n_layers } = model.config;
    const run = { attention: {}, vectors: {}, stream: {} };
    const look = observer(model, ask, run, T, cache.ids.length + T);
    let x = embed(model, ids, change); // (T, C)
    look.stream(0, x);
    for (let block = 1; block <= n_layers; block++) {
      const name = `blk.${block - 1}`;
      let y = norm(model, `${name}.attn_norm.weight`, x, change);
      const found = attend(model, block, y, cache, change, look);
      const middle = parts.add(x, apply(model, `${name}.attn_output.weight`, found, change));
      y = gated(model, block, norm(model, `${name}.ffn_norm.weight`, middle, change), change);
      y = parts.add(middle, apply(model, `${name}.ffn_down.weight`, y, change));
      if (!change.blocks.includes(block)) x = y; // a silent one has filled its cache
      look.stream(block, x);
    }
    cache.ids.push(...ids);
    return {
      logits: readOut(model, ask.logits === "all" ? x : x.slice((T - 1) * C), change),
      ...run,
    };
  }

  // The vectors of these tokens: (T, C)
  function embed({ config: { d_model: C }, store }, ids, { weights }) {
    const name = "token_embd.weight";
    const x = new Float32Array(ids.length * C);
    for (const [t, id] of ids.entries()) {
      x.set(course.packed.rowOf(store, name, id), t * C);
      for (const set of weights) {
        if (set.name === name && set.row === id) x[t * C + set.column] = set.value;
      }
    }
    return x;
  }

  // The last norm and the head: the stream after any block, (T, C) -> logits (T, V)
  function readOut(model, x, change = {}) {
    change = checked(model, change, CHANGES);
    return apply(model, model.head, norm(model, "output_norm.weight", x, change), change);
  }

  // New tokens after `ids`, until the context is full: each is {id, p, …what forward gives}, p the
  // probabilities it was drawn from. Rules are temperature, top_k and top_p. Whatever is given to
  // next(settings), a change too, holds from there on.
  /** @type {(model: any, ids: number[], options?: any) => Generator<any, void, any>} */
  function* generate(model, ids, { cache = newCache(model), seed = 0, ...settings } = {}) {
    const random = generator(seed);
    for (let read = ids; ; ) {
      const { change, ask, ...rules } = settings;
      const run = forward(model, read, { cache, change, ask });
      const p = probabilities(run.logits.subarray(-model.config.vocab_size), rules);
      read = [pick(p, random())];
      Object.assign(settings, yield { id: read[0], p, ...run });
      if (cache.ids.length === model.config.context_length) return;
    }
  }

  // Writes down what is asked for; T new tokens, S in all
  function observer({ config: { n_heads, head_dim: D } }, ask, run, T, S) {
    const isIn = (list, block, head) => list.some(([b, h]) => b === block && h === head);
    return {
      attention(block, head, t, weights) {
        if (!isIn(ask.attention, block, head)) return;
        run.attention[`${block}.${head}`] ??= new Float32Array(T * S);
        run.attention[`${block}.${head}`].set(weights, t * S);
      },
      vectors(block, found) {
        for (const [b, head] of ask.vectors) {
          if (b !== block) continue;
          const own = (_, i) => found[(Math.floor(i / D) * n_heads + head - 1) * D + (i % D)];
          run.vectors[`${block}.${head}`] = new Float32Array(T * D).map(own);
        }
      },
      stream(block, x) {
        if (ask.stream.includes(block)) run.stream[block] = x;
      },
    };
  }

  // ---- what is wrong is said ----

  const CHANGES = { heads: [], blocks: [], vectors: [], lines: [], weights: [] };
  const QUESTIONS = { logits: "last", attention: [], vectors: [], stream: [] };
  const LINES = ["norm", "gate", "base", "pairs"];
  const isFrom = (first, n, end) => Number.isInteger(n) && n >= first && n < end;

  // What is given and, where nothing is, what stands for it
  /** @returns {any} */
  function checked({ config, store, vectors }, given, known) {
    const { n_layers, n_heads, head_dim } = config;
    const all = { ...known, ...given };
    const unknown = Object.keys(all).find((name) => !(name in known));
    check(unknown === undefined, `got ${unknown}, expected of ${Object.keys(known).join(", ")}`);
    const placed = (all.vectors ?? []).map((one) => (one.vector ? [one.block, one.head] : one));
    for (const [block, head] of [...(all.heads ?? []), ...(all.attention ?? []), ...placed]) {
      const exists = isFrom(1, block, n_layers + 1) && isFrom(1, head, n_heads + 1);
      check(exists, `there is no head ${block}.${head}: ${n_layers} blocks of ${n_heads} heads`);
    }
    for (const block of [...(all.blocks ?? []), ...(all.stream ?? [])]) {
      check(
        isFrom(0, block, n_layers + 1),
        `there is no block ${block}, expected 1 to ${n_layers}`,
      );
    }
    const line = (all.lines ?? []).find((name) => !LINES.includes(name));
    check(!line, `there is no line ${line}, expected of ${LINES.join(", ")}`);
    for (const { vector } of all.vectors ?? []) {
      const n = vector?.length ?? head_dim;
      check(n === head_dim, `a head's vector has ${n} numbers, expected ${head_dim}`);
    }
    for (const { name, row, column, value } of all.weights ?? []) {
      const { rows, columns } = store.matrices[name] ?? { rows: 1, columns: vectors[name]?.length };
      const exists = isFrom(0, row, rows) && isFrom(0, column, columns) && Number.isFinite(value);
      check(exists, `there is no weight ${name}[${row}, ${column}] to be set to ${value}`);
    }
    return all;
  }

  function checkIds({ config: { vocab_size, context_length } }, ids, cache) {
    const wrong = ids.find((id) => !isFrom(0, id, vocab_size));
    const S = cache.ids.length + ids.length;
    check(ids.length > 0, "got no token, expected at least one");
    check(wrong === undefined, `id ${wrong} is not one of ${vocab_size} tokens`);
    check(
      S <= context_length,
      `got ${S} tokens, expected at most context_length=${context_length}`,
    );
  }

  return { load, newCache, forward, readOut, generate };
});
