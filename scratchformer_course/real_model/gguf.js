// GGUF, the file in which llama.cpp keeps a model: settings, tokenizer and packed weights in one.
//
// It reads what scratchformer/data/gguf.py reads, and refuses the rest with a sentence. Weights stay
// where they are: a tensor is its place in the file. All numbers are little-endian.

course.define("gguf", () => {
  // Kind of a setting -> how a DataView reads it, and its bytes; 8 is a string, 9 an array
  const SCALARS = {
    0: ["getUint8", 1],
    1: ["getInt8", 1],
    2: ["getUint16", 2],
    3: ["getInt16", 2],
    4: ["getUint32", 4],
    5: ["getInt32", 4],
    6: ["getFloat32", 4],
    7: ["getUint8", 1], // true or false
    10: ["getBigUint64", 8],
    11: ["getBigInt64", 8],
    12: ["getFloat64", 8],
  };
  // Kind of a tensor -> the bits of a weight, and the weights and bytes of a block
  const KINDS = {
    0: { bits: 32, weights: 1, bytes: 4 }, // F32
    3: { bits: 4, weights: 32, bytes: 20 }, // Q4_1
    8: { bits: 8, weights: 32, bytes: 34 }, // Q8_0
  };
  // By llama.cpp's name: the patterns of scratchformer/tokenizers/patterns.py
  const REST = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+";
  const PATTERNS = {
    smollm: `\\p{N}|${REST}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?=\\p{N})|\\s+(?!\\S)|\\s+`,
    "gpt-2": `${REST}| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`,
  };
  const [ORDINARY, CONTROL] = [1, 3]; // the kinds of tokens that are read

  const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
  function check(isRight, message) {
    if (!isRight) throw new Error(`The file cannot be read: ${message}.`);
  }

  // Reads one value after another; what lies beyond the end is refused
  function newReader(view) {
    let place = 0;
    const texts = new TextDecoder();
    function skip(length) {
      check(length <= view.byteLength - place, "it is cut short");
      place += length;
      return place - length;
    }
    function take(kind) {
      check(kind in SCALARS, `it has a setting of kind ${kind}`);
      const [method, bytes] = SCALARS[kind];
      return Number(view[method](skip(bytes), true));
    }
    const count = () => take(10);
    function text() {
      const length = count();
      return texts.decode(new Uint8Array(view.buffer, view.byteOffset + skip(length), length));
    }
    function value(kind) {
      if (kind === 8) return text();
      if (kind !== 9) return take(kind);
      const [of, length] = [take(4), count()];
      check(length <= view.byteLength, "it is cut short");
      return Array.from({ length }, () => value(of));
    }
    return { count, text, value, whole: () => take(4), place: () => place };
  }

  // An ArrayBuffer -> {view, settings: name -> value, tensors: name -> {bits, shape, start}}, where a
  // shape has rows first, as in PyTorch, and `start` is the first byte
  function read(buffer) {
    const view = new DataView(buffer);
    const { count, text, value, whole, place } = newReader(view);
    check(whole() === 0x46554747 && whole() === 3, "it is no GGUF file of version 3"); // "GGUF"
    const [nTensors, nSettings] = [count(), count()];
    const settings = {};
    for (let n = 0; n < nSettings; n++) settings[text()] = value(whole());
    const tensors = {};
    for (let n = 0; n < nTensors; n++) {
      const name = text();
      const shape = Array.from({ length: whole() }, count).reverse();
      const kind = KINDS[whole()];
      check(kind, `${name} is packed in another way than F32, Q4_1 and Q8_0`);
      check(!Object.hasOwn(tensors, name), `it has ${name} twice`);
      tensors[name] = { ...kind, shape, start: count() };
    }
    const alignment = settings["general.alignment"] ?? 32;
    const first = Math.ceil(place() / alignment) * alignment;
    for (const [name, tensor] of Object.entries(tensors)) {
      const blocks = product(tensor.shape) / tensor.weights;
      tensor.start += first;
      const fits =
        Number.isInteger(blocks) && tensor.start + blocks * tensor.bytes <= buffer.byteLength;
      check(fits, `${name} is cut short`);
    }
    return { view, settings, tensors };
  }

  // The tokenizer's description for tokenizer.js. That the merges are in the order of the ids is
  // what Python checks (ByteBPE.from_gguf).
  function tokenizerOf({ settings }) {
    const [kind, pattern, tokens, kinds] = ["model", "pre", "tokens", "token_type"].map(
      (name) => settings[`tokenizer.ggml.${name}`],
    );
    check(
      kind === "gpt2" && pattern in PATTERNS,
      `its tokenizer is ${kind}, ${pattern}, expected gpt2 with ${Object.keys(PATTERNS).join(", ")}`,
    );
    const isKnown = (of) => of === ORDINARY || of === CONTROL;
    const isComplete = tokens && kinds?.length === tokens.length && kinds.every(isKnown);
    check(isComplete, "it holds no complete tokenizer");
    const byteOf = alphabet();
    const toBytes = (name) =>
      Array.from(name, (letter) => String.fromCharCode(byteOf[letter])).join("");
    const special_tokens = {};
    for (const [id, name] of tokens.entries()) {
      if (kinds[id] === CONTROL) special_tokens[name] = id;
    }
    return {
      tokenizer: "ByteBPE",
      pattern: PATTERNS[pattern],
      every_byte: false, // some have no token, and are left out
      special_tokens,
      tokens: tokens.map((name, id) => (kinds[id] === CONTROL ? name : toBytes(name))),
    };
  }

  // The printable character that stands for each byte in GPT-2's files -> the byte
  function alphabet() {
    const byteOf = {};
    let others = 256;
    for (let byte = 0; byte < 256; byte++) {
      const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
      byteOf[String.fromCharCode(isPrintable ? byte : others++)] = byte;
    }
    return byteOf;
  }

  return { read, tokenizerOf };
});
