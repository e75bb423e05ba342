// A trained model for others: a description that model.js runs, and a file that Python opens.

course.define("export", () => {
  // A number of float32 -> sign, 5 bits of exponent, 10 bits of fraction; halves go to the even one
  function float16(x) {
    if (!(Math.abs(x) < 65520)) throw new Error(`a weight is ${x}, which float16 cannot hold`);
    // Below 2^-14 float16 counts in steps of 2^-24, then in 1024 steps from one power of 2 to the next
    const power = Math.max(0, Math.floor(Math.log2(Math.abs(x))) + 14);
    const steps = Math.abs(x) * 2 ** (24 - power);
    const low = Math.floor(steps);
    const rest = steps - low;
    const up = rest > 0.5 || (rest === 0.5 && low % 2) ? 1 : 0;
    return (x < 0 || Object.is(x, -0) ? 0x8000 : 0) + 1024 * power + low + up;
  }

  function base64(bytes) {
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) {
      text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    }
    return btoa(text);
  }

  // What scratchformer_course.page_model.describe gives, for weights [{name, shape, data}]
  function describe(config, weights, characters) {
    const bytes = new Uint8Array(2 * weights.reduce((sum, { data }) => sum + data.length, 0));
    let n = 0;
    for (const { data } of weights) {
      for (const number of data) {
        const bits = float16(number);
        bytes[n++] = bits & 255;
        bytes[n++] = bits >> 8;
      }
    }
    return {
      config,
      tensors: weights.map(({ name, shape }) => ({ name, shape })),
      weights: base64(bytes),
      tokenizer: { tokenizer: "CharTokenizer", characters },
    };
  }

  // The bytes of a safetensors file that SpeedrunGPT.from_pretrained reads
  function safetensors(config, weights, characters) {
    const record = { config, characters };
    const header = { __metadata__: { scratchformer: JSON.stringify({ record }) } };
    let end = 0;
    for (const { name, shape, data } of weights) {
      const start = end;
      end += 4 * data.length;
      header[name] = { dtype: "F32", shape, data_offsets: [start, end] };
    }
    const text = new TextEncoder().encode(JSON.stringify(header));
    const padded = Math.ceil(text.length / 8) * 8;
    const bytes = new Uint8Array(8 + padded + end).fill(32, 8, 8 + padded);
    const numbers = new DataView(bytes.buffer);
    numbers.setUint32(0, padded, true);
    numbers.setUint32(4, 0, true);
    bytes.set(text, 8);
    let at = 8 + padded;
    for (const { data } of weights) {
      for (const number of data) {
        numbers.setFloat32(at, number, true);
        at += 4;
      }
    }
    return bytes;
  }

  return { float16, describe, safetensors };
});
