// A text for training: its characters, their ids, and what is kept apart for the score.

course.define("text", () => {
  const LARGEST = 2 ** 18; // numbers in one matrix, see matrix.js
  const PROMPT = 25; // characters of a prompt that is taken from the text

  const grouped = (n) => n.toLocaleString("en");
  const refusal = (why) => Object.assign(new Error(why), { isRefusal: true });

  // The text of {text}, or of {packed}: gzip in base64
  async function read({ text, packed }) {
    if (text) return text;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // How many characters a text needs: nine tenths hold a batch, whose windows overlap by three quarters
  const needed = ({ context_length: T }, { batch_size }) =>
    Math.ceil((batch_size * Math.ceil(T / 4) + T + 1) / 0.9);

  // Some whole words of a text: where they begin and end in its list of characters
  function opening(text) {
    const isSpace = (i) => /\s/.test(text[i] ?? " ");
    const start = Math.max(
      0,
      text.findIndex((_, i) => i > 0 && isSpace(i - 1) && !isSpace(i)),
    );
    let end = start + PROMPT;
    while (end > start && !isSpace(end)) end -= 1;
    return [start, end > start ? end : start + PROMPT]; // there may be no spaces
  }

  // The text as ids, the last tenth of it apart: what the course calls the validation split. Gives
  // also the configuration for its number of characters, and the prompt as ids. A prompt that is
  // empty, or has characters that the text has not, is taken from the text.
  function prepare(text, prompt, wanted, settings) {
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
    const least = needed(wanted, settings);
    if (V > most) {
      throw refusal(
        `The text has ${grouped(V)} different characters; ` +
          `at this width at most ${grouped(most)} can be learned.`,
      );
    }
    if (length < least) {
      throw refusal(
        `The text is too short: it has ${grouped(length)} characters, and these settings need at least ` +
          `${grouped(least)}. Add more of it, or choose a shorter context.`,
      );
    }
    const all = codes.subarray(0, length).map((code) => ids[code]);
    const cut = Math.floor(0.9 * length);
    const validation = all.subarray(cut);
    const asked = Int32Array.from(prompt, (c) => ids[c.codePointAt(0)]);
    const isWritable = asked.length > 0 && !asked.includes(-1);
    const words = opening(Array.from(validation.subarray(0, 200), (id) => characters[id]));
    const first = isWritable ? asked : validation.slice(...words);
    const bigram_rows = wanted.bigram_rows && Math.min(V * V, wanted.bigram_rows);
    return {
      characters,
      ids: all,
      cut,
      train: all.subarray(0, cut),
      validation,
      first: first.slice(-T),
      config: { ...wanted, vocab_size: V, bigram_rows },
    };
  }

  return { read, prepare, needed };
});
