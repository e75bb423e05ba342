// A text for training: its characters, their ids, and what is kept apart for the score.
"use strict";

globalThis.scratchformerText ??= (function text() {
  const LARGEST = 2 ** 18; // numbers in one matrix, see matrix.js
  const PROMPT = 25; // ids, where the wanted prompt cannot be written

  const say = (n) => n.toLocaleString("en");
  const refusal = (why) => Object.assign(new Error(why), { isRefusal: true });

  // The text of {text}, or of {packed}: gzip in base64
  async function read({ text, packed }) {
    if (text) return text;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // The text as ids, the last tenth of it apart: what the course calls the validation split. Gives
  // also the configuration for its number of characters, and the prompt as ids
  function prepare(text, prompt, wanted, { batch_size }) {
    text = text.toWellFormed?.() ?? text;
    const { context_length: T, d_model } = wanted;
    const codes = new Int32Array(text.length);
    const ids = new Int32Array(0x110000).fill(-1);
    let length = 0;
    for (let i = 0; i < text.length; i += codes[length - 1] > 0xffff ? 2 : 1) {
      const code = text.codePointAt(i);
      codes[length++] = code;
      ids[code] = 0;
    }
    const characters = []; // in the order of their numbers
    for (let code = 0; code < ids.length; code++) {
      if (ids[code] === 0) ids[code] = characters.push(String.fromCodePoint(code)) - 1;
    }
    const V = characters.length;
    const most = Math.floor(LARGEST / d_model);
    const needed = Math.ceil(((batch_size + 2) * T) / 0.9);
    if (V > most) {
      throw refusal(
        `The text has ${say(V)} different characters; ` +
          `at this width at most ${say(most)} can be learned.`,
      );
    }
    if (length < needed) {
      throw refusal(
        `The text has ${say(length)} characters; ` + `these settings need at least ${say(needed)}.`,
      );
    }
    const all = codes.subarray(0, length).map((code) => ids[code]);
    const cut = Math.floor(0.9 * length);
    const validation = all.subarray(cut);
    const asked = Array.from(prompt, (c) => ids[c.codePointAt(0)]);
    const first = asked.includes(-1) ? validation.slice(0, PROMPT) : Int32Array.from(asked);
    const bigram_rows = wanted.bigram_rows && Math.min(V * V, wanted.bigram_rows);
    return {
      characters,
      train: all.subarray(0, cut),
      validation,
      first: first.slice(-T),
      config: { ...wanted, vocab_size: V, bigram_rows },
    };
  }

  return { read, prepare, source: `(${text})()` };
})();

if (typeof module !== "undefined") module.exports = scratchformerText; // Node
