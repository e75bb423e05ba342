// The matrices of packed.js in 2 or 3 bits, as `rounded` of page_model/fewer_bits.py computes them.

course.define("fewerBits", () => {
  // The nearest float16 of a number that is not negative, of two equally near the even one
  function nearestFloat16(number) {
    const size = Math.fround(number);
    const step = 2 ** Math.max(Math.floor(Math.log2(size)) - 10, -24);
    const steps = Math.floor(size / step);
    const rest = size / step - steps;
    return (steps + (rest > 0.5 || (rest === 0.5 && steps % 2) ? 1 : 0)) * step;
  }

  // Each block gets whole numbers from -most to most times a scale. They lie where the weights lay:
  // there is no way back but to load the file again.
  function lower({ store }, toBits) {
    if (![2, 3].includes(toBits)) throw new Error(`bits=${toBits}, expected 2 or 3`);
    const { float32, bytes } = store;
    const most = 2 ** (toBits - 1) - 1;
    const weights = new Float32Array(32);
    for (const { rows, blocks, bits, start } of Object.values(store.matrices)) {
      const size = course.packed.BYTES[bits];
      for (let at = start; at < start + rows * blocks * size; at += size) {
        course.packed.unpack(float32, bytes, bits, at, weights, 0);
        const exact = weights.reduce((largest, w) => Math.max(largest, Math.abs(w)), 0) / most;
        let scale = nearestFloat16(exact);
        // where float16 has few digits left, rather too large than one that cuts weights off
        if (exact < 2 ** -14 && scale < exact) scale += 2 ** -24;
        const levels = weights.map((weight) => {
          const level = Math.floor(weight / (scale || 1) + 0.5);
          return Math.max(-most, Math.min(most, level));
        });
        float32[at / 4] = scale;
        if (bits === 8) bytes.set(levels, at + 4);
        else {
          float32[at / 4 + 1] = -most * scale;
          for (let i = 0; i < 16; i++) {
            bytes[at + 8 + i] = (levels[i] + most) | ((levels[i + 16] + most) << 4);
          }
        }
      }
    }
  }

  return { lower };
});
