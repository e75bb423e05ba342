// The real model that is told what to do by messages: in a worker, so that the page stays free, or on
// the page where workers are not allowed.
//
// It takes {do: "open", blob}, and for what follows an `id`, which the answer has, too: {do: "config"},
// "encode", "read", "lens", "lower", "limits" and "write" with what model_client.js says, and for a `write` that
// goes on {do: "steer", id, settings} and {do: "stop", id}. It sends {is: "step"} for each token that
// is written, and in the end {is: "done", value} or {is: "failed", why}.

course.define("modelSession", () => {
  // SYSTEM of scratchformer/generation/conversation.py
  const SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
  const ENDS = ["<|im_end|>", "<|endoftext|>"];

  // How often something can be done in a second, by what the fastest of some rounds took
  function timesASecond(work) {
    const seconds = Array.from({ length: 5 }, () => {
      const start = performance.now();
      let n = 0;
      for (; performance.now() < start + 40; n++) work();
      return (performance.now() - start) / n / 1000;
    });
    return 1 / Math.min(...seconds);
  }

  function newSession(parts, send, later) {
    const { gguf, vocabulary, llama, fewerBits } = parts;
    let [file, model, tokenizer] = Array(3).fill(null);
    let ready = Promise.resolve(); // when all weights are there
    let last = /** @type {any} */ (null); // {cache, changes}: what was read when somebody wrote, and under which changes
    const writing = new Map(); // id of a `write` -> its settings from the next token on, or null

    async function open({ blob }) {
      file = await gguf.open(blob);
      tokenizer = parts.tokenizer.load(vocabulary.describe(file.settings));
      model = await llama.load(file);
    }

    // ---- prompts and chances ----

    const idOf = (name) => tokenizer.encode(name, true)[0];

    /** @type {(prompt: any) => number[]} */
    function idsOf({ ids, text, chat }) {
      if (ids) return ids;
      if (!chat) return tokenizer.encode(text);
      const turns = typeof chat === "string" ? [{ role: "user", content: chat }] : chat;
      const system = turns[0]?.role === "system" ? [] : [{ role: "system", content: SYSTEM }];
      const [start, end] = ["<|im_start|>", "<|im_end|>"].map(idOf);
      const line = tokenizer.encode("\n");
      const read = [...system, ...turns].flatMap(({ role, content }) => [
        start,
        ...tokenizer.encode(`${role}\n${content}`),
        end,
        ...line,
      ]);
      return [...read, start, ...tokenizer.encode("assistant\n")];
    }

    const piece = (id) => tokenizer.decode([id]);

    // The n likeliest tokens, {id, text, p} each
    function likeliest(p, n) {
      const ids = [];
      for (const [id, value] of p.entries()) {
        if (ids.length === n && !(value > p[ids[n - 1]])) continue;
        const place = ids.findIndex((other) => value > p[other]);
        ids.splice(place < 0 ? ids.length : place, 0, id);
        ids.length = Math.min(ids.length, n);
      }
      return ids.map((id) => ({ id, text: piece(id), p: p[id] }));
    }

    const chancesOf = (logits) =>
      parts.model.probabilities(logits.subarray(-model.config.vocab_size));

    // ---- what can be asked ----

    function encode(prompt) {
      const ids = idsOf(prompt);
      return { ids, pieces: ids.map(piece) };
    }

    function read({ change, ask, top = 10, chances = [], ...prompt }) {
      const { ids, pieces } = encode(prompt);
      const run = llama.forward(model, ids, { change, ask });
      const p = chancesOf(run.logits);
      const first = chances.map((token) => p[token.id ?? tokenizer.encode(token)[0]]);
      return { ids, pieces, ...run, top: likeliest(p, top), chances: first };
    }

    function lens({ change, top = 3, place = -1, ...prompt }) {
      const { n_layers, d_model: C } = model.config;
      const blocks = Array.from({ length: n_layers + 1 }, (_, block) => block);
      const ids = idsOf(prompt);
      const { stream } = llama.forward(model, ids, { change, ask: { stream: blocks } });
      const rows = new Float32Array(blocks.length * C);
      const start = (place < 0 ? ids.length + place : place) * C;
      for (const block of blocks) rows.set(stream[block].subarray(start, start + C), block * C);
      const logits = llama.readOut(model, rows, change);
      const V = model.config.vocab_size;
      return blocks.map((block) =>
        likeliest(chancesOf(logits.subarray(block * V, (block + 1) * V)), top),
      );
    }

    // Fewer bits are those of the file's weights, whatever they are now
    async function lower({ bits }) {
      last = null;
      const filled = llama.fill(model, file);
      ready = bits === 4 ? filled : filled.then(() => fewerBits.lower(model, bits));
      await ready;
    }

    // A cache that has read the beginning of `ids` under the same changes, and the ids that are new
    function resume(ids, changes) {
      const cache = last?.changes === changes ? last.cache : llama.newCache(model);
      last = null; // while somebody writes with it
      const differs = cache.ids.findIndex((id, i) => id !== ids[i] || i === ids.length - 1);
      if (differs >= 0) cache.ids.length = differs;
      return { cache, unread: ids.slice(cache.ids.length) };
    }

    async function write({ id: job, change, ask, rules, seed, most = 100, top = 10, ...prompt }) {
      const changes = JSON.stringify(change ?? {});
      const { cache, unread } = resume(idsOf(prompt), ask ? "all is asked for" : changes);
      const text = llama.generate(model, unread, { cache, seed, change, ask, ...rules });
      const ends = ENDS.map(idOf);
      const ids = /** @type {number[]} */ ([]);
      while (ids.length < most && writing.get(job)) {
        const { value, done } = text.next(writing.get(job));
        if (done || ends.includes(value.id)) break;
        const { logits, p, id, ...answers } = value;
        ids.push(id);
        const own = chancesOf(logits);
        const token = { id, text: piece(id), p: p[id], chance: own[id] };
        const step = { ...token, top: likeliest(own, top) };
        send({ is: "step", id: job, value: { ...step, ...answers } });
        await new Promise(later);
        await ready;
      }
      if (!writing.get(job)?.change) last = { cache, changes };
      writing.delete(job);
      return { ids, text: tokenizer.decode(ids) };
    }

    // What bounds the speed of writing: the bytes of all matrices, and how many bytes memory copies a
    // second; their weights, and how many of them are unpacked and multiplied a second (`products`), and if
    // each piece comes from one place that stays in the cache (`multiplied`)
    function limits() {
      const { store } = model;
      const matrices = /** @type {any[]} */ (Object.values(store.matrices));
      const weights = matrices.reduce((sum, matrix) => sum + matrix.rows * matrix.columns, 0);
      const bytes = matrices.reduce(
        (sum, matrix) => sum + matrix.rows * matrix.blocks * parts.packed.BYTES[matrix.bits],
        0,
      );
      const copy = new Uint8Array(Math.min(bytes, 1 << 25));
      const place = () => Math.floor(Math.random() * (bytes - copy.length));
      const { start } = matrices[0];
      const copyWithin = (to, from, end) => store.bytes.copyWithin(to, start, start + end - from);
      const near = { ...store, bytes: { copyWithin } };
      const products = (of) => () => {
        for (const { name, columns } of matrices)
          parts.packed.product(of, name, new Float32Array(columns).fill(1));
      };
      return {
        bytes,
        weights,
        copied:
          copy.length *
          timesASecond(() => copy.set(store.bytes.subarray(place()).subarray(0, copy.length))),
        multiplied: weights * timesASecond(products(near)),
        products: weights * timesASecond(products(store)),
      };
    }

    // ---- messages ----

    const tasks = { config: () => model.config, encode, read, lens, lower, write, limits };

    async function receive(message) {
      const { do: task, id, settings } = message;
      try {
        if (task === "open") {
          ready = open(message);
          return await ready;
        }
        if (task === "stop") return writing.has(id) && writing.set(id, null);
        if (task === "steer") {
          const { rules, ...others } = settings;
          return writing.get(id) && writing.set(id, { ...writing.get(id), ...others, ...rules });
        }
        if (task === "write") writing.set(id, {}); // so that it can be stopped before it begins
        await ready;
        send({ is: "done", id, value: await tasks[task](message) });
      } catch (error) {
        writing.delete(id);
        send({ is: "failed", id, why: error.message });
      }
    }

    return { receive };
  }

  return { newSession };
});
