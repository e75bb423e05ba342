// Needs: model_file.js
// How a page asks for the real model's file: a button that says the size, progress, Stop, Delete it.
// Where the file is kept it opens without a press. A page that cannot fetch takes it from the disk.

course.define("modelPanel", () => {
  const { el, button } = course;
  const ONCE = "It is loaded once, and this browser keeps it for all pages of the course.";
  const COMMAND = "python -m scratchformer.data.real_model";

  // Why the file has to come from the reader's disk, or "" if this page can fetch it from `address`
  function whyNot(address) {
    if (location.protocol === "file:") return "A page from disk cannot fetch the model.";
    if (address) return "";
    return address === ""
      ? "This copy of the site was built without the model."
      : "The model is not beside this page.";
  }

  // onopen(blob) hears of the file that is there, onclose() that it was deleted, here or on another
  // page
  function newModelPanel(onopen, onclose) {
    const { PINNED, newModelFile, megabytes } = course.modelFile;
    const address = document.querySelector("[data-real-model]")?.dataset.realModel;
    const file = newModelFile(address);
    const missing = whyNot(address);
    const size = `${megabytes(PINNED.bytes)} MB`;
    let stopping = new AbortController();
    let state = "closed"; // or "busy", "kept", or "open", which is not kept

    const load = button(`Load the model (${size})`, () => get((signal) => file.load(tell, signal)));
    const picker = el("input", { type: "file", "aria-label": `The file ${PINNED.name}`, onchange });
    const stop = button("Stop", () => stopping.abort());
    const forget = button("Delete it", () => file.forget().then(look));
    const progress = el("progress", { max: PINNED.bytes, "aria-label": "Loading the model" });
    const amount = el("span", { "aria-hidden": "true" });
    const status = el("p.sx-status", { role: "status" });
    const controls = el("div", load, picker, progress, amount, stop, forget);
    const panel = el("div.sx-model-panel", { role: "group", "aria-label": "The real model" });
    panel.append(controls, status);
    panel.tabIndex = -1;

    function onchange() {
      const [chosen] = picker.files;
      if (chosen) get((signal) => file.take(chosen, tell, signal));
      picker.value = "";
    }

    function show(next, words) {
      const focused = document.activeElement;
      state = next;
      load.hidden = state !== "closed" || missing !== "" || file.refusal() !== "";
      picker.hidden = state !== "closed" || missing === "" || file.refusal() !== "";
      stop.hidden = progress.hidden = amount.hidden = state !== "busy";
      forget.hidden = state !== "kept";
      status.textContent = words;
      const first = controls.querySelector(":is(button, input):not([hidden])");
      if (panel.contains(focused) && !focused.checkVisibility()) (first ?? panel).focus();
    }

    function close(words = "") {
      const advice = `If you have the file ${PINNED.name}, choose it here: “${COMMAND}” finds it.`;
      show("closed", file.refusal() || words || (missing ? `${missing} ${advice}` : ONCE));
    }

    function open({ blob, isKept }) {
      const sentence = isKept
        ? `The model is here: this browser keeps its ${size} for all pages of the course.`
        : `The model is here until you leave this page: the browser has no room to keep ${size}, or may not.`;
      show(isKept ? "kept" : "open", sentence);
      onopen(blob);
    }

    const steps = {
      waiting: "Waiting for another tab …",
      loading: "Loading …",
    };
    function tell({ is, done = 0 }) {
      progress.value = done;
      amount.textContent = ` ${megabytes(done)} of ${size} `;
      if (status.textContent !== steps[is]) status.textContent = steps[is];
    }

    async function get(work) {
      stopping = new AbortController();
      show("busy", "");
      tell({ is: "waiting" });
      try {
        open(await work(stopping.signal));
      } catch (error) {
        close(stopping.signal.aborted ? "It was stopped, and nothing is kept." : error.message);
      }
    }

    // What is kept may have changed
    async function look() {
      const blob = await file.kept();
      if (blob && state === "closed") return open({ blob, isKept: true });
      if (blob || state !== "kept") return;
      close("It is deleted.");
      onclose();
    }

    close();
    look();
    file.follow(look);
    addEventListener("pageshow", look);
    return panel;
  }

  return { newModelPanel };
});
