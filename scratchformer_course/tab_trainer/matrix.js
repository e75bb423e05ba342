// One product of matrices, C += A B, on which all of the training rests.
//
// Where the browser has WebAssembly's SIMD, a small program computes it, four numbers at a time
// (kernels.js). Elsewhere plain JavaScript does it.
// A matrix is a view: entry (i, j) is data[start + i * rowStride + j * columnStride] of a Float32Array.

course.define("matrix", () => {
  // The tile that stays in the processor's registers
  const ROWS = 4;
  const COLUMNS = 8;

  function view(data, rowStride, start = 0, columnStride = 1) {
    return { data, start, rowStride, columnStride };
  }
  function transposed({ data, start, rowStride, columnStride }) {
    return { data, start, rowStride: columnStride, columnStride: rowStride };
  }

  // A program of kernels.js: C += A B for m rows (a multiple of 4) and n columns (a multiple of 8)
  const kernel = (kind) =>
    Uint8Array.from(atob(course.kernels[kind]), (letter) => letter.charCodeAt(0));

  // ---- the product ---------------------------------------------------------------------------

  // Rows rowStart..rowEnd and columns columnStart..columnEnd of C += A B, in plain JavaScript, four
  // columns at a time; x and y are the places of the entries of A and B
  function plain(C, A, B, rowStart, rowEnd, columnStart, columnEnd, k) {
    for (let i = rowStart; i < rowEnd; i++) {
      let j = columnStart;
      for (; j + 3 < columnEnd; j += 4) {
        let s0 = 0;
        let s1 = 0;
        let s2 = 0;
        let s3 = 0;
        let x = A.start + i * A.rowStride;
        let y = B.start + j;
        for (let p = 0; p < k; p++) {
          const value = A.data[x];
          s0 += value * B.data[y];
          s1 += value * B.data[y + 1];
          s2 += value * B.data[y + 2];
          s3 += value * B.data[y + 3];
          x += A.columnStride;
          y += B.rowStride;
        }
        const to = C.start + i * C.rowStride + j;
        C.data[to] += s0;
        C.data[to + 1] += s1;
        C.data[to + 2] += s2;
        C.data[to + 3] += s3;
      }
      for (; j < columnEnd; j++) {
        let sum = 0;
        let x = A.start + i * A.rowStride;
        let y = B.start + j;
        for (let p = 0; p < k; p++, x += A.columnStride, y += B.rowStride) {
          sum += A.data[x] * B.data[y];
        }
        C.data[C.start + i * C.rowStride + j] += sum;
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
      const compiled = new WebAssembly.Module(kernel(kind));
      program = new WebAssembly.Instance(compiled, { m: { m: memory } }).exports.f;
    }
    // the first megabyte: B, its rows made dense
    const packed = new Float32Array(buffer, 0, 1 << 18);

    // C (m, n) += A (m, k) B (k, n); the columns of C lie side by side
    function product(C, A, B, m, n, k) {
      if (B.columnStride !== 1) {
        if (k * n > packed.length) {
          throw new Error(`a matrix of ${k * n} numbers, at most ${packed.length} fit`);
        }
        for (let p = 0; p < k; p++) {
          for (let j = 0, from = B.start + p * B.rowStride; j < n; j++, from += B.columnStride) {
            packed[p * n + j] = B.data[from];
          }
        }
        B = view(packed, n);
      }
      const rows = program ? m - (m % ROWS) : 0;
      const columns = program ? n - (n % COLUMNS) : 0;
      if (rows && columns && k) {
        const offsets = [C, A, B].map(({ data, start }) => data.byteOffset + 4 * start);
        const strides = [C.rowStride, A.rowStride, A.columnStride, B.rowStride].map(
          (numbers) => 4 * numbers,
        );
        program(...offsets, rows, columns, k, ...strides);
      }
      plain(C, A, B, 0, rows, columns, n, k);
      plain(C, A, B, rows, m, 0, n, k);
    }
    return { buffer, product, kind, reserved: packed.byteLength };
  }

  // What this browser can do
  function best() {
    const can = (kind) => typeof WebAssembly === "object" && WebAssembly.validate(kernel(kind));
    return ["fused", "simd"].find(can) ?? "plain";
  }

  return { create, best, view, transposed };
});
