// SHA-256 of a file that comes in pieces, as FIPS 180-4 has it: the browser's own wants all of it in
// memory at once.

course.define("sha256", () => {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (x) => (x % 1) * 2 ** 32; // its first 32 bits
  const START = Int32Array.from(primes.slice(0, 8), (p) => fraction(Math.sqrt(p)) | 0);
  const ROUNDS = Int32Array.from(primes, (p) => fraction(Math.cbrt(p)) | 0);
  const BLOCK = 64; // bytes

  // {update(bytes), hex()}: any number of updates, then one hex()
  function newSha256() {
    const [state, w] = [START.slice(), new Int32Array(64)];
    const rest = new Uint8Array(BLOCK); // what does not fill a block yet
    let length = 0; // bytes so far

    function compress(view, start) {
      for (let i = 0; i < 16; i++) w[i] = view.getInt32(start + 4 * i);
      for (let i = 16; i < 64; i++) {
        const [x, y] = [w[i - 15], w[i - 2]];
        const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
      }
      let a = state[0];
      let b = state[1];
      let c = state[2];
      let d = state[3];
      let e = state[4];
      let f = state[5];
      let g = state[6];
      let h = state[7];

      for (let i = 0; i < 64; i++) {
        const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const first = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
        const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g;
        g = f;
        f = e;
        e = (d + first) | 0;
        d = c;
        c = b;
        b = a;
        a = (first + second) | 0;
      }
      for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] += value;
    }

    function update(bytes) {
      let start = 0;
      const used = length % BLOCK;
      length += bytes.length;
      if (used) {
        start = Math.min(BLOCK - used, bytes.length);
        rest.set(bytes.subarray(0, start), used);
        if (used + start < BLOCK) return;
        compress(new DataView(rest.buffer), 0);
      }
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (; start + BLOCK <= bytes.length; start += BLOCK) compress(view, start);
      rest.set(bytes.subarray(start));
    }

    // The end: a bit, zeros, and the length in bits
    function hex() {
      const zeros = (2 * BLOCK - 9 - (length % BLOCK)) % BLOCK;
      const end = new Uint8Array(9 + zeros);
      end[0] = 0x80;
      new DataView(end.buffer).setBigUint64(1 + zeros, 8n * BigInt(length));
      update(end);
      return Array.from(state, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
    }

    return { update, hex };
  }

  return { newSha256 };
});
