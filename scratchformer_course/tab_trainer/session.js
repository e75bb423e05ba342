// A training run that is told what to do by messages, and tells how it goes: in a worker, so that
// the page stays free, or on the page where workers are not allowed.
//
// It takes {do: "start", run, text or packed, config, fixed, settings, seed, prompt, every},
// {do: "pause"}, {do: "resume"} and {do: "stop"}. It posts {is: "begun"}, {is: "step"},
// {is: "look"}, {is: "score"}, {is: "done"}, {is: "counted"}, and {is: "refused"} or
// {is: "failed"}, each with the `run` that it belongs to.
course.define("session", () => {
  const SAMPLE = 160; // characters of a sample

  // `parts` are the course's, `later(f)` calls f when messages have been read; `send(message,
  // transfer)` posts a message
  function newSession(parts, send, later) {
    const { model, trainer: Tr, text: Text, export: Export, counts: Counts } = parts;
    let current = 0; // which run is wanted
    let resume = null; // how a pause ends
    let waiting = Promise.resolve(); // when it has

    function receive(message) {
      if (message.do === "pause") {
        waiting = new Promise((resolve) => {
          resume = resolve;
        });
        return;
      }
      resume?.();
      if (message.do === "resume") return;
      current += 1;
      if (message.do === "start") start(message, current);
    }

    async function start(order, number) {
      const post = (message, transfer) => send({ ...message, run: order.run }, transfer);
      // Read messages, wait while the run is paused; false if it is not wanted any more
      async function isStillWanted() {
        await new Promise(later);
        await waiting;
        return number === current;
      }
      try {
        const read = await Text.read(order);
        const text = Text.prepare(read, order.prompt, order.config, order.settings);
        const { characters, config, first } = text;
        post({ is: "begun", characters, config, first });
        const isDone = await train({ ...order, ...text }, post, isStillWanted);
        if (!isDone) return;
        const before = performance.now(); // the rival is counted when the run is scored
        const tables = Counts.judge(text.ids, text.cut, characters.length);
        post({ is: "counted", tables, seconds: (performance.now() - before) / 1000 });
      } catch (error) {
        const is = error.isRefusal ? "refused" : "failed";
        if (number === current) post({ is, why: error.message });
      }
    }

    // Whether it came to its end
    async function train(order, post, isStillWanted) {
      const { config, settings, seed, validation, characters } = order;
      const { context_length: T } = config;
      const { batch_size, steps } = settings;
      const run = Tr.newRun(config, settings, seed);
      const { kind } = run.tape;
      const batches = Tr.windows(order.train, batch_size, T, seed);
      const pieces = [...Tr.scoringBatches(validation, T, batch_size)];
      let seconds = 0;

      // What the model writes, where it looks, and how it does on one batch of what is kept apart
      function look() {
        const maps = [];
        run.logits(order.first, (_, weights) => maps.push(weights.slice()));
        const ids = sample(model, run, order.first, seed);
        post({ is: "look", step: run.done(), maps, ids, ...run.judge(pieces[0]) });
      }
      if (!(await isStillWanted())) return false;
      look(); // noise
      while (run.done() < steps) {
        if (!(await isStillWanted())) return false;
        const before = performance.now();
        const loss = run.update(batches.next().value);
        seconds += (performance.now() - before) / 1000;
        post({ is: "step", step: run.done(), loss, seconds, kind });
        if (!Number.isFinite(loss)) return false; // the page says why
        if (run.done() % order.every === 0 || run.done() === steps) look();
      }

      // The mean loss of the whole validation text and the share of it that is named
      let [loss, right, count] = [0, 0, 0];
      for (const piece of pieces) {
        if (!(await isStillWanted())) return false;
        const judged = run.judge(piece);
        loss += judged.loss * piece.y.length;
        right += judged.right * piece.y.length;
        count += piece.y.length;
        post({ is: "score", share: count / (validation.length - 1) });
      }
      const weights = Object.entries(run.weights).map(([name, { rows, columns, data }]) => {
        return { name, shape: [rows, columns], data: data.slice() };
      });
      const description = describe({ ...order.fixed, ...config }, weights, characters);
      const scored = { loss: loss / count, right: right / count };
      const buffers = weights.map(({ data }) => data.buffer);
      post({ is: "done", ...scored, seconds, weights, description }, buffers);
      return true;
    }

    // For the views of the page; null if a number is too large for them
    function describe(...trained) {
      try {
        return Export.describe(...trained);
      } catch {
        return null;
      }
    }

    return { receive };
  }

  // Text of the model's own: the last T characters are read anew for each one
  function sample({ generator, probabilities, pick }, run, prompt, seed) {
    const { context_length: T, vocab_size: V } = run.config;
    const ids = Array.from(prompt);
    const random = generator(seed + 1);
    for (let i = 0; i < SAMPLE; i++) {
      const logits = run.logits(Int32Array.from(ids.slice(-T))).slice(-V);
      ids.push(pick(probabilities(logits), random()));
    }
    return ids.slice(prompt.length);
  }

  return { newSession };
});
