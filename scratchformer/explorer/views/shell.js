// What all views share: the page's models, a prompt that is read once for all, and tabs.
//
// A view registers itself in `scratchformerExplorer.views` under its name, as a title and a
// function `build(context)` that gives {element, update(state)}. It is asked to update when the
// prompt has changed and the view is in sight.
"use strict";

// A page holds each description once, by its hash, however many views show it
var scratchformerDescriptions = globalThis.scratchformerDescriptions ?? {};

var scratchformerExplorer = globalThis.scratchformerExplorer ?? (() => {
  const views = {}, models = {}; // models: hash -> {model, tokenizer}, made when first needed
  let count = 0; // of what needs an id of its own

  // ---- building blocks ---------------------------------------------------------------------

  // A tag of HTML, or of SVG behind "svg:", with attributes, listeners ("onclick") and children
  function el(tag, attributes = {}, ...children) {
    const isSvg = tag.startsWith("svg:");
    const element = isSvg
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null));
    return element;
  }

  const newId = (name) => `sx-${name}-${++count}`;

  const format = (number, digits = 3) =>
    number === -Infinity ? "−∞" : number.toFixed(digits).replace(/^-/, "−");

  const percent = (p) => (p > 0 && p < 0.001 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`);

  // Arrow keys move the focus in a row or a grid of elements, of which one is a tab stop:
  // at(row, column) gives the element there, or undefined
  function roving(host, at, onmove = () => {}) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    host.addEventListener("keydown", (event) => {
      const from = event.target.dataset;
      const [row, column] = [Number(from.row ?? 0), Number(from.column ?? 0)];
      let next = null;
      if (event.key in steps) next = at(row + steps[event.key][0], column + steps[event.key][1]);
      if (event.key === "Home") next = at(row, 0);
      if (event.key === "End") for (let c = 0; at(row, c); c++) next = at(row, c);
      if (!next || from.column === undefined) return;
      event.preventDefault();
      next.focus();
      onmove(next);
    });
  }

  // Bars up and down from a middle line, each number one bar: for vectors
  function bars(numbers, colour, name, height = 34) {
    const n = numbers.length, width = 320, half = height / 2;
    const largest = numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const path = Array.from(numbers, (number, i) => {
      const tall = (Math.abs(number) / (largest || 1)) * (half - 1), x = (i * width) / n;
      const bar = Math.max(0.5, (width / n) * 0.8);
      return `M${x.toFixed(1)} ${(number > 0 ? half - tall : half).toFixed(1)}h${bar.toFixed(1)}` +
        `v${tall.toFixed(1)}h-${bar.toFixed(1)}z`;
    }).join("");
    return el("div", { class: "sx-vector" },
      el("span", { class: "sx-name", style: `--colour: var(--sx-${colour})` }, name),
      el("svg:svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none",
        role: "img", "aria-label": `${name}: ${n} numbers, at most ${format(largest)} in size` },
        el("svg:line", { x1: 0, x2: width, y1: half, y2: half, class: "sx-axis" }),
        el("svg:path", { d: path, fill: `var(--sx-${colour})` })));
  }

  // A labelled slider that shows its number: get() reads it
  function slider(label, { min, max, step, value, show = String }, oninput) {
    const id = newId("slider"), output = el("output", { for: id }, show(value));
    const input = el("input", { id, type: "range", min, max, step, value, oninput: () => {
      output.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
      oninput();
    } });
    input.setAttribute("aria-valuetext", show(value));
    const named = el("label", { for: id }, label);
    const element = el("div", { class: "sx-slider" }, named, input, output);
    return { element, get: () => Number(input.value) };
  }

  const button = (text, onclick, attributes = {}) =>
    el("button", { type: "button", onclick, ...attributes }, text);

  const title = (text = "") => el("p", { class: "sx-title" }, text);
  const note = (text) => el("p", { class: "sx-caption" }, text);

  // A box that may scroll, and so is a tab stop with a name
  const scrolling = (kind, name) =>
    el(kind === "sx-scroll" ? "div" : "p",
      { class: kind, tabindex: 0, role: "group", "aria-label": name });

  // A table of texts or elements; the first of each row is its header
  function table(columns, rows, attributes = {}) {
    const head = columns.map((name) => (name ? el("th", { scope: "col" }, name) : el("td")));
    const body = rows.map(([first, ...cells]) =>
      el("tr", {}, el("th", { scope: "row" }, first), cells.map((cell) => el("td", {}, cell))));
    return el("table", attributes, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body));
  }

  // A bar as long as a probability
  const bar = (p) => el("span", { class: "sx-p", style: `--w: ${p}` });

  // ---- the page's models -------------------------------------------------------------------

  function modelOf(hash) {
    const description = scratchformerDescriptions[hash];
    if (!description) return null;
    models[hash] ??= {
      model: scratchformerModel.load(description),
      tokenizer: scratchformerTokenizer.load(description.tokenizer),
    };
    return models[hash];
  }

  // A token as a reader can see it: a space and a line's end have signs of their own
  const visible = (text) => text.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥");

  // ---- one explorer ------------------------------------------------------------------------

  // The prompt's field; read(text) is called, a moment after the last key, for a text that changed
  function promptField(settings, read) {
    const id = newId("prompt");
    let waiting = 0;
    const field = el("textarea", { id, rows: 2, spellcheck: "false", autocomplete: "off",
      oninput: () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => read(field.value), 150);
      } });
    field.value = settings.prompt;
    const status = el("p", { class: "sx-status", role: "status" });
    const element = el("div", { class: "sx-prompt" },
      el("label", { for: id }, "Prompt"), field, status);
    return { element, field, say: (text) => { status.textContent = text; } };
  }

  // Tabs for several views, as the ARIA pattern has them; one view needs none
  function tabs(parts, show) {
    const list = el("div", { class: "sx-tabs", role: "tablist", "aria-label": "Views" });
    parts.forEach((part, column) => {
      part.tab = button(part.title, () => choose(part), { role: "tab", id: newId("tab"),
        "data-row": 0, "data-column": column, "aria-controls": part.panel.id });
      part.panel.setAttribute("role", "tabpanel");
      part.panel.setAttribute("aria-labelledby", part.tab.id);
      list.append(part.tab);
    });
    function choose(chosen) {
      for (const part of parts) {
        const isChosen = part === chosen;
        part.tab.setAttribute("aria-selected", isChosen);
        part.tab.tabIndex = isChosen ? 0 : -1;
        part.panel.hidden = !isChosen;
      }
      show(chosen);
    }
    roving(list, (_, column) => parts[column]?.tab, (tab) => tab.click());
    return { list, choose };
  }

  function mount(host) {
    const settings = JSON.parse(host.dataset.settings), found = modelOf(host.dataset.model);
    if (!found) return; // the static figure stays
    host.dataset.live = "yes";
    const { model, tokenizer } = found;
    let state = null, inSight = null;

    function read(text) {
      try {
        let ids = tokenizer.encode(text);
        const length = model.config.context_length, cut = ids.length - length;
        if (!ids.length) throw new Error("Type at least one character.");
        if (cut > 0) ids = ids.slice(-length);
        const seen = {};
        const hook = (name, array) => { seen[name] = array; };
        const run = scratchformerModel.forward(model, ids, { hook });
        state = { text: tokenizer.decode(ids), ids, run, seen };
        const dropped = cut > 0 ? `, the last of ${ids.length + cut}: more do not fit` : "";
        prompt.say(`${ids.length} ${ids.length === 1 ? "token" : "tokens"}${dropped}`);
        inSight.view.update((inSight.updated = state));
      } catch (error) {
        prompt.say(error.message);
      }
    }
    const prompt = promptField(settings, read);
    const context = { model, tokenizer, settings,
      label: (id) => visible(tokenizer.decode([id])),
      setPrompt: (text) => { prompt.field.value = text; read(text); } };
    const parts = settings.views.map((name) => {
      const view = views[name].build(context);
      const panel = el("div", { class: `sx-panel sx-${name}`, id: newId("panel") }, view.element);
      return { view, panel, title: views[name].title, updated: null };
    });
    function show(part) {
      inSight = part;
      if (state && part.updated !== state) part.view.update((part.updated = state));
    }
    host.replaceChildren(prompt.element);
    if (parts.length > 1) {
      const { list, choose } = tabs(parts, show);
      host.append(list, ...parts.map((part) => part.panel));
      choose(parts[0]);
    } else {
      host.append(parts[0].panel);
      show(parts[0]);
    }
    read(settings.prompt);
  }

  // Bring every explorer of the page to life that is not yet. A notebook may run a script before
  // its output stands in the page, so it is tried again.
  function mountAll() {
    for (const host of document.querySelectorAll(".scratchformer-explorer:not([data-live])")) {
      mount(host);
    }
  }
  function start() {
    for (const delay of [0, 100, 1000]) setTimeout(mountAll, delay);
  }

  return { views, el, newId, format, percent, roving, bars, bar, slider, button, title, note,
    scrolling, table, start };
})();
