// Python for a page: it is fetched at the first press of *Run*, works in a worker that can be
// stopped (python-worker.js), and gets the reader's earlier answers with each exercise. Once a reader
// has pressed *Run*, the next pages of the same visit start it when they are idle.

course.define("pagePython", () => {
  const { el, store } = course;
  const VISIT = "course-python"; // in the session's store: this reader runs code
  const SHARED = "course-python";
  const keyOf = (number) => `course-passed:${number}`;

  // The answers that have passed, of those exercises of a chapter which stand before this one
  function earlier(numbers, number) {
    const before = numbers.slice(0, numbers.indexOf(number));
    const answers = before.map((each) => [each, store.recall(keyOf(each))]);
    return answers.filter(([, code]) => code !== null);
  }

  // `numbers` are the exercises of the page. run(number, code, show): `show` hears of each step,
  // {is, …}; prepare() starts Python for later
  function open({ package: chapterPackage, scripts }, numbers) {
    const waiting = new Map(); // number of an exercise -> {code, show, timer}
    let fetched = null;
    let worker = null;

    const fetchOne = (src) =>
      new Promise((onload, onerror) =>
        document.head.append(el("script", { src, onload, onerror })),
      );

    async function fetchAll() {
      fetched ??= Promise.all(scripts.split(" ").map(fetchOne));
      await fetched;
    }

    function end(message) {
      worker?.terminate();
      worker = null;
      for (const number of [...waiting.keys()]) answer(number, message);
    }

    function answer(number, message) {
      const { code, show, timer } = waiting.get(number) ?? {};
      clearTimeout(timer);
      waiting.delete(number);
      if (message.is === "verdict" && code !== undefined) {
        store.keep(keyOf(number), message.state === "passed" ? code : null);
      }
      show?.(message);
    }

    function receive(data) {
      if (data.is === "failed") return end(data);
      const run = waiting.get(data.number);
      if (data.is === "verdict") return answer(data.number, data);
      run.timer = setTimeout(() => {
        answer(data.number, { is: "verdict", ...data.late });
        end({ is: "stopped" });
      }, 1000 * data.seconds);
      run.show(data);
    }

    function start() {
      const { program, ...python } = course.described("python", "Python");
      const parts = [program, course.program("pythonWorker"), "course.pythonWorker.serve();"];
      const address = URL.createObjectURL(
        new Blob([parts.join("\n")], { type: "text/javascript" }),
      );
      const made = new Worker(address);
      made.onmessage = ({ data }) => made === worker && receive(data);
      made.onerror = ({ message }) => end({ is: "failed", why: message ?? "no worker starts" });
      const files = [SHARED, chapterPackage].map((name) => course.described(name, "its files"));
      made.postMessage({ ...python, chapterPackage, files });
      return made;
    }

    async function run(number, code, show) {
      waiting.set(number, { code, show });
      rememberVisit();
      try {
        if (!course.descriptions.python) show({ is: "fetching" });
        await fetchAll();
        if (!waiting.has(number)) return; // it was stopped
        if (!worker) show({ is: "starting" });
        worker ??= start();
        worker.postMessage({ number, code, earlier: earlier(numbers, number) });
      } catch (error) {
        fetched = null; // so that the next press tries again
        end({ is: "failed", why: error.message ?? "its files are missing" });
      }
    }

    async function prepare() {
      try {
        await fetchAll();
        worker ??= start();
      } catch {
        fetched = null; // the press of *Run* says what is missing
      }
    }

    return { run, prepare, stop: () => end({ is: "stopped" }) };
  }

  // ---- whether to start before the first press -----------------------------------------------

  function rememberVisit() {
    try {
      sessionStorage.setItem(VISIT, "1");
    } catch {
      // then each page waits for its press
    }
  }

  function isSameVisit() {
    try {
      return sessionStorage.getItem(VISIT) !== null;
    } catch {
      return false;
    }
  }

  function whenIdle(start) {
    const later = globalThis.requestIdleCallback ?? ((call) => setTimeout(call, 2000));
    if (document.readyState === "complete") return later(start);
    addEventListener("load", () => later(start));
  }

  return { open, isSameVisit, whenIdle, earlier };
});
