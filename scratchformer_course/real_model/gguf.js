// GGUF, the file in which llama.cpp keeps a model: settings, tokenizer and packed weights in one.
//
// It reads what scratchformer/data/gguf.py reads, but for float16, and refuses the rest with a
// sentence. Weights stay where they are: a tensor is its place in the file. Numbers are little-endian.
// Only the head, which holds everything but the weights, is read into memory.

course.define("gguf", () => {
  // By its kind, how DataView names a number among the settings; 8 is a string, 9 an array
  const NUMBERS =
    "Uint8 Int8 Uint16 Int16 Uint32 Int32 Float32 Uint8 - - BigUint64 BigInt64 Float64".split(" ");
  const [UINT32, STRING, ARRAY, UINT64] = [4, 8, 9, 10];
  const FIRST = 4e6; // bytes to begin with: a head is mostly the tokenizer, SmolLM2's 1.7 million
  // Kind of a tensor -> the bits of a weight, and the weights and bytes of a block
  const KINDS = {
    0: { bits: 32, weights: 1, bytes: 4 }, // F32
    3: { bits: 4, weights: 32, bytes: 20 }, // Q4_1
    8: { bits: 8, weights: 32, bytes: 34 }, // Q8_0
  };

  function check(isRight, message) {
    if (!isRight) throw new Error(`The file cannot be read: ${message}.`);
  }

  // Reads one value after another; what lies beyond the end is refused
  function newReader(view) {
    const texts = new TextDecoder();
    let end = 0; // of what has been read
    function skip(length) {
      check(length <= view.byteLength - end, "it is cut short");
      end += length;
      return end - length;
    }
    function value(kind) {
      if (kind === STRING) {
        const length = value(UINT64);
        return texts.decode(new Uint8Array(view.buffer, skip(length), length));
      }
      if (kind === ARRAY) {
        const [of, length] = [value(UINT32), value(UINT64)];
        check(length <= view.byteLength, "it is cut short");
        return Array.from({ length }, () => value(of));
      }
      const bits = Number(/\d+/.exec(NUMBERS[kind]));
      check(bits, `it has a setting of kind ${kind}`);
      return Number(view[`get${NUMBERS[kind]}`](skip(bits / 8), true));
    }
    return { value, end: () => end };
  }

  // The first bytes of a file of this size -> {settings: name -> value, tensors: name -> {bits, shape,
  // start, end}}: a shape has rows first, as in PyTorch; `start` is the first byte, `end` is behind the last
  function readHead(buffer, size) {
    const { value, end } = newReader(new DataView(buffer));
    const isGguf = value(UINT32) === 0x46554747 && value(UINT32) === 3; // "GGUF"
    check(isGguf, "it is no GGUF file of version 3");
    const [nTensors, nSettings] = [value(UINT64), value(UINT64)];
    const [settings, tensors] = [{}, {}];
    for (let n = 0; n < nSettings; n++) settings[value(STRING)] = value(value(UINT32));
    for (let n = 0; n < nTensors; n++) {
      const name = value(STRING);
      const shape = Array.from({ length: value(UINT32) }, () => value(UINT64)).reverse();
      const kind = KINDS[value(UINT32)];
      check(kind, `${name} is packed in another way than F32, Q4_1 and Q8_0`);
      check(!Object.hasOwn(tensors, name), `it has ${name} twice`);
      tensors[name] = { ...kind, shape, start: value(UINT64) };
    }
    const alignment = settings["general.alignment"] ?? 32;
    const first = Math.ceil(end() / alignment) * alignment;
    for (const [name, tensor] of Object.entries(tensors)) {
      const blocks = tensor.shape.reduce((a, b) => a * b, 1) / tensor.weights;
      tensor.start += first;
      tensor.end = tensor.start + blocks * tensor.bytes;
      check(Number.isInteger(blocks) && tensor.end <= size, `${name} is cut short`);
    }
    return { settings, tensors };
  }

  // A Blob -> what `readHead` gives, and the blob
  async function open(blob) {
    for (let length = FIRST; ; length *= 4) {
      const buffer = await blob.slice(0, length).arrayBuffer();
      try {
        return { ...readHead(buffer, blob.size), blob };
      } catch (error) {
        if (length >= blob.size) throw error; // else the head may be longer
      }
    }
  }

  return { open };
});
