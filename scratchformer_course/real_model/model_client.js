// Needs: model_panel.js page_model/model.js page_model/tokenizer.js gguf.js packed.js changes.js
// Needs: llama.js fewer_bits.js vocabulary.js model_session.js kit/figure/workers.js
// The real model as the figures of a page ask it: one for all, in one worker, which starts with the
// first question. What fails is an Error with a sentence.
//
// A prompt is {text}, {ids}, or {chat}: a question, or turns [{role, content}, …]. `change` and `ask`
// are those of changes.js.
//   encode(prompt)  {ids, pieces}: the tokens, and their texts
//   read({...prompt, change, ask, top, chances})  the same, what was asked for, `top` likeliest next tokens
//       {id, text, p}, and for each token {id}, or text, in `chances` the probability that it, or its first
//       token, comes next
//   write({...prompt, change, ask, rules, seed, most, top}, onstep, signal)  {ids, text}, after a call
//       onstep({id, text, p, chance, top, …}) for each token: p after the rules, `chance` and those of
//       `top` before
//   steer({change, ask, rules})  what holds from the next token on, for what is being written
//   lens({...prompt, change, place, top})  for each block from 0 on, what its stream says at a place
//   lower(bits)  3 or 2, or 4 as in the file        config()  the sizes
//   limits()  what bounds the speed: {bytes, weights, copied, multiplied, products}, the last three a second

course.define("modelClient", () => {
  const PARTS = ["model", "tokenizer", "gguf", "packed", "changes", "llama", "fewerBits"];
  const NEEDED = [...PARTS, "vocabulary", "modelSession"];

  function newClient() {
    let [blob, work] = /** @type {any[]} */ ([null, null]);
    let count = 0;
    const waiting = new Map(); // id of a question -> what hears of its answer
    let lastWriting = 0;

    function receive({ is, id, value, why }) {
      const asked = waiting.get(id);
      if (is === "step") return asked?.onstep(value);
      waiting.delete(id);
      if (is === "done") return asked?.done(value);
      if (id) return asked?.fail(new Error(why));
      end(why); // the worker itself, as where memory runs out
    }

    function send(message) {
      if (!blob) throw new Error("The model is not loaded.");
      if (!work) {
        work = course.workers.startWork(NEEDED, receive);
        work.send({ do: "open", blob });
      }
      work.send(message);
    }

    function question(task, message, onstep = (_step) => {}) {
      const id = ++count;
      return new Promise((done, fail) => {
        waiting.set(id, { done, fail, onstep });
        send({ ...message, do: task, id });
      });
    }

    function end(why) {
      work?.stop();
      work = null;
      const left = [...waiting.values()];
      waiting.clear();
      for (const { fail } of left) fail(new Error(why));
    }

    function open(newBlob) {
      blob = newBlob;
    }
    function close() {
      blob = null;
      end("The model was deleted.");
    }

    function write(message, onstep, signal) {
      const writing = question("write", message, onstep);
      const id = count;
      lastWriting = id;
      signal?.addEventListener("abort", () => waiting.has(id) && send({ do: "stop", id }));
      return writing;
    }
    const steer = (settings) => send({ do: "steer", id: lastWriting, settings });
    const task = (name) => (message) => question(name, message);
    const [encode, read, lens] = ["encode", "read", "lens"].map(task);
    const [config, limits] = ["config", "limits"].map(task);
    const lower = (bits) => question("lower", { bits });
    return { open, close, encode, read, write, steer, lens, lower, config, limits };
  }

  return { newClient, client: newClient() };
});
