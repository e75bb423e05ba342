// The cell of an exercise, run in its page. In place of the notebook's stub is a field to write in;
// *Run* has Python check it (page-python.js), with the words of the notebook. The browser keeps the
// code. The last exercise of a page offers the chapter's notebook with all that was written.

course.define("codeCell", () => {
  const { el, button, store } = course;
  const KEYS = "Tab indents, Esc leaves the field, Ctrl+Enter runs it.";
  const SLOW = 1000; // milliseconds, from which on a check says that it still runs
  const CHECK = /^checks\./m;
  const keyOf = (number) => `course-code:${number}`;

  // ---- calculations ------------------------------------------------------------------------

  const STEPS = {
    fetching: "Fetching Python, 7 MB, once …",
    starting: "Starting Python …",
    begun: "Checking …",
  };

  function words({ is, why }) {
    return is === "failed" ? `Python failed: ${why}. Run starts it anew.` : "It was stopped.";
  }

  // The notebook as a text, with answers by number: {"5.1": code}. Their checks stay in their cells
  function filled({ notebook, stubs }, answers) {
    const copy = structuredClone(notebook);
    for (const [number, code] of Object.entries(answers)) {
      const cell = copy.cells[stubs[number]];
      if (!cell) continue;
      const check = [cell.source]
        .flat()
        .join("")
        .split("\n")
        .filter((line) => CHECK.test(line));
      const isChecked = CHECK.test(code);
      cell.source = isChecked ? code : [code.trimEnd(), "", ...check].join("\n");
    }
    return JSON.stringify(copy, null, 1);
  }

  // ---- an exercise -------------------------------------------------------------------------

  function build(box, python) {
    const number = box.dataset.exercise;
    const cells = [...box.querySelectorAll(":scope > .cell")];
    const cell = cells.find((codeCell) => CHECK.test(codeCell.textContent));
    const stub = cell.querySelector("pre").textContent.trimEnd();
    const keys = el("p.course-keys", { id: `keys-${number}` }, KEYS);
    const names = { "aria-label": `Code of exercise ${number}`, "aria-describedby": keys.id };
    const on = { changed, run: press, leave: () => (stop.hidden ? run : stop).focus() };
    const text = store.recall(keyOf(number)) ?? stub;
    const { element: editor, field, indents, put, fit } = course.codeField.build(names, text, on);
    const [run, stop] = [button("Run", press), button("Stop", () => python.stop())];
    let before = null; // what *Start over* has taken away
    const reset = button("Start over", startOver);
    const status = el("div", { role: "status" });
    cell.classList.add("course-on-paper");
    const row = el("div.course-code-buttons", run, stop, reset, ...indents, keys);
    const element = el("div.course-code", editor, row, status);
    cell.after(element);
    const elsewhere = box.querySelector(".course-run")?.firstChild;
    if (elsewhere) elsewhere.data = elsewhere.data.replace("run it", "run the whole page");
    let clock = 0;
    stop.hidden = true;
    reset.hidden = field.value === stub;
    fit();

    function changed() {
      store.keep(keyOf(number), field.value === stub ? null : field.value);
      if (field.value !== stub) before = null;
      reset.hidden = field.value === stub && before === null;
      reset.textContent = before === null ? "Start over" : "Bring my code back";
    }

    function startOver() {
      const text = before ?? stub;
      before = before === null ? field.value : null;
      if (stop.hidden) status.replaceChildren(); // no verdict on what is gone
      put(text);
    }

    function press() {
      if (!stop.hidden) return; // it runs already
      const isPressed = document.activeElement === run;
      [run.hidden, stop.hidden] = [true, false];
      if (isPressed) stop.focus();
      status.replaceChildren(el("p", "Waiting for Python …")); // no old verdict under new code
      python.run(number, field.value, show);
    }

    function show(message) {
      clearInterval(clock);
      tell(message);
      if (message.is === "begun") count();
      status.scrollIntoView({ block: "nearest" });
    }

    // A screen reader hears once that it still runs, and no seconds
    function count() {
      const begun = performance.now();
      const seconds = el("span", { "aria-hidden": "true" });
      clock = setInterval(() => {
        seconds.textContent = `, ${Math.round((performance.now() - begun) / 1000)} s`;
        if (!seconds.isConnected) status.replaceChildren(el("p", "Still checking", seconds, " …"));
      }, SLOW);
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
      status.replaceChildren(verdict, ...printed);
      if (message.state === "passed") course.progress.setWritten(number);
    }

    const written = () => (field.value === stub ? null : field.value);
    return { number, element, written };
  }

  // ---- the notebook ------------------------------------------------------------------------

  function offerNotebook({ package: chapterPackage, notebook: src }, boxes) {
    const name = `notebook-${chapterPackage}`;
    const status = el("span", { role: "status" });
    const press = button("Download with my answers", () => {
      status.textContent = "";
      if (course.descriptions[name]) return save();
      const onerror = () => {
        status.textContent = "The notebook is missing from this site.";
      };
      document.head.append(el("script", { src, onload: save, onerror }));
    });

    function save() {
      const described = course.described(name, "its notebook");
      const written = boxes.map(({ number, written }) => [number, written()]);
      const answers = Object.fromEntries(written.filter(([, code]) => code !== null));
      const blob = new Blob([filled(described, answers)], { type: "application/x-ipynb+json" });
      const href = URL.createObjectURL(blob);
      el("a", { href, download: described.file }).click();
      setTimeout(() => URL.revokeObjectURL(href), 10_000);
    }

    const line = el("p.course-answers", "This chapter as a notebook: ", press, " ", status);
    boxes.at(-1).element.append(line);
  }

  const script = /** @type {any} */ (course.isPage && document.currentScript?.dataset);
  if (script) {
    const elsewhere = script.elsewhere.split(" ");
    const all = [...document.querySelectorAll("section[data-exercise]")];
    const here = all.filter((box) => !elsewhere.includes(box.dataset.exercise));
    const numbers = here.map((box) => box.dataset.exercise);
    const python = course.pagePython.open(script, numbers);
    const boxes = here.map((box) => build(box, python));
    offerNotebook(script, boxes);
    if (course.pagePython.isSameVisit()) course.pagePython.whenIdle(python.prepare);
  }
  return { filled };
});
