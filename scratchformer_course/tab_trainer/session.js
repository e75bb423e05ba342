// A training run that is told what to do by messages, and tells how it goes: in a worker of its
// own, so that the page stays free, or on the page where workers are not allowed.

// It takes {do: "start", run, text or packed, config, fixed, settings, seed, prompt, every},
// {do: "pause"}, {do: "resume"} and {do: "stop"}. It posts {is: "begun"}, {is: "step"},
// {is: "look"}, {is: "score"}, {is: "done"}, {is: "counted"}, and {is: "refused"} or
// {is: "failed"}, each with the `run` that it belongs to.
//
// A second worker may help. Both are told to by {do: "meet", port} and {do: "help", port}, the two
// ends of a channel, and {do: "alone"} says that the second has failed. Each half of a batch is
// computed on its own, by whichever worker, so a run gives the same numbers with one as with two.
course.define("session", () => {
  const SAMPLE = 160; // characters of a sample
  // Whether two workers gain is tried: steps that are not counted, since the browser is still
  // translating the program, then some by the first worker alone, then some by both
  const ALONE = 5;
  const TOGETHER = 11;
  const DECIDED = 17;

  // ---- the second worker ---------------------------------------------------------------------

  // It keeps the same weights as the first, and learns and scores what it is asked to
  function newHelper(Tr, post) {
    let run = null;
    let name = null;
    let own = []; // what it has learned of this step's batch
    const work = {
      start: ({ config, settings, seed }) => {
        run = Tr.newRun(config, settings, seed);
        own = [];
      },
      learn: (half) => {
        own = [run.learn(half)];
        return own[0];
      },
      apply: ({ parts }) => {
        run.apply([...parts, ...own]);
        own = [];
      },
      score: (piece) => run.judge(piece),
    };
    return (message) => {
      let answer = null; // the first worker does itself what has failed
      if (message.do === "start") name = message.run;
      try {
        if (message.run === name) answer = work[message.do](message) ?? null;
      } catch {
        name = null; // no more of this run
      }
      if (message.number) post({ number: message.number, answer });
    };
  }

  // The first worker's way to it. What is asked of one that has failed is answered by null, at once
  function newPartner(port) {
    const open = new Map(); // what was asked and is not answered yet
    let count = 0;
    let hasLeft = false;
    function answered(number, answer) {
      open.get(number)?.(answer);
      open.delete(number);
    }
    port.onmessage = ({ data }) => answered(data.number, data.answer);
    return {
      tell: (message) => port.postMessage(message),
      ask: (message) =>
        new Promise((then) => {
          if (hasLeft) return then(null);
          open.set(++count, then);
          port.postMessage({ ...message, number: count });
        }),
      leave: () => {
        hasLeft = true;
        for (const number of [...open.keys()]) answered(number, null);
      },
    };
  }

  // ---- the first ------------------------------------------------------------------------------

  // `parts` are the course's, `later(f)` calls f when messages have been read; `send(message, transfer)` posts one
  function newSession(parts, send, later) {
    const { model, trainer: Tr, text: Text, export: Export, counts: Counts } = parts;
    let current = 0; // which run is wanted
    let partner = null; // the second worker
    let resume = null; // how a pause ends
    let waiting = Promise.resolve(); // when it has

    function receive(message) {
      if (message.do === "help") {
        const help = newHelper(Tr, (answer) => message.port.postMessage(answer));
        message.port.onmessage = ({ data }) => help(data);
      }
      if (message.do === "meet") partner = newPartner(message.port);
      if (message.do === "alone") {
        partner?.leave();
        partner = null;
      }
      if (message.do === "pause" && !resume) {
        waiting = new Promise((then) => {
          resume = then;
        });
      }
      if (["resume", "start", "stop"].includes(message.do)) {
        resume?.();
        resume = null;
      }
      if (["start", "stop"].includes(message.do)) current += 1;
      if (message.do === "start") start(message, current);
    }

    async function start({ run: name, ...order }, own) {
      const post = (message, transfer) => send({ ...message, run: name }, transfer);
      // Read messages, wait while the run is paused; false if it is not wanted any more
      async function turn() {
        await new Promise(later);
        await waiting;
        return own === current;
      }
      try {
        const read = await Text.read(order);
        const text = Text.prepare(read, order.prompt, order.config, order.settings);
        const { characters, config, first } = text;
        post({ is: "begun", characters, config, first });
        const isDone = await train({ ...order, ...text, name }, post, turn);
        if (!isDone) return;
        const before = performance.now(); // the rival is counted when the run is scored
        const tables = Counts.judge(text.ids, text.cut, text.characters.length);
        post({ is: "counted", tables, seconds: (performance.now() - before) / 1000 });
      } catch (error) {
        const is = error.isRefusal ? "refused" : "failed";
        if (own === current) post({ is, why: error.message });
      }
    }

    // Whether it came to its end
    async function train({ name, config, settings, seed, train: ids, ...order }, post, turn) {
      const { context_length: T } = config;
      const { batch_size, steps } = settings;
      let helper = partner;
      let seconds = 0;
      helper?.tell({ do: "start", run: name, config, settings, seed });
      const run = Tr.newRun(config, settings, seed);
      const batches = Tr.windows(ids, batch_size, T, seed);
      /** @type {Record<string, number[]>} */
      const times = { alone: [], together: [] }; // seconds of the steps that are counted

      // One step, its second half by the second worker or by this one
      async function update(batch, together) {
        const [first, second] = Tr.halves(batch, T);
        const asked = together && second && helper.ask({ do: "learn", run: name, ...second });
        const parts = [run.learn(first)];
        if (asked) helper.tell({ do: "apply", run: name, parts });
        if (second) parts.push((asked && (await asked)) || run.learn(second));
        if (!asked) helper?.tell({ do: "apply", run: name, parts });
        return run.apply(parts);
      }
      // What the model writes, where it looks, and how it does on one batch of what is kept apart
      function look() {
        const maps = [];
        run.logits(order.first, (_, weights) => maps.push(weights.slice()));
        const ids = sample(model, run, order.first, seed);
        const [piece] = Tr.pieces(order.validation, T, batch_size);
        post({ is: "look", step: run.done(), maps, ids, ...run.judge(piece) });
      }
      if (!(await turn())) return false;
      look(); // noise
      while (run.done() < steps) {
        if (!(await turn())) return false;
        if (helper !== partner) helper = null; // it has failed
        const usual = { alone: median(times.alone), together: median(times.together) };
        if (run.done() === DECIDED && !(usual.together < usual.alone)) helper = null;
        const together = helper !== null && (run.done() < ALONE || run.done() >= TOGETHER);
        const before = performance.now();
        const way = together ? "together" : "alone";
        const loss = await update(batches.next().value, together);
        const took = (performance.now() - before) / 1000;
        seconds += took;
        if (run.done() > ALONE) times[way].push(took);
        const { kind } = run.tape;
        post({ is: "step", step: run.done(), loss, seconds, kind, together, usual });
        if (!Number.isFinite(loss)) return false; // the page says why
        if (run.done() % order.every === 0 || run.done() === steps) look();
      }
      const scored = await score(run, helper, name, order.validation, post, turn);
      if (scored === null) return false;
      const weights = Object.entries(run.weights).map(([own, W]) => ({
        name: own,
        shape: [W.rows, W.columns],
        data: W.data.slice(),
      }));
      const description = describe({ ...order.fixed, ...config }, weights, order.characters);
      post(
        { is: "done", ...scored, seconds, weights, description },
        weights.map(({ data }) => data.buffer),
      );
      return true;
    }

    // The mean loss of the whole validation text and the share of it that is named, by both workers;
    // null if the run is stopped
    async function score(run, helper, name, validation, post, turn) {
      let [loss, right, count] = [0, 0, 0];
      const add = (piece, judged) => {
        loss += judged.loss * piece.y.length;
        right += judged.right * piece.y.length;
        count += piece.y.length;
      };
      const all = [...Tr.pieces(validation, run.config.context_length, run.settings.batch_size)];
      while (all.length) {
        if (!(await turn())) return null;
        const [one, other] = all.splice(0, 2);
        const asked = other && helper?.ask({ do: "score", run: name, ...other });
        add(one, run.judge(one));
        if (other) add(other, (asked && (await asked)) ?? run.judge(other));
        post({ is: "score", share: count / (validation.length - 1) });
      }
      return { loss: loss / count, right: right / count };
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

  const median = (numbers) => numbers.slice().sort((a, b) => a - b)[numbers.length >> 1] ?? null;

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

  // In a worker: a session that the page's messages speak to
  function serve() {
    const { port1, port2 } = new MessageChannel();
    const queue = [];
    port1.onmessage = () => queue.shift()();
    const later = (f) => {
      queue.push(f);
      port2.postMessage(null);
    };
    const send = (message, transfer = []) => postMessage(message, { transfer });
    const { receive } = newSession(course, send, later);
    globalThis.onmessage = ({ data }) => receive(data);
  }

  return { newSession, serve };
});
