// One product of matrices, C += A B, on which all of the training rests.
//
// Where the browser has WebAssembly's SIMD, a small program computes it, four numbers at a time.
// Its bytes are assembled here, instruction by instruction. Elsewhere plain JavaScript does it.
// A matrix is a view: entry (i, j) is data[start + i * row + j * column] of a Float32Array.

course.define("matrix", () => {
  // The tile that stays in the processor's registers
  const ROWS = 4;
  const COLUMNS = 8;

  function view(data, row, start = 0, column = 1) {
    return { data, start, row, column };
  }
  function transposed({ data, start, row, column }) {
    return { data, start, row: column, column: row };
  }

  // ---- an assembler for what the kernel needs (WebAssembly core specification, section 5) ------

  // A whole number in 7 bits a byte, the lowest first; the last byte's bit 6 is the sign
  function leb(n) {
    const bytes = [];
    for (;;) {
      const low = n & 127;
      n >>= 7;
      if ((n === 0 && low < 64) || (n === -1 && low >= 64)) return [...bytes, low];
      bytes.push(low | 128);
    }
  }
  const unsigned = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >> 7)]);

  const I32 = 0x7f;
  const V128 = 0x7b;
  const get = (local) => [0x20, local];
  const set = (local) => [0x21, local];
  const int = (n) => [0x41, ...leb(n)];
  const ADD = 0x6a;
  const MULTIPLY = 0x6c;
  const LESS = 0x48;
  const vector = (code, ...more) => [0xfd, ...unsigned(code), ...more];
  const load = (address, offset) => [get(address), vector(0x00, 2, offset)];
  const loadFourTimes = (address) => [get(address), vector(0x09, 2, 0)]; // one number, four times
  const store = (offset) => vector(0x0b, 2, offset);
  const PLUS = vector(0xe4);
  const TIMES = vector(0xe6);
  const MULTIPLY_ADD = vector(0x105);
  const ZERO = vector(0x0c, ...Array(16).fill(0));
  const advance = (local, by) => [get(local), by, ADD, set(local)];
  const LOOP = [0x03, 0x40];
  const GO_BACK_IF = [0x0d, 0];
  const END = 0x0b;
  // Body, again and again, while local < limit; it runs at least once
  const repeat = (local, step, limit, body) => [
    [int(0), set(local)],
    [LOOP, body, advance(local, int(step))],
    [get(local), get(limit), LESS, GO_BACK_IF, END],
  ];

  // The program: C += A B for m rows (a multiple of 4) and n columns (a multiple of 8)
  function kernel(fused) {
    const [c, a, b, m, n, k, cRow, aRow, aColumn, bRow, i, j, p, at] = Array(14).keys();
    const rows = [14, 15, 16, 17]; // where the entries of A are read
    // vectors; `sums` and the seven behind it
    const low = 18;
    const high = 19;
    const one = 20;
    const sums = 21;
    // start + row * size, for the address of row i + r
    const rowOf = (start, r, size) => [get(start), get(i), int(r), ADD, get(size), MULTIPLY, ADD];
    const column = [get(j), int(4), MULTIPLY];
    const addresses = rows.map((local, r) => [rowOf(a, r, aRow), set(local)]);
    const sum = (r, half) => sums + 2 * r + half;
    const multiply = (half, local) =>
      fused
        ? [get(one), get(half), get(local), MULTIPLY_ADD, set(local)]
        : [get(one), get(half), TIMES, get(local), PLUS, set(local)];
    const inner = [
      [load(at, 0), set(low), load(at, 16), set(high)],
      rows.map((local, r) => [
        [loadFourTimes(local), set(one)],
        [multiply(low, sum(r, 0)), multiply(high, sum(r, 1))],
        advance(local, get(aColumn)),
      ]),
      advance(at, get(bRow)),
    ];
    const writes = rows.map((_, r) => [
      [rowOf(c, r, cRow), column, ADD, set(at)],
      [0, 1].map((half) => [
        [get(at), load(at, 16 * half), get(sum(r, half))],
        [PLUS, store(16 * half)],
      ]),
    ]);
    const tile = [
      [addresses, get(b), column, ADD, set(at)],
      Array.from({ length: 2 * ROWS }, (_, s) => [ZERO, set(sums + s)]),
      [repeat(p, 1, k, inner), writes],
    ];
    const code = repeat(i, ROWS, m, repeat(j, COLUMNS, n, tile));
    const locals = [2, 8, I32, 3 + 2 * ROWS, V128]; // beside the ten arguments
    const section = (id, ...content) => {
      const bytes = content.flat(Infinity);
      return [id, ...unsigned(bytes.length), ...bytes];
    };
    const body = [locals, code, END].flat(Infinity);
    return new Uint8Array([
      ...[0x00, 0x61, 0x73, 0x6d], // "\0asm"
      ...[1, 0, 0, 0], // its version
      ...section(1, 1, 0x60, 10, Array(10).fill(I32), 0), // one type: ten integers, no result
      ...section(2, 1, 1, 0x6d, 1, 0x6d, 2, 0, 1), // import memory "m"."m" of at least a page
      ...section(3, 1, 0), // one function, of that type
      ...section(7, 1, 1, 0x66, 0, 0), // exported as "f"
      ...section(10, 1, unsigned(body.length), body),
    ]);
  }

  // ---- the product ---------------------------------------------------------------------------

  // Rows from..m and columns first..n of C += A B, in plain JavaScript, four
  // columns at a time; x and y are the places of the entries of A and B
  function plain(C, A, B, from, m, first, n, k) {
    for (let i = from; i < m; i++) {
      let j = first;
      for (; j + 3 < n; j += 4) {
        let s0 = 0;
        let s1 = 0;
        let s2 = 0;
        let s3 = 0;
        let x = A.start + i * A.row;
        let y = B.start + j;
        for (let p = 0; p < k; p++) {
          const value = A.data[x];
          s0 += value * B.data[y];
          s1 += value * B.data[y + 1];
          s2 += value * B.data[y + 2];
          s3 += value * B.data[y + 3];
          x += A.column;
          y += B.row;
        }
        const to = C.start + i * C.row + j;
        C.data[to] += s0;
        C.data[to + 1] += s1;
        C.data[to + 2] += s2;
        C.data[to + 3] += s3;
      }
      for (; j < n; j++) {
        let sum = 0;
        let x = A.start + i * A.row;
        let y = B.start + j;
        for (let p = 0; p < k; p++, x += A.column, y += B.row) {
          sum += A.data[x] * B.data[y];
        }
        C.data[C.start + i * C.row + j] += sum;
      }
    }
  }

  // {memory, product}: `bytes` of memory for all numbers, and the product on arrays that lie in it.
  // `kind` is "fused" (multiply and add in one instruction), "simd" or "plain"; the best if not
  // given.
  function create(bytes, kind = best()) {
    const pages = Math.ceil(bytes / 65536);
    const memory = kind === "plain" ? null : new WebAssembly.Memory({ initial: pages });
    const buffer = memory ? memory.buffer : new ArrayBuffer(pages * 65536);
    let program = null;
    if (memory) {
      const compiled = new WebAssembly.Module(kernel(kind === "fused"));
      program = new WebAssembly.Instance(compiled, { m: { m: memory } }).exports.f;
    }
    // the first megabyte: B, its rows made dense
    const packed = new Float32Array(buffer, 0, 1 << 18);

    // C (m, n) += A (m, k) B (k, n); the columns of C lie side by side
    function product(C, A, B, m, n, k) {
      if (B.column !== 1) {
        if (k * n > packed.length) {
          throw new Error(`a matrix of ${k * n} numbers, at most ${packed.length} fit`);
        }
        for (let p = 0; p < k; p++) {
          for (let j = 0, from = B.start + p * B.row; j < n; j++, from += B.column) {
            packed[p * n + j] = B.data[from];
          }
        }
        B = view(packed, n);
      }
      const rows = program ? m - (m % ROWS) : 0;
      const columns = program ? n - (n % COLUMNS) : 0;
      if (rows && columns && k) {
        const places = [C, A, B].map(({ data, start }) => data.byteOffset + 4 * start);
        const steps = [C.row, A.row, A.column, B.row].map((numbers) => 4 * numbers);
        program(...places, rows, columns, k, ...steps);
      }
      plain(C, A, B, 0, rows, columns, n, k);
      plain(C, A, B, rows, m, 0, n, k);
    }
    return { buffer, product, kind, reserved: packed.byteLength };
  }

  // What this browser can do
  function best() {
    const can = (fused) => typeof WebAssembly === "object" && WebAssembly.validate(kernel(fused));
    return can(true) ? "fused" : can(false) ? "simd" : "plain";
  }

  return { create, best, kernel, view, transposed };
});
