// A trained model for others: a description that model.js runs, and a file that Python opens.
"use strict";

var scratchformerExport = globalThis.scratchformerExport ?? (() => {
  // A number -> sign, 5 bits of exponent, 10 bits of fraction; halves go to the even one
  function float16(x) {
    const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0, size = Math.abs(x);
    if (!(size < 65520)) throw new Error(`a weight is ${x}, which float16 cannot hold`);
    const exponent = Math.max(-14, Math.floor(Math.log2(size || 1e-9)));
    const parts = size / 2 ** (exponent - 10), low = Math.floor(parts), rest = parts - low;
    const rounded = low + (rest > 0.5 || (rest === 0.5 && low % 2) ? 1 : 0);
    return sign + (exponent + 14) * 1024 + rounded; // rounded counts 1024 for a normal number
  }

  function base64(bytes) {
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) {
      text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    }
    return btoa(text);
  }

  // What scratchformer.explorer.describe gives, for weights [{name, shape, data}]
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
    return { config, tensors: weights.map(({ name, shape }) => ({ name, shape })),
      weights: base64(bytes), tokenizer: { tokenizer: "CharTokenizer", characters } };
  }

  // The bytes of a safetensors file that SpeedrunGPT.from_pretrained reads
  function safetensors(config, weights, characters) {
    const record = { config, characters }, header = {
      __metadata__: { scratchformer: JSON.stringify({ record }) },
    };
    let end = 0;
    for (const { name, shape, data } of weights) {
      header[name] = { dtype: "F32", shape, data_offsets: [end, (end += 4 * data.length)] };
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
})();

if (typeof module !== "undefined") module.exports = scratchformerExport; // Node
