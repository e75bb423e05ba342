// A training run that is told what to do by messages, and tells how it goes: in a worker of its
// own, so that the page stays free, or on the page where workers are not allowed.
//
// It takes {do: "start", run, config, settings, seed, train, validation, prompt, every},
// {do: "pause"}, {do: "resume"} and {do: "stop"}. It posts {is: "step"}, {is: "look"},
// {is: "score"}, {is: "done"} and {is: "failed"}, each with the `run` that it belongs to.
"use strict";

var scratchformerSession = globalThis.scratchformerSession ?? (function session() {
  const SAMPLE = 160; // characters of a sample

  // `later(f)` calls f when messages have been read; `send(message, transfer)` posts one
  function newSession(Tr, send, later) {
    let number = 0, paused = null; // which run; what goes on after a pause

    function receive(message) {
      if (message.do === "start") start(message, ++number);
      if (message.do === "stop") number += 1;
      if (message.do === "pause") paused ??= () => {};
      if (message.do === "resume" && paused) {
        const goOn = paused;
        paused = null;
        goOn();
      }
      if (message.do !== "pause" && message.do !== "resume") paused = null;
    }

    function start({ run: name, config, settings, seed, train, validation, prompt, every }, own) {
      const post = (message, transfer) => send({ ...message, run: name }, transfer);
      let seconds = 0, run, batches;

      // One piece of work, then the next, unless the run has ended or waits
      function repeat(work) {
        if (own !== number) return;
        if (paused) {
          paused = () => repeat(work);
          return;
        }
        const before = performance.now();
        try {
          const next = work();
          seconds += (performance.now() - before) / 1000;
          if (next) later(() => repeat(next));
        } catch (error) {
          post({ is: "failed", why: error.message });
        }
      }
      function begin() {
        run = Tr.newRun(config, settings, seed);
        batches = Tr.windows(train, settings.batch_size, config.context_length, seed);
        return step;
      }
      function step() {
        const loss = run.update(batches.next().value);
        post({ is: "step", step: run.done, loss, seconds, kind: run.tape.kind });
        if (!Number.isFinite(loss)) return null; // the page says why
        const isLast = run.done === settings.steps;
        if (run.done % every === 0 || isLast) look();
        return isLast ? scoring(Tr.scores(run, validation, settings.batch_size)) : step;
      }
      function look() {
        const maps = [];
        run.logits(prompt, (_, weights) => maps.push(weights.slice()));
        post({ is: "look", step: run.done, maps, sample: sample(run, prompt, seed) });
      }
      function scoring(parts) {
        let sum = 0, count = 0;
        const total = validation.length - 1;
        return function score() {
          const { value, done } = parts.next();
          if (done) return finish(sum / count);
          sum += value.loss * value.count;
          count += value.count;
          post({ is: "score", share: count / total });
          return score;
        };
      }
      function finish(loss) {
        const weights = Object.entries(run.weights).map(([name, W]) =>
          ({ name, shape: [W.rows, W.columns], data: W.data.slice() }));
        post({ is: "done", loss, seconds, weights }, weights.map(({ data }) => data.buffer));
        return null;
      }
      paused = null;
      repeat(begin);
    }

    // Text of the model's own: the last T characters are read anew for each one
    function sample(run, prompt, seed) {
      const { context_length: T, vocab_size: V } = run.config, ids = Array.from(prompt);
      const random = Tr.generator(seed + 1);
      for (let i = 0; i < SAMPLE; i++) {
        const logits = run.logits(Int32Array.from(ids.slice(-T))).slice(-V);
        let largest = -Infinity, sum = 0, u = random(), id = 0;
        for (const z of logits) largest = Math.max(largest, z);
        const p = logits.map((z) => Math.exp(z - largest));
        for (const x of p) sum += x;
        for (u *= sum; id < V - 1 && u >= p[id]; id++) u -= p[id];
        ids.push(id);
      }
      return ids.slice(prompt.length);
    }

    return { receive };
  }

  return { newSession, source: `(${session})()` };
})();

if (typeof module !== "undefined") module.exports = scratchformerSession; // Node
