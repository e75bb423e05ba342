// A GPT that learns, from scratch: tensors, gradients by a tape, the model, Muon and AdamW.
//
// It computes what scratchformer_course/page_model/speedrun.py and scratchformer/training
// compute, and the names are theirs. Softmax and random numbers are those of model.js.
// Every tensor is a matrix: the B windows of T tokens are N = B T rows.
// C: d_model, H: heads, D = C / H, V: vocabulary.

course.define("trainer", () => {
  const { create, view, transposed } = course.matrix;
  const { generator, softmax } = course.model;

  // ---- numbers at random ------------------------------------------------------

  // A draw from the normal distribution (Box and Muller 1958)
  const normal = (random) =>
    Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

  // ---- tensors and the tape ---------------------------------------------------

  // Where all numbers live: those of the weights first, behind them those of one step at
  // a time. Every operation writes on the tape how its gradients are computed; `backward`
  // reads it from its end.
  function newTape(bytes, kind) {
    const { buffer, product, reserved, kind: used } = create(bytes, kind);
    const numbers = new Float32Array(buffer);
    let next = reserved / 4; // the next free number
    let stepStart = next; // the first that a step may use
    let tape = [];
    let recording = true;

    function allocate(length) {
      const from = next;
      next += Math.ceil(length / 4) * 4;
      if (next > numbers.length) {
        const megabytes = Math.round(buffer.byteLength / 2 ** 20);
        throw new Error(`these sizes need more than ${megabytes} MB`);
      }
      return numbers.subarray(from, from + length);
    }
    function tensor(rows, columns) {
      const data = allocate(rows * columns);
      const grad = recording ? allocate(rows * columns) : null;
      return { rows, columns, data, grad };
    }
    const onBackward = (gradients) => {
      if (recording) tape.push(gradients);
    };

    // Forget the last step; `record` says whether the next will need gradients
    function begin(record = true) {
      numbers.fill(0, stepStart, next);
      next = stepStart;
      tape = [];
      recording = record;
    }
    function backward() {
      for (const gradients of tape.reverse()) gradients();
      tape = [];
    }
    // What exists now is the model's
    const keepAllocated = () => {
      stepStart = next;
    };

    // ---- operations: each gives a new tensor and says where its gradient goes

    const matrixOf = (data, columns) => view(data, columns);

    // x Wᵀ: x (N, inputs), W (outputs, inputs) -> (N, outputs)
    function linear(x, W) {
      const { rows: N, columns: inputs } = x;
      const outputs = W.rows;
      const y = tensor(N, outputs);
      const w = matrixOf(W.data, inputs);
      const from = matrixOf(x.data, inputs);
      product(matrixOf(y.data, outputs), from, transposed(w), N, outputs, inputs);
      onBackward(() => {
        const dy = matrixOf(y.grad, outputs);
        product(matrixOf(x.grad, inputs), dy, w, N, inputs, outputs);
        product(
          matrixOf(W.grad, inputs),
          transposed(dy),
          from,
          outputs,
          inputs,
          N,
        );
      });
      return y;
    }

    // One row of the table (rows, C) for each id -> (N, C)
    function embedding(table, ids) {
      const C = table.columns;
      const y = tensor(ids.length, C);
      gather(y.data, table.data, ids, C);
      onBackward(() => scatter(table.grad, y.grad, ids, C));
      return y;
    }

    function add(a, b) {
      const y = tensor(a.rows, a.columns);
      y.data.set(a.data);
      addScaled(y.data, 1, b.data);
      onBackward(() => {
        addScaled(a.grad, 1, y.grad);
        addScaled(b.grad, 1, y.grad);
      });
      return y;
    }

    // max(0, x)²
    function squaredRelu(x) {
      const y = tensor(x.rows, x.columns);
      relu2(y.data, x.data);
      onBackward(() => relu2Back(x.grad, y.grad, x.data));
      return y;
    }

    // Each row to mean 0 and variance 1
    function layerNorm(x) {
      const { rows, columns: C } = x;
      const y = tensor(rows, C);
      const scales = allocate(rows);
      normalize(y.data, x.data, scales, C);
      onBackward(() => normalizeBack(x.grad, y.grad, y.data, scales, C));
      return y;
    }

    // The rows of each window of T, k places later; the first k are zeros
    function shift(x, T, k) {
      const C = x.columns;
      const y = tensor(x.rows, C);
      const length = (T - k) * C; // numbers of a window
      for (let i = 0; i < x.data.length; i += T * C) {
        addScaled(y.data, 1, x.data, length, i + k * C, i);
      }
      onBackward(() => {
        for (let i = 0; i < x.data.length; i += T * C) {
          addScaled(x.grad, 1, y.grad, length, i, i + k * C);
        }
      });
      return y;
    }

    // Queries and keys, the first 2 C of each row's 3 C channels, turned by their place:
    // channels 2i and 2i + 1 of a head by t · 10000^(-2i / D)
    function rotary(qkv, T, D) {
      const y = tensor(qkv.rows, qkv.columns);
      const cos = allocate((T * D) / 2);
      const sin = allocate((T * D) / 2);
      angles(cos, sin, T, D);
      rotatePairs(y.data, qkv.data, cos, sin, qkv.columns, D, 1);
      onBackward(() =>
        rotatePairs(qkv.grad, y.grad, cos, sin, qkv.columns, D, -1),
      ); // back
      return y;
    }

    // Causal self-attention of all windows and heads: qkv (N, 3 C) -> (N, C),
    // and the weights
    function attention(qkv, T, H) {
      const N = qkv.rows;
      const C = qkv.columns / 3;
      const D = C / H;
      const y = tensor(N, C);
      const weights = allocate(N * H * T); // (B, H, T, T)
      const scale = 1 / Math.sqrt(D);
      // The views of one head of one window
      const forEachHead = (compute) => {
        for (let b = 0; b < N / T; b++) {
          for (let h = 0; h < H; h++) {
            const start = b * T * 3 * C + h * D;
            const from = (b * H + h) * T * T;
            const headView = (data, i) => view(data, 3 * C, start + i * C);
            compute(headView, view(weights, T, from), from, b * T * C + h * D);
          }
        }
      };
      forEachHead((headView, p, from, to) => {
        const [q, k, v] = [0, 1, 2].map((i) => headView(qkv.data, i));
        product(p, q, transposed(k), T, T, D); // q kᵀ
        causalSoftmax(weights, from, T, scale);
        product(view(y.data, C, to), p, v, T, D, T);
      });
      onBackward(() => {
        const slopes = allocate(T * T);
        forEachHead((headView, p, from, to) => {
          const dy = view(y.grad, C, to);
          const ds = view(slopes, T);
          const [q, k, v] = [0, 1, 2].map((i) => headView(qkv.data, i));
          const [dq, dk, dv] = [0, 1, 2].map((i) => headView(qkv.grad, i));
          product(dv, transposed(p), dy, T, D, T); // dv = Pᵀ dy
          slopes.fill(0);
          product(ds, dy, transposed(v), T, T, D); // dP = dy vᵀ
          softmaxBack(slopes, weights, from, T, scale);
          product(dq, ds, k, T, D, T);
          product(dk, transposed(ds), q, T, D, T);
        });
      });
      return { y, weights };
    }

    // The mean of -ln p(target), in nats; with it the gradients of all logits (N, V) begin
    function crossEntropy(logits, targets) {
      const { rows: N, columns: V } = logits;
      const p = allocate(N * V);
      p.set(logits.data);
      const loss = meanLoss(p, targets, V);
      onBackward(() => {
        addScaled(logits.grad, 1 / N, p); // p - 1 at the target, p elsewhere
        for (let t = 0; t < N; t++) logits.grad[t * V + targets[t]] -= 1 / N;
      });
      return loss;
    }

    const memory = {
      begin,
      backward,
      keepAllocated,
      tensor,
      allocate,
      product,
      kind: used,
    };
    const operations = {
      linear,
      embedding,
      add,
      squaredRelu,
      layerNorm,
      shift,
      rotary,
    };
    return { ...memory, ...operations, attention, crossEntropy };
  }

  // ---- what the operations compute --------------------------------------------

  // Loops of their own, so that browsers translate them once. What is called ...Back adds
  // to gradients

  // `length` numbers of `from`, times a factor, are added to those of `to`
  function addScaled(to, factor, from, length = to.length, start = 0, first = 0) {
    for (let i = 0; i < length; i++) to[start + i] += factor * from[first + i];
  }

  function gather(rows, table, ids, C) {
    for (let t = 0; t < ids.length; t++) {
      for (let c = 0; c < C; c++) rows[t * C + c] = table[ids[t] * C + c];
    }
  }
  // Adds to the table
  function scatter(table, rows, ids, C) {
    for (let t = 0; t < ids.length; t++) {
      for (let c = 0; c < C; c++) table[ids[t] * C + c] += rows[t * C + c];
    }
  }

  // max(0, x) is (x + |x|) / 2: an `if` would be slow for numbers at random
  function relu2(y, x) {
    for (let i = 0; i < y.length; i++) {
      y[i] = 0.5 * (x[i] + Math.abs(x[i])) * x[i];
    }
  }
  function relu2Back(dx, dy, x) {
    for (let i = 0; i < dx.length; i++) dx[i] += (x[i] + Math.abs(x[i])) * dy[i];
  }

  function normalize(y, x, scales, C) {
    for (let t = 0, start = 0; t < scales.length; t++, start += C) {
      let sum = 0;
      let squares = 0;
      for (let i = start; i < start + C; i++) sum += x[i];
      const mean = sum / C;
      for (let i = start; i < start + C; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
      }
      const scale = 1 / Math.sqrt(squares / C + 1e-5);
      scales[t] = scale;
      for (let i = start; i < start + C; i++) y[i] = (x[i] - mean) * scale;
    }
  }
  // dx = scale (dy - mean of dy - y · mean of dy y)
  function normalizeBack(dx, dy, y, scales, C) {
    for (let t = 0, start = 0; t < scales.length; t++, start += C) {
      let sum = 0;
      let along = 0;
      for (let i = start; i < start + C; i++) {
        sum += dy[i];
        along += dy[i] * y[i];
      }
      const mean = sum / C;
      const part = along / C;
      const scale = scales[t];
      for (let i = start; i < start + C; i++) {
        dx[i] += scale * (dy[i] - mean - y[i] * part);
      }
    }
  }

  // Cosines and sines, (T, D / 2)
  function angles(cos, sin, T, D) {
    for (let t = 0; t < T; t++) {
      for (let i = 0; i < D / 2; i++) {
        const angle = t * 10000 ** ((-2 * i) / D);
        cos[(t * D) / 2 + i] = Math.cos(angle);
        sin[(t * D) / 2 + i] = Math.sin(angle);
      }
    }
  }
  // Pairs of the first two thirds of each row, turned; the rest as it is. Adds to `to`
  function rotatePairs(to, from, cos, sin, width, D, direction) {
    const turned = (width / 3) * 2;
    let place = 0; // in `cos` and `sin`
    for (let start = 0; start < to.length; start += width) {
      if (place === cos.length) place = 0; // the next window
      for (let c = 0; c < turned; c += 2) {
        const n = place + (c % D) / 2;
        const i = start + c;
        const s = direction * sin[n];
        to[i] += from[i] * cos[n] - from[i + 1] * s;
        to[i + 1] += from[i] * s + from[i + 1] * cos[n];
      }
      for (let i = start + turned; i < start + width; i++) to[i] += from[i];
      place += D / 2;
    }
  }

  // In place: T rows of T scores become weights; a row sees itself and what is before it
  function causalSoftmax(scores, start, T, scale) {
    for (let t = 0; t < T; t++) {
      softmax(scores, start + t * T, t + 1, scale);
      for (let s = t + 1; s < T; s++) scores[start + t * T + s] = 0;
    }
  }
  // In place: the slopes of T rows of T weights become those of their scores
  function softmaxBack(slopes, weights, start, T, scale) {
    for (let i = 0; i < T * T; i += T) {
      let along = 0; // the mean of the row's slopes
      for (let s = i; s < i + T; s++) along += slopes[s] * weights[start + s];
      for (let s = i; s < i + T; s++) {
        slopes[s] = scale * weights[start + s] * (slopes[s] - along);
      }
    }
  }

  // In place: rows of V logits become probabilities; gives the mean of -ln p(target)
  function meanLoss(p, targets, V) {
    let loss = 0;
    for (let t = 0; t < targets.length; t++) {
      softmax(p, t * V, V);
      loss -= Math.log(p[t * V + targets[t]] + 1e-38) / targets.length;
    }
    return loss;
  }

  // The share of rows of logits (N, V) whose largest is that of the target
  function accuracy({ data, columns: V }, targets) {
    let correct = 0;
    for (let t = 0; t < targets.length; t++) {
      let best = t * V;
      for (let i = best; i < (t + 1) * V; i++) if (data[i] > data[best]) best = i;
      if (best === t * V + targets[t]) correct += 1;
    }
    return correct / targets.length;
  }

  // ---- the model --------------------------------------------------------------

  // {name: tensor} of a SpeedrunGPT without biases or weights in its norms, as it starts
  function newWeights(tape, config, seed = 0) {
    const { vocab_size: V, d_model: C, n_layers, smear, bigram_rows } = config;
    const random = generator(seed);
    const weights = {};
    function matrix(name, rows, columns, std) {
      const data = tape.allocate(rows * columns);
      if (std > 0) {
        for (let i = 0; i < data.length; i++) data[i] = std * normal(random);
      }
      weights[name] = { rows, columns, data, grad: null };
    }
    matrix("wte.weight", V, C, 0.02);
    if (config.positions === "learned") {
      matrix("wpe.weight", config.context_length, C, 0.02);
    }
    if (bigram_rows) matrix("bigrams.table.weight", bigram_rows, C, 0);
    for (let k = 0; k < smear; k++) matrix(`smear.back.${k}.weight`, C, C, 0);
    for (let i = 0; i < n_layers; i++) {
      matrix(`h.${i}.attn.c_attn.weight`, 3 * C, C, 0.5 / Math.sqrt(C));
      matrix(`h.${i}.attn.c_proj.weight`, C, C, 0);
      matrix(`h.${i}.mlp.c_fc.weight`, 4 * C, C, 0.5 / Math.sqrt(C));
      matrix(`h.${i}.mlp.c_proj.weight`, C, 4 * C, 0);
    }
    matrix("lm_head.weight", V, C, 0);
    return weights;
  }

  // Room for the gradients of all weights, side by side: together they are one vector
  function newGradients(tape, weights) {
    const all = Object.values(weights);
    const length = all.reduce((sum, { data }) => sum + data.length, 0);
    const gradients = tape.allocate(length);
    let from = 0;
    for (const W of all) {
      W.grad = gradients.subarray(from, from + W.data.length);
      from += W.data.length;
    }
    tape.keepAllocated();
    return gradients;
  }

  // ids (windows of T, one after the other) -> logits (N, V); `onAttention` is called
  // with each layer's attention weights (B, H, T, T)
  function forward(
    tape,
    weights,
    config,
    ids,
    T,
    onAttention = (_layer, _weights) => {},
  ) {
    const { vocab_size: V, n_heads: H, n_layers, smear, bigram_rows } = config;
    let x = tape.embedding(weights["wte.weight"], ids);
    if (bigram_rows) {
      const pairs = ids.map(
        (id, i) => ((i % T ? ids[i - 1] : 0) * V + id) % bigram_rows,
      );
      x = tape.add(x, tape.embedding(weights["bigrams.table.weight"], pairs));
    }
    x = tape.layerNorm(x);
    const tokens = x;
    for (let k = 1; k <= Math.min(smear, T - 1); k++) {
      const back = weights[`smear.back.${k - 1}.weight`];
      x = tape.add(x, tape.linear(tape.shift(tokens, T, k), back));
    }
    if (config.positions === "learned") {
      const places = ids.map((_, i) => i % T);
      x = tape.add(x, tape.embedding(weights["wpe.weight"], places));
    }
    for (let i = 0; i < n_layers; i++) {
      const blockWeight = (name) => weights[`h.${i}.${name}.weight`]; // this block's
      let qkv = tape.linear(tape.layerNorm(x), blockWeight("attn.c_attn"));
      if (config.positions === "rotary") {
        qkv = tape.rotary(qkv, T, qkv.columns / 3 / H);
      }
      const { y, weights: attentionWeights } = tape.attention(qkv, T, H);
      onAttention(i, attentionWeights);
      x = tape.add(x, tape.linear(y, blockWeight("attn.c_proj")));
      const hidden = tape.linear(tape.layerNorm(x), blockWeight("mlp.c_fc"));
      const squared = tape.squaredRelu(hidden);
      x = tape.add(x, tape.linear(squared, blockWeight("mlp.c_proj")));
    }
    return tape.linear(tape.layerNorm(x), weights["lm_head.weight"]);
  }

  // ---- the optimisers ---------------------------------------------------------

  // X X^T … five times: singular values to about 1, as newton_schulz in Python
  function newtonSchulz(tape, G, rows, columns) {
    const [a, b, c] = [3.4445, -4.775, 2.0315];
    const m = Math.min(rows, columns);
    const n = Math.max(rows, columns);
    let X = tape.allocate(m * n);
    let size = 0;
    for (let i = 0; i < G.length; i++) size += G[i] * G[i];
    const wide = rows === m ? G : transposedCopy(tape, G, n, m);
    addScaled(X, 1 / (Math.sqrt(size) + 1e-7), wide);
    for (let step = 0; step < 5; step++) {
      const [S, squared, sum] = [0, 1, 2].map(() => tape.allocate(m * m));
      const next = tape.allocate(m * n);
      tape.product(view(S, m), view(X, n), transposed(view(X, n)), m, m, n);
      tape.product(view(squared, m), view(S, m), view(S, m), m, m, m);
      addScaled(sum, b, S);
      addScaled(sum, c, squared);
      addScaled(next, a, X); // the product is added to it
      tape.product(view(next, n), view(sum, m), view(X, n), m, n, m);
      X = next;
    }
    return rows === m ? X : transposedCopy(tape, X, m, n);
  }

  // A copy of a matrix (rows, columns), turned over
  function transposedCopy(tape, matrix, rows, columns) {
    const copy = tape.allocate(rows * columns);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        copy[j * rows + i] = matrix[i * columns + j];
      }
    }
    return copy;
  }

  // Muon for the matrices inside the network, AdamW for embeddings and the head (or for
  // all, if muon_lr is null; then the matrices may have a matrix_lr). step(rate) changes the
  // weights; rate goes from 1 to 0
  function newOptimizer(tape, weights, settings) {
    const { lr, muon_lr, muon_momentum } = settings;
    const [beta1, beta2] = settings.betas;
    const isInside = (name) => /^(h|smear)\./.test(name);
    const parameters = Object.entries(weights).map(([name, W]) => ({
      W,
      muon: muon_lr !== null && isInside(name),
      lr: isInside(name) ? (settings.matrix_lr ?? lr) : lr,
      mean: new Float32Array(W.data.length),
      square: new Float32Array(W.data.length),
    }));
    let steps = 0;

    function muonStep({ W, mean }, rate) {
      const nesterov = tape.allocate(W.data.length);
      moveTowards(mean, W.grad, 1 - muon_momentum);
      nesterov.set(W.grad);
      moveTowards(nesterov, mean, muon_momentum);
      const step = newtonSchulz(tape, nesterov, W.rows, W.columns);
      const stepSize =
        rate * muon_lr * Math.sqrt(Math.max(1, W.rows / W.columns));
      addScaled(W.data, -stepSize, step);
    }
    function adamStep({ W, lr, mean, square }, rate) {
      moveTowards(mean, W.grad, 1 - beta1);
      moveTowardsSquares(square, W.grad, 1 - beta2);
      const stepSize = (rate * lr) / (1 - beta1 ** steps);
      adamW(W.data, mean, square, stepSize, 1 / Math.sqrt(1 - beta2 ** steps));
    }
    function step(rate) {
      steps += 1;
      for (const parameter of parameters)
        (parameter.muon ? muonStep : adamStep)(parameter, rate);
    }
    return { step };
  }

  // A running mean goes a share of the way to the new numbers
  function moveTowards(mean, numbers, share) {
    for (let i = 0; i < mean.length; i++) {
      mean[i] += share * (numbers[i] - mean[i]);
    }
  }
  function moveTowardsSquares(mean, numbers, share) {
    for (let i = 0; i < mean.length; i++) {
      mean[i] += share * (numbers[i] * numbers[i] - mean[i]);
    }
  }
  // No weights decay in this recipe
  function adamW(weights, mean, square, stepSize, correction) {
    for (let i = 0; i < weights.length; i++) {
      weights[i] -=
        (stepSize * mean[i]) / (Math.sqrt(square[i]) * correction + 1e-8);
    }
  }

  // The gradients of all weights, shortened together to length `most`
  function clip(gradients, maxNorm) {
    let sum = 0;
    for (let i = 0; i < gradients.length; i++) sum += gradients[i] * gradients[i];
    const scale = maxNorm / (Math.sqrt(sum) + 1e-6);
    if (!(scale < 1)) return;
    for (let i = 0; i < gradients.length; i++) gradients[i] *= scale;
  }

  // ---- training ---------------------------------------------------------------

  // Windows of the text in random order; no character is an input twice in a pass, if there are enough
  function* windows(ids, B, T, seed) {
    const random = generator(seed);
    const apart = Math.floor((ids.length - T - 1) / B); // a short text: they overlap
    const stride = Math.max(1, Math.min(T, apart));
    for (;;) {
      const offset = Math.floor(random() * stride);
      const starts = [];
      for (let i = offset; i + T < ids.length; i += stride) starts.push(i);
      if (starts.length < B) {
        const fewWindows = `${ids.length} tokens hold ${starts.length} windows of ${T}`;
        throw new Error(`${fewWindows}, expected at least ${B}`);
      }
      for (let i = starts.length - 1; i > 0; i--) {
        const j = Math.floor(random() * (i + 1));
        [starts[i], starts[j]] = [starts[j], starts[i]];
      }
      for (let i = 0; i + B <= starts.length; i += B) {
        yield windowsAt(ids, starts.slice(i, i + B), T);
      }
    }
  }

  // Inputs x and targets y, each B T ids
  function windowsAt(ids, starts, T) {
    const x = new Int32Array(starts.length * T);
    const y = new Int32Array(starts.length * T);
    starts.forEach((start, b) => {
      x.set(ids.subarray(start, start + T), b * T);
      y.set(ids.subarray(start + 1, start + T + 1), b * T);
    });
    return { x, y };
  }

  // A run: update(batch) makes one step and gives its loss in nats, score(batch) only the loss
  function newRun(config, settings, seed = 0, kind = undefined) {
    const tape = newTape(memoryFor(config, settings.batch_size), kind);
    const weights = newWeights(tape, config, seed);
    const gradients = newGradients(tape, weights);
    const optimizer = newOptimizer(tape, weights, settings);
    let stepsDone = 0;

    // One step with a batch
    function update({ x, y }) {
      tape.begin();
      gradients.fill(0);
      const logits = forward(tape, weights, config, x, config.context_length);
      const loss = tape.crossEntropy(logits, y);
      tape.backward();
      clip(gradients, 1);
      optimizer.step(1 - stepsDone / settings.steps); // the rate falls in a line
      stepsDone += 1;
      return loss;
    }
    // The mean loss of some windows of T, without learning from it, and the share of
    // targets that are the model's likeliest
    function judge({ x, y, T = config.context_length }) {
      tape.begin(false);
      const logits = forward(tape, weights, config, x, T);
      return { right: accuracy(logits, y), loss: tape.crossEntropy(logits, y) };
    }
    const score = (batch) => judge(batch).loss;
    function logits(ids, look) {
      tape.begin(false);
      return forward(tape, weights, config, ids, ids.length, look).data.slice();
    }
    const methods = { update, judge, score, logits };
    return { config, settings, weights, tape, ...methods, done: () => stepsDone };
  }

  // Every target of a text once: batches of `rows` windows of T, and at last what is left,
  // a window that is shorter. The mean of their scores is that of
  // scratchformer.training.evaluate
  function* scoringBatches(ids, T, rows) {
    const starts = [];
    let start = 0;
    for (; start + T < ids.length; start += T) starts.push(start);
    for (let i = 0; i < starts.length; i += rows) {
      yield { ...windowsAt(ids, starts.slice(i, i + rows), T), T };
    }
    const rest = ids.length - 1 - start;
    if (rest > 0) yield { ...windowsAt(ids, [start], rest), T: rest };
  }

  // Bytes for weights and one step of training, generously
  function memoryFor(config, B) {
    const { vocab_size: V, context_length: T, d_model: C } = config;
    const { n_heads: H, n_layers: L, smear, bigram_rows } = config;
    const N = (B + 1) * T;
    const weights = 2 * C * (2 * V + T + bigram_rows + smear * C + 12 * L * C);
    const step = 2 * N * (C * (8 + 3 * smear) + L * (22 * C + H * T) + 3 * V);
    const muon = (L * 12 + smear) * C * C * 24;
    return 4 * (weights + step + muon + 2 ** 19);
  }

  return { forward, newRun, windows, scoringBatches };
});
