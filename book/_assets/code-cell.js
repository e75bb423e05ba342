// The cell of an exercise, run in its page. In place of the notebook's stub stands a field to write
// in; *Run* has Python check it, with the words of the notebook. Python is fetched at the first
// press, and works in a worker that can be stopped (python-worker.js). The browser keeps the code.

course.define("codeCell", () => {
  const { el, button, store } = course;
  const INDENT = 4;
  const KEYS = "Tab indents, Esc leaves the field, Ctrl+Enter runs it.";
  const IN_ORDER = ["Shift+Tab", "Tab"]; // the keys that a phone has no key for, as buttons

  // ---- calculations ------------------------------------------------------------------------

  // What a key does to a text in which start to end is selected: `insert` takes the place of what is
  // between `from` and `to`, and then the selection is `start` to `end`
  function edit(key, text, start, end) {
    const head = text.lastIndexOf("\n", start - 1) + 1;
    const line = text.slice(head, start);
    if (key === "Enter") {
      const deeper = line.trimEnd().endsWith(":") ? INDENT : 0;
      const insert = `\n${" ".repeat(line.match(/^ */)[0].length + deeper)}`;
      return replaced(start, end, insert);
    }
    if (key === "Backspace") {
      return replaced(start - ((line.length - 1) % INDENT) - 1, end, "");
    }
    if (key === "Tab" && start === end) {
      return replaced(start, end, " ".repeat(INDENT - (line.length % INDENT)));
    }
    const tail = end + text.slice(end).search(/$/m);
    const lines = text.slice(head, tail);
    const deeper = lines.replace(/^(?=.)/gm, " ".repeat(INDENT));
    const insert = key === "Tab" ? deeper : lines.replace(/^ {1,4}/gm, "");
    const moved = insert.split("\n")[0].length - lines.split("\n")[0].length;
    return {
      ...replaced(head, tail, insert),
      start: Math.max(head, start + moved),
      end: Math.max(head, end + insert.length - lines.length),
    };
  }

  function replaced(from, to, insert) {
    const end = from + insert.length;
    return { from, to, insert, start: end, end };
  }

  // ---- Python ------------------------------------------------------------------------------

  // A function that runs the code of an exercise: `show` hears of each step, {is, …}
  function newPython(chapterPackage, scripts) {
    const waiting = new Map(); // number of an exercise -> {show, timer}
    let fetched = null;
    let worker = null;

    const fetchOne = (src) =>
      new Promise((onload, onerror) =>
        document.head.append(el("script", { src, onload, onerror })),
      );

    function end(message) {
      worker?.terminate();
      worker = null;
      for (const number of [...waiting.keys()]) answer(number, message);
    }

    function answer(number, message) {
      const { show, timer } = waiting.get(number) ?? {};
      clearTimeout(timer);
      waiting.delete(number);
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
      made.postMessage({ ...python, chapterPackage, table: course.described(chapterPackage) });
      return made;
    }

    async function run(number, code, show) {
      waiting.set(number, { show });
      try {
        if (!course.descriptions.python) show({ is: "fetching" });
        fetched ??= Promise.all(scripts.split(" ").map(fetchOne));
        await fetched;
        if (!waiting.has(number)) return; // it was stopped
        if (!worker) show({ is: "starting" });
        worker ??= start();
        worker.postMessage({ number, code });
      } catch (error) {
        fetched = null; // so that the next press tries again
        end({ is: "failed", why: error.message ?? "its files are missing" });
      }
    }

    return { run, stop: () => end({ is: "stopped" }) };
  }

  // ---- the page ----------------------------------------------------------------------------

  const STEPS = {
    fetching: "Fetching Python, 6 MB, once …",
    starting: "Starting Python …",
    begun: "Checking …",
  };
  const keyOf = (number) => `course-code:${number}`;

  function words({ is, why }) {
    return is === "failed" ? `Python failed: ${why}. Run starts it anew.` : "It was stopped.";
  }

  function build(box, python) {
    const number = box.dataset.exercise;
    const cells = [...box.querySelectorAll(":scope > .cell")];
    const cell = cells.find((codeCell) => /^checks\./m.test(codeCell.textContent));
    const stub = cell.querySelector("pre").textContent.trimEnd();
    const keys = el("p.course-keys", { id: `keys-${number}` }, KEYS);
    const field = el("textarea", {
      "aria-label": `Code of exercise ${number}`,
      "aria-describedby": keys.id,
      autocapitalize: "off",
      autocomplete: "off",
      spellcheck: "false",
      wrap: matchMedia("(pointer: coarse)").matches ? "soft" : "off",
      onkeydown,
      oninput: keepCode,
    });
    field.value = store.recall(keyOf(number)) ?? stub;
    const [run, stop] = [button("Run", press), button("Stop", () => python.stop())];
    const reset = button("Start over", () => {
      put({ from: 0, to: field.value.length, insert: stub, start: stub.length, end: stub.length });
    });
    const indents = IN_ORDER.map((key, i) => {
      const names = { "aria-label": ["Indent less", "Indent more"][i], class: "course-indent" };
      return button("⇤⇥"[i], () => type(key), names);
    });
    const row = el("div.course-code-buttons", run, stop, reset, ...indents, keys);
    const status = el("div", { role: "status" });
    cell.classList.add("course-on-paper");
    cell.after(el("div.course-code", field, row, status));
    const elsewhere = box.querySelector(".course-run")?.firstChild;
    if (elsewhere) elsewhere.data = elsewhere.data.replace("run it", "run the whole page");
    stop.hidden = true;
    fit();

    function fit() {
      field.rows = field.value.split("\n").length + 1;
      field.style.minHeight = "";
      const missing = field.scrollHeight - field.clientHeight; // of lines that are wrapped
      if (missing > 0) field.style.minHeight = `${field.offsetHeight + missing}px`;
      reset.hidden = field.value === stub;
    }

    function keepCode() {
      store.keep(keyOf(number), field.value === stub ? null : field.value);
      fit();
    }

    // As if it were typed, so that it can be undone
    function put({ from, to, insert, start, end }) {
      field.focus();
      field.setSelectionRange(from, to);
      if (!document.execCommand("insertText", false, insert)) {
        field.setRangeText(insert, from, to);
        keepCode();
      }
      field.setSelectionRange(start, end);
    }

    function onkeydown(event) {
      const { key, shiftKey, ctrlKey, metaKey, altKey, isComposing } = event;
      const [isRun, isPlain] = [(ctrlKey || metaKey) && key === "Enter", !ctrlKey && !metaKey];
      const isOurs =
        key === "Tab" || (!shiftKey && (key === "Enter" || (key === "Backspace" && isIndent())));
      if (isComposing || altKey) return;
      if (key === "Escape") return (stop.hidden ? run : stop).focus();
      if (!isRun && !(isPlain && isOurs)) return;
      event.preventDefault();
      if (isRun) return press();
      type(shiftKey ? "Shift+Tab" : key);
    }

    function type(key) {
      put(edit(key, field.value, field.selectionStart, field.selectionEnd));
      if (key === "Enter") field.scrollLeft = 0; // a new line is short
    }

    // Whether nothing but an indent is before the caret: Backspace takes one level of it
    function isIndent() {
      const { value, selectionStart: at, selectionEnd } = field;
      const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
      return at === selectionEnd && /^ +$/.test(line);
    }

    function press() {
      if (!stop.hidden) return; // it runs already
      const isPressed = document.activeElement === run;
      [run.hidden, stop.hidden] = [true, false];
      if (isPressed) stop.focus();
      python.run(number, field.value, show);
    }

    function show(message) {
      tell(message);
      status.scrollIntoView({ block: "nearest" });
    }

    function tell(message) {
      if (message.is in STEPS) return status.replaceChildren(el("p", STEPS[message.is]));
      const isPressed = document.activeElement === stop;
      [run.hidden, stop.hidden] = [false, true];
      if (isPressed) run.focus();
      if (message.is !== "verdict") return status.replaceChildren(el("p", words(message)));
      const verdict = el("div");
      verdict.innerHTML = message.html; // as Verdict writes it, kit/checks/verdict.py
      const printed = message.printed ? [el("pre", { tabindex: 0 }, message.printed)] : [];
      status.replaceChildren(...printed, verdict);
      if (message.state === "passed") course.progress.setWritten(number);
    }
  }

  const script = course.isPage && document.currentScript?.dataset;
  if (script) {
    const python = newPython(script.package, script.scripts);
    for (const box of document.querySelectorAll("section[data-exercise]")) build(box, python);
  }
  return { edit };
});
