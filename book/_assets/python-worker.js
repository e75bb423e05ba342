// Python in a worker of its own (Pyodide), which checks the code of exercises: what the worker runs.
// A page sends it what code_ext.py has packed, then of an exercise at a time {number, code, earlier}:
// `earlier` are [number, code] of the reader's answers before it, which the chapter goes on with.

course.define("pythonWorker", () => {
  const NOWHERE = "https://pyodide.invalid/"; // Pyodide asks for files by an address

  function bytes(base64) {
    const text = atob(base64);
    const numbers = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) numbers[i] = text.charCodeAt(i);
    return numbers;
  }

  // Pyodide's files come from memory; nothing else is fetched
  function answerFetches({ wasm, library }) {
    const files = {
      "pyodide.asm.wasm": () =>
        new Blob([bytes(wasm)]).stream().pipeThrough(new DecompressionStream("gzip")),
      "python_stdlib.zip": () => bytes(library),
    };
    globalThis.fetch = async (address) => {
      const file = files[`${address}`.slice(NOWHERE.length)];
      if (!file) throw new TypeError("Python in a page has no network.");
      return new Response(file(), { headers: { "Content-Type": "application/wasm" } });
    };
  }

  // The functions of kit/checks/in_page.py
  async function start({ wasm, library, lock, files, chapterPackage }) {
    answerFetches({ wasm, library });
    const { loadPyodide, _createPyodideModule } = /** @type {any} */ (globalThis);
    const python = await loadPyodide({
      indexURL: NOWHERE,
      lockFileContents: lock,
      createPyodideModule: _createPyodideModule,
    });
    for (const zip of files) python.unpackArchive(bytes(zip), "zip", { extractDir: "/course" });
    python.runPython("import sys; sys.path.insert(0, '/course')");
    const inPage = python.pyimport("scratchformer_course.kit.checks.in_page");
    inPage.open_chapter(chapterPackage, product);
    return inPage;
  }

  // The n × m numbers of a product, from n × k of one matrix and m × k of the other, turned. Python's
  // arrays of doubles are read where they lie (page_torch/products.py).
  function product(left, right, n, k, m) {
    const buffers = [left, right].map((array) => array.getBuffer("f64"));
    const [a, b] = buffers.map(({ data }) => data);
    const numbers = new Float64Array(n * m);
    for (let row = 0, to = 0; row < n; row += 1) {
      for (let column = 0; column < m; column += 1, to += 1) {
        let sum = 0;
        for (let i = row * k, j = column * k, end = i + k; i < end; i += 1, j += 1) {
          sum += a[i] * b[j];
        }
        numbers[to] = sum;
      }
    }
    for (const buffer of buffers) buffer.release();
    return numbers;
  }

  function serve() {
    const send = /** @type {(message: any) => void} */ (postMessage);
    const known = new Map(); // number -> code of an answer that Python has met
    let started = null;
    globalThis.onmessage = async ({ data }) => {
      try {
        if (data.wasm) {
          started = start(data);
          await started;
          return;
        }
        const inPage = await started;
        for (const [number, code] of data.earlier) {
          if (known.get(number) !== code) inPage.remember(number, code);
          known.set(number, code);
        }
        known.set(data.number, data.code);
        send({ is: "begun", number: data.number, ...JSON.parse(inPage.late(data.number)) });
        const verdict = JSON.parse(inPage.run(data.number, data.code));
        send({ is: "verdict", number: data.number, ...verdict });
      } catch (error) {
        send({ is: "failed", why: error.message.trim().split("\n").at(-1) });
      }
    };
  }

  return { serve };
});
