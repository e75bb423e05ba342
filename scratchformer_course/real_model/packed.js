// The matrices of a model in 4 and 8 bits, all in one memory, and their products with vectors.
//
// A block is 32 neighbours in a row of a matrix. In memory its scale is a float32, so that
//   in 4 bits it takes 24 bytes: scale, minimum, and 32 numbers from 0 to 15, i and i + 16 in a byte
//   in 8 bits it takes 36 bytes: scale, and 32 numbers from -128 to 127.
// A weight is number * scale + minimum. Where the browser has WebAssembly's SIMD, a small program
// (packed_product.wat) unpacks each block once and uses it for several tokens. Elsewhere plain
// JavaScript does the same.

course.define("packed", () => {
  // packed_product.wat in base64; tests/real_model/test_packed.py assembles it again
  const PROGRAM =
    "AGFzbQEAAAABDAFgCH9/f39/f39/AAINAQFtBm1lbW9yeQIAAQMCAQAHCwEHcHJvZHVjdAAACqwGAakGAgZ/DXsgASELA0AgBCEIIAIhDANAIAP9CQIAIQ4gAEEERgRAIAP9CQIEIQ8gA/0AAgghECAQ/QwPAAAADwAAAA8AAAAPAAAA/U79+gEhESAQQQj9rQH9DA8AAAAPAAAADwAAAA8AAAD9Tv36ASESIBBBEP2tAf0MDwAAAA8AAAAPAAAADwAAAP1O/foBIRMgEEEY/a0B/QwPAAAADwAAAA8AAAAPAAAA/U79+gEhFCAQQQT9rQH9DA8AAAAPAAAADwAAAA8AAAD9Tv36ASEVIBBBDP2tAf0MDwAAAA8AAAAPAAAADwAAAP1O/foBIRYgEEEU/a0B/QwPAAAADwAAAA8AAAAPAAAA/U79+gEhFyAQQRz9rQH9+gEhGCADQRhqIQMF/QwAAAAAAAAAAAAAAAAAAAAAIQ8gA/0AAgQhECAQQRj9qwFBGP2sAf36ASERIBBBEP2rAUEY/awB/foBIRIgEEEI/asBQRj9rAH9+gEhEyAQQRj9rAH9+gEhFCAD/QACFCEQIBBBGP2rAUEY/awB/foBIRUgEEEQ/asBQRj9rAH9+gEhFiAQQQj9qwFBGP2sAf36ASEXIBBBGP2sAf36ASEYIANBJGohAwsgBiEJIAUhDQNAIBEgCP0AAgD95gEhGSASIAj9AAIQ/eYBIRogGSATIAj9AAIg/eYB/eQBIRkgGiAUIAj9AAIw/eYB/eQBIRogGSAVIAj9AAJA/eYB/eQBIRkgGiAWIAj9AAJQ/eYB/eQBIRogGSAXIAj9AAJg/eYB/eQBIRkgGiAYIAj9AAJw/eYB/eQBIRogCSAJ/QAEACAPIAj9AAKAAf3mAf3kASAOIBkgGv3kAf3mAf3kAf0LBAAgCEGQAWohCCAJQRBqIQkgDUEBayENIA0NAAsgDEEBayEMIAwNAAsgBiEJIAUhDSAHIQoDQCAJ/QAEACEZIAogGf0fACAZ/R8BkiAZ/R8CIBn9HwOSkjgCACAJ/QwAAAAAAAAAAAAAAAAAAAAA/QsEACAKIAFBBGxqIQogCUEQaiEJIA1BAWshDSANDQALIAdBBGohByALQQFrIQsgCw0ACwsA2gEEbmFtZQKfAQEAGwAEYml0cwEEcm93cwIGYmxvY2tzAwF3BAdmaXJzdF94BQZ0b2tlbnMGCWZpcnN0X3N1bQcHZmlyc3RfeQgBeAkDc3VtCgF5CwNyb3cMBWJsb2NrDQV0b2tlbg4Fc2NhbGUPB21pbmltdW0QBWJ5dGVzEQJuMBICbjETAm4yFAJuMxUCbjQWAm41FwJuNhgCbjcZBGV2ZW4aA29kZAMxAQAEAAhlYWNoX3JvdwEKZWFjaF9ibG9jawMKZWFjaF90b2tlbgQKZWFjaF90b2tlbg==";
  const TOKENS = 16; // that the program takes at once
  const AT_HAND = 16384; // bytes of a matrix that lie in the processor's cache while one token meets them
  const BYTES = { 4: 24, 8: 36 }; // of a block in memory
  // The order in which it takes the channels of a block: those that lie in the same bits of four words
  const IN_WORDS = Array.from({ length: 32 }, (_, i) => (i & 16) + 4 * (i & 3) + ((i >> 2) & 3));

  // 16 bits of the file -> a number: sign, 5 bits of exponent, 10 bits of fraction
  const float16 = Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const part = (bits & 1023) / 1024;
    return sign * (exponent ? (1 + part) * 2 ** (exponent - 15) : part / 2 ** 14);
  });

  // ---- memory ----

  // Room for matrices [name, {shape, bits}], and for the program's work
  function create(tensors, isPlain = false) {
    let end = 0;
    function reserve(bytes) {
      const start = end;
      end += Math.ceil(bytes / 16) * 16;
      return start;
    }
    const matrices = {};
    for (const [name, { shape, bits }] of tensors) {
      const [rows, columns] = shape;
      const blocks = columns / 32; // of a row
      const start = reserve(rows * blocks * BYTES[bits]);
      matrices[name] = { name, rows, columns, bits, blocks, start };
    }
    const most = (size) => Math.max(...Object.values(matrices).map((matrix) => matrix[size]));
    const x = reserve(4 * TOKENS * 36 * most("blocks"));
    const sums = reserve(16 * TOKENS);
    const y = reserve(4 * TOKENS * most("rows"));
    const atHand = reserve(Math.max(AT_HAND, BYTES[8] * most("blocks")));
    const { buffer, ...program } = (!isPlain && withProgram(end)) || withoutProgram(end);
    const [float32, bytes] = [new Float32Array(buffer), new Uint8Array(buffer)];
    return { matrices, x, sums, y, atHand, float32, bytes, ...program };
  }

  function withProgram(size) {
    const program = Uint8Array.from(atob(PROGRAM), (letter) => letter.charCodeAt(0));
    if (!globalThis.WebAssembly?.validate(program)) return null; // no SIMD
    const memory = new WebAssembly.Memory({ initial: Math.ceil(size / 65536) });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(program), { m: { memory } });
    const run = instance.exports.product;
    return { kind: "simd", buffer: memory.buffer, run, order: IN_WORDS };
  }

  // A tensor of the file, as the matrix of this name
  function fill({ matrices, float32 }, name, view) {
    const { rows, blocks, bits, start } = matrices[name];
    const whole = new Uint32Array(float32.buffer);
    const [head, words] = bits === 4 ? [4, 4] : [2, 8]; // bytes before the numbers, and these
    let [byte, to] = [0, start / 4];
    for (let block = 0; block < rows * blocks; block++) {
      const scale = view.getUint16(byte, true);
      const minimum = bits === 4 ? view.getUint16(byte + 2, true) : 0;
      const areNumbers = (scale & 0x7c00) < 0x7c00 && (minimum & 0x7c00) < 0x7c00;
      if (!areNumbers)
        throw new Error(`The file cannot be read: ${name} has weights that are no numbers.`);
      float32[to++] = float16[scale];
      if (bits === 4) float32[to++] = float16[minimum];
      byte += head;
      for (let word = 0; word < words; word++, byte += 4) whole[to++] = view.getUint32(byte, true);
    }
  }

  // ---- products ----

  // x (T, columns) -> x Wᵀ (T, rows), for a matrix W (rows, columns)
  function product(store, name, x) {
    const { rows, columns, blocks, bits, start } = store.matrices[name];
    const { float32, order } = store;
    const T = x.length / columns;
    const result = new Float32Array(T * rows);
    for (let first = 0; first < T; first += TOKENS) {
      const tokens = Math.min(TOKENS, T - first);
      // (tokens, columns) -> (blocks, tokens, 36): what meets a block lies together, then its sums
      let to = store.x / 4;
      for (let block = 0; block < blocks; block++) {
        for (let t = first; t < first + tokens; t++, to += 36) {
          const from = t * columns + block * 32;
          float32.fill(0, to + 32, to + 36);
          for (let i = 0; i < 32; i++) {
            const value = x[from + order[i]];
            float32[to + i] = value;
            float32[to + 32 + (i & 3)] += value;
          }
        }
      }
      if (tokens > 1) store.run(bits, rows, blocks, start, store.x, tokens, store.sums, store.y);
      else productOfOne(store, store.matrices[name]);
      const y = float32.subarray(store.y / 4, store.y / 4 + tokens * rows); // (tokens, rows)
      result.set(y, first * rows);
    }
    return result;
  }

  // For one token memory is slower than the program. So some rows at a time are copied into the cache first:
  // a copy waits for many bytes at once, and the program for few
  function productOfOne(store, { rows, blocks, bits, start }) {
    const { bytes, x, sums, y, atHand, run } = store;
    const size = blocks * BYTES[bits]; // of a row
    const some = Math.max(1, Math.floor(AT_HAND / size));
    for (let row = 0; row < rows; row += some) {
      const n = Math.min(some, rows - row);
      bytes.copyWithin(atHand, start + row * size, start + (row + n) * size);
      run(bits, n, blocks, atHand, x, 1, sums, y + 4 * row);
    }
  }

  // 32 weights of the block that begins at this byte -> `to`, from `place` on
  function unpack(float32, bytes, bits, start, to, place) {
    const scale = float32[start / 4];
    if (bits === 8) {
      for (let i = 0; i < 32; i++) to[place + i] = ((bytes[start + 4 + i] << 24) >> 24) * scale;
      return;
    }
    const minimum = float32[start / 4 + 1];
    for (let i = 0; i < 16; i++) {
      const both = bytes[start + 8 + i];
      to[place + i] = (both & 15) * scale + minimum;
      to[place + 16 + i] = (both >> 4) * scale + minimum;
    }
  }

  // What packed_product.wat does, without it. Addresses are in bytes
  function withoutProgram(size) {
    const buffer = new ArrayBuffer(size);
    const [float32, bytes] = [new Float32Array(buffer), new Uint8Array(buffer)];
    const weights = new Float32Array(32);
    function run(bits, rows, blocks, start, x, tokens, _sums, y) {
      const sums = new Float64Array(tokens);
      for (let row = 0; row < rows; row++) {
        let from = x / 4;
        sums.fill(0);
        for (let block = 0; block < blocks; block++, start += BYTES[bits]) {
          unpack(float32, bytes, bits, start, weights, 0);
          for (let t = 0; t < tokens; t++, from += 36) {
            sums[t] += course.model.parts.dot(weights, 0, float32, from, 32);
          }
        }
        for (let t = 0; t < tokens; t++) float32[y / 4 + t * rows + row] = sums[t];
      }
    }
    return { kind: "plain", buffer, run, order: [...IN_WORDS.keys()] };
  }

  // Row `row` of a matrix -> (columns)
  function rowOf({ matrices, float32, bytes }, name, row) {
    const { columns, blocks, bits, start } = matrices[name];
    const weights = new Float32Array(columns);
    for (let block = 0; block < blocks; block++) {
      const from = start + (row * blocks + block) * BYTES[bits];
      unpack(float32, bytes, bits, from, weights, block * 32);
    }
    return weights;
  }

  return { create, fill, product, rowOf, unpack, BYTES };
});
