// What the Llama of llama.js can be asked, and what can be changed while it reads and writes.
//
// Both are plain data, so that a page can send them to a worker. Blocks and heads are counted from 1,
// places of the text from 0; names of weights are the file's. C: d_model, D: channels of a head.
//
// change, of which nothing is needed:
//   heads    [[block, head], …]: nothing of what these heads find is added
//   blocks   [block, …]: nothing of what these blocks compute is added
//   vectors  [{block, head, place, vector}, …]: D numbers in place of what a head finds at a place
//   lines    of "norm" (GPT-2's), "gate" (GELU), "base" (10,000) and "pairs" (halves): chapter 19;
//            and "angles", which rounds the angles of the turns to float32, as PyTorch does
//   starts   [queries, keys]: the place at which the text begins, for each of the two
//   weights  [{name, row, column, value}, …]: each weight once; a norm has row 0 alone
// ask, for what comes along with the logits of the last token; T: new tokens, S: all so far:
//   logits    "all": those after each token, (T, V)
//   attention [[block, head], …]: the weights of these heads, attention["24.5"] (T, S)
//   rows      true: the last token's weights in all heads, rows (blocks, heads, S)
//   vectors   [[block, head], …]: what these heads find, vectors["24.5"] (T, D)
//   stream    [block, …]: what goes on after a block, or, for 0, before the first, stream[24] (T, C)

course.define("changes", () => {
  const CHANGES = { heads: [], blocks: [], vectors: [], lines: [], weights: [], starts: [0, 0] };
  const QUESTIONS = { logits: "last", attention: [], rows: false, vectors: [], stream: [] };
  const LINES = ["norm", "gate", "base", "pairs", "angles"];

  function check(isRight, message) {
    if (!isRight) throw new Error(message);
  }
  const isFrom = (first, n, end) => Number.isInteger(n) && n >= first && n < end;

  function withDefaults(given, known) {
    const unknown = Object.keys(given).find((name) => !(name in known));
    check(!unknown, `got ${unknown}, expected of ${Object.keys(known).join(", ")}`);
    return { ...known, ...given };
  }

  function checkPlaces({ config, store, vectors }, change, ask) {
    const { n_layers, n_heads, head_dim } = config;
    const placed = change.vectors.map(({ block, head }) => [block, head]);
    for (const [b, h] of [...change.heads, ...placed, ...ask.attention, ...ask.vectors]) {
      const exists = isFrom(1, b, n_layers + 1) && isFrom(1, h, n_heads + 1);
      check(exists, `there is no head ${b}.${h}: ${n_layers} blocks of ${n_heads} heads`);
    }
    const block = [...change.blocks, ...ask.stream].find((b) => !isFrom(0, b, n_layers + 1));
    check(block === undefined, `there is no block ${block}, expected 1 to ${n_layers}`);
    const line = change.lines.find((name) => !LINES.includes(name));
    check(!line, `there is no line ${line}, expected of ${LINES.join(", ")}`);
    const isPlaced = change.starts.length === 2 && change.starts.every((n) => isFrom(0, n, 1e9));
    check(isPlaced, `a text starts at ${change.starts}, expected two places`);
    const wrong = change.vectors.find(({ vector }) => vector.length !== head_dim);
    check(!wrong, `a head's vector has ${wrong?.vector.length} numbers, expected ${head_dim}`);
    for (const { name, row, column, value } of change.weights) {
      const { rows, columns } = store.matrices[name] ?? { rows: 1, columns: vectors[name]?.length };
      const exists = isFrom(0, row, rows) && isFrom(0, column, columns) && Number.isFinite(value);
      check(exists, `there is no weight ${name}[${row}, ${column}] to be set to ${value}`);
    }
  }

  // What llama.js calls on its way through T tokens, of which the first has the place `old`
  function plan(model, { change = {}, ask = {} }, old = 0, T = 0) {
    const changed = withDefaults(change, CHANGES);
    const asked = withDefaults(ask, QUESTIONS);
    checkPlaces(model, changed, asked);
    const { n_heads: H, head_dim: D } = model.config;
    const answers = { attention: {}, vectors: {}, stream: {} };
    const isIn = (list, block, head) => list.some(([b, h]) => b === block && h === head);
    return {
      answers,
      wantsAll: asked.logits === "all",
      has: (line) => changed.lines.includes(line),
      starts: changed.starts,
      isSilent: (block) => changed.blocks.includes(block),
      weightsOf: (name) => changed.weights.filter((weight) => weight.name === name),
      // the weights of one token, for itself and its past
      sawWeights(block, head, t, weights) {
        if (asked.rows && t === T - 1) {
          answers.rows ??= new Float32Array(model.config.n_layers * H * (old + T));
          answers.rows.set(weights, ((block - 1) * H + head - 1) * (old + T));
        }
        if (!isIn(asked.attention, block, head)) return;
        answers.attention[`${block}.${head}`] ??= new Float32Array(T * (old + T));
        answers.attention[`${block}.${head}`].set(weights, t * (old + T));
      },
      // found: what the heads of a block find, (T, H D)
      sawFound(block, found) {
        const start = (t, head) => (t * H + head - 1) * D;
        for (const [b, head] of changed.heads) {
          for (let t = 0; b === block && t < T; t++)
            found.fill(0, start(t, head), start(t, head + 1));
        }
        for (const { block: b, head, place, vector } of changed.vectors) {
          if (b === block && isFrom(old, place, old + T))
            found.set(vector, start(place - old, head));
        }
        for (const [b, head] of asked.vectors) {
          if (b !== block) continue;
          const vectors = new Float32Array(T * D);
          for (let t = 0; t < T; t++) {
            vectors.set(found.subarray(start(t, head), start(t, head + 1)), t * D);
          }
          answers.vectors[`${block}.${head}`] = vectors;
        }
      },
      sawStream(block, x) {
        if (asked.stream.includes(block)) answers.stream[block] = x;
      },
    };
  }

  return { plan };
});
