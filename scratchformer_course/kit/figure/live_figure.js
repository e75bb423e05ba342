// What all live figures share: building blocks, and the way a figure comes to life in a page.
//
// A figure registers itself in `course.figures` under its name, as a function
// `build(settings, host)` that gives an element; settings are the numbers that Python gave.
// It replaces the still figure in the page. Where anything fails, the still figure stays.

course.define("live", () => {
  const { el, button, figures } = course;
  const PAUSE = 700; // milliseconds between two stops that are played
  const NONE = /** @type {any} */ (null); // no class
  let count = 0; // of what needs an id of its own

  // ---- building blocks ---------------------------------------------------------------------

  const newId = (name) => `sx-${name}-${++count}`;

  // No number is −0.00
  const format = (number, digits = 3) =>
    number === -Infinity
      ? "−∞"
      : number
          .toFixed(digits)
          .replace(/^-(?=.*[1-9])/, "−")
          .replace("-", "");

  const grouped = (number) => number.toLocaleString("en-US"); // 1,234,567
  const percent = (p) => (p > 0 && p < 0.001 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`);

  // Arrow keys move the focus in a row or a grid of elements, of which one is a tab stop:
  // at(row, column) gives the element there, or undefined
  function roving(host, at, onmove = (_to) => {}) {
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

  // The same for a line of buttons, which may change: the one that is reached is pressed
  const rovingLine = (host, line) =>
    roving(
      host,
      (row, column) => (row === 0 ? line()[column] : undefined),
      (to) => to.click(),
    );

  // A map of the weights of all words by all words. The names of its rows are buttons, and choose(t)
  // hears of them. show(weights, asks, isClosed) draws it, with the row of one word chosen
  function wordMap(words, does, colour, choose) {
    const names = words.map((word, t) =>
      button(word, () => choose(t), {
        "data-row": t,
        "data-column": 0,
        "aria-label": `${word} ${does}`,
      }),
    );
    const cells = words.map(() => words.map(() => el("td")));
    const rows = names.map((name, t) => [name, ...cells[t]]);
    const style = `--colour: var(--sx-${colour})`;
    const element = table(["", ...words], rows, { class: "sx-word-map", style });
    roving(
      element,
      (row, column) => (column === 0 ? names[row] : undefined),
      (to) => to.click(),
    );
    function show(weights, asks, isClosed) {
      press(names, asks, true);
      for (const [t, row] of cells.entries()) {
        names[t].closest("tr").classList.toggle("sx-asks", t === asks);
        for (const [s, cell] of row.entries()) {
          cell.textContent = format(weights[t][s], 2);
          cell.style.setProperty("--w", weights[t][s].toFixed(4));
          cell.className = isClosed(t, s) ? "sx-closed" : "";
        }
      }
    }
    return { element, cells, show };
  }

  // Words with a bar over each: show(shares, texts) gives heights from 0 to 1, and what is above
  function wordBars(name, words, colour) {
    const columns = words.map((word) => el("div", el("div"), el("div.sx-rail", el("div")), word));
    const style = `--colour: var(--sx-${colour})`;
    const element = el("div.sx-word-bars", { role: "group", "aria-label": name, style }, columns);
    function show(shares, texts) {
      for (const [i, { children }] of columns.entries()) {
        children[0].textContent = texts[i];
        children[1].firstChild.style.height = `${(100 * Math.max(0, shares[i])).toFixed(2)}%`;
      }
    }
    return { element, show };
  }

  // A field for a number of at most this size: write(number) hears of each good one, refuse() of
  // others, left() when the reader goes. fill(number) writes one, unless a reader is there
  function numberField(name, largest, { write, refuse = () => {}, left }) {
    const size = { min: -largest, max: largest, step: "any" };
    const mark = (isGood) => input.setAttribute("aria-invalid", String(!isGood));
    function oninput() {
      const number = input.value === "" ? NaN : Number(input.value);
      const isGood = Math.abs(number) <= largest; // NaN is not
      mark(isGood);
      if (isGood) write(number);
      else refuse();
    }
    const on = { oninput, onblur: left };
    const input = el("input", { type: "number", ...size, "aria-label": name, ...on });
    function fill(number) {
      if (document.activeElement === input) return;
      input.value = number;
      mark(true);
    }
    return { input, fill };
  }

  // A grid whose cells know their data-row and data-column: to point at one, or to move to it by the
  // arrow keys, chooses it
  function gridCursor(grid, choose) {
    function choosePointed({ target }) {
      const cell = target.closest("[data-column]");
      if (!cell) return;
      grid.querySelector("[tabindex='0']").tabIndex = -1;
      cell.tabIndex = 0;
      choose(Number(cell.dataset.row), Number(cell.dataset.column));
    }
    grid.addEventListener("focusin", choosePointed);
    grid.addEventListener("pointerover", choosePointed);
    roving(grid, (row, column) =>
      grid.querySelector(`[data-row="${row}"][data-column="${column}"]`),
    );
  }

  // Of some buttons, the one at this place is pressed; `stops`: it is their only tab stop, too
  function press(buttons, place, stops = false) {
    for (const [i, element] of [...buttons].entries()) {
      element.setAttribute("aria-pressed", String(i === place));
      if (stops) element.tabIndex = i === place ? 0 : -1;
    }
  }

  // Buttons of which one is pressed: at() says which, and onchoose(i) is called when it changes
  function choice(name, texts, onchoose, chosen = 0) {
    const buttons = texts.map((text, i) => button(text, () => choose(i)));
    function choose(i) {
      chosen = i;
      press(buttons, i);
      onchoose(i);
    }
    press(buttons, chosen);
    const element = el("span.sx-group", { role: "group", "aria-label": name }, buttons);
    return { element, buttons, at: () => chosen };
  }

  // A name for a field, and what it is known by
  function label(text, field) {
    field.id ||= newId("field");
    return el("label", { for: field.id }, text);
  }

  // A drawing of this size, and what stands in it: words, lines, circles, ways
  const drawing = (width, height, attributes, ...children) =>
    el("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", ...attributes }, children);
  const words = (text, x, y, anchor = "middle") =>
    el("svg:text", { x, y, "text-anchor": anchor }, text);
  const line = (x1, y1, x2, y2, kind = NONE) => el("svg:line", { x1, y1, x2, y2, class: kind });
  const circle = (cx, cy, r, kind = NONE) => el("svg:circle", { cx, cy, r, class: kind });
  const way = (d, kind = NONE) => el("svg:path", { d, class: kind });
  // The way of a line through points [x, y], and of the two lines of its axes
  const path = (points) =>
    `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;

  // The lower half of a map of T by T cells, in few shapes: one for each of the shades from 1 up.
  // shadeOf(t, s) gives a cell's, and 0 is not drawn
  function shadedMap(T, shades, shadeOf, attributes = {}) {
    const ways = Array(shades).fill("");
    for (let t = 0; t < T; t++) {
      for (let s = 0; s <= t; s++) {
        const shade = Math.ceil(shadeOf(t, s));
        if (shade > 0) ways[shade - 1] += `M${s} ${t}h1v1h-1z`;
      }
    }
    return ways.map((d, i) =>
      el("svg:path", { d, "fill-opacity": ((i + 1) / shades).toFixed(2), ...attributes }),
    );
  }

  // What is drawn or shown, in words for those who do not see it
  const describe = (element, text) => element.setAttribute("aria-label", text);

  // Bars up and down from a middle line, each number one bar: for vectors
  function bars(numbers, colour, name) {
    const [width, half] = [320, 17];
    const largest = numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const step = width / numbers.length;
    const wide = Math.max(0.5, 0.8 * step).toFixed(1);
    const d = Array.from(numbers, (number, i) => {
      const tall = (Math.abs(number) / (largest || 1)) * (half - 1);
      const top = (number > 0 ? half - tall : half).toFixed(1);
      return `M${(i * step).toFixed(1)} ${top}h${wide}v${tall.toFixed(1)}h-${wide}z`;
    });
    const about = `${name}: ${numbers.length} numbers, at most ${format(largest)} in size`;
    return el("div.sx-vector", [
      named(name, colour),
      drawing(width, 2 * half, { preserveAspectRatio: "none", "aria-label": about }, [
        line(0, half, width, half, "sx-axis"),
        el("svg:path", { d: d.join(""), fill: `var(--sx-${colour})` }),
      ]),
    ]);
  }

  // A name with a line of its colour
  const named = (name, colour) =>
    el("span.sx-name", { style: `--colour: var(--sx-${colour})` }, name);

  // A part of a drawing that follows the pointer, by mouse, pen or finger. Both functions get the
  // place in the drawing's own units. The part has to stay in the drawing while it is held.
  function draggable(svg, grip, start, move) {
    grip.classList.add("sx-grip");
    grip.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      grip.setPointerCapture(event.pointerId);
      start(placeIn(svg, event));
    });
    grip.addEventListener("pointermove", (event) => {
      if (grip.hasPointerCapture(event.pointerId)) move(placeIn(svg, event));
    });
  }
  const placeIn = (svg, { clientX, clientY }) =>
    new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());

  // A grip that is turned about a middle, over any number of turns, and moves sliders by it.
  // begin(place) gives the sliders, and how many radians clockwise a step of theirs is worth. All
  // of them stop where the first one comes to its end.
  function turnable(svg, grip, middle, begin) {
    let last;
    let held;
    let exact; // where the sliders would be if they had no steps
    const angle = ({ x, y }) => Math.atan2(y - middle.y, x - middle.x);
    function start(place) {
      held = begin(place);
      last = angle(place);
      exact = held.sliders.map((turnedSlider) => turnedSlider.get());
    }
    function move(place) {
      const now = angle(place);
      const turned = Math.atan2(Math.sin(now - last), Math.cos(now - last)); // the short way
      last = now;
      if (!held.radians) return;
      const down = Math.max(...held.sliders.map(({ min }, i) => min - exact[i]));
      const up = Math.min(...held.sliders.map(({ max }, i) => max - exact[i]));
      const steps = Math.min(Math.max(turned / held.radians, down), up);
      exact = exact.map((number) => number + steps);
      held.sliders.forEach((turnedSlider, i) => {
        const stop = Math.round(exact[i]);
        if (stop !== turnedSlider.get()) turnedSlider.set(stop);
      });
    }
    draggable(svg, grip, start, move);
  }

  // A labelled slider that shows its number: get() reads it, set(number) moves it
  function slider(
    name,
    { min = 0, max, step = 1, value, show = (x) => String(x) },
    oninput = () => {},
  ) {
    const id = newId("slider");
    const output = el("output", { for: id }, show(value));
    const input = el("input", {
      id,
      type: "range",
      min,
      max,
      step,
      value,
      oninput: () => {
        output.textContent = show(Number(input.value));
        input.setAttribute("aria-valuetext", output.textContent);
        oninput();
      },
    });
    input.setAttribute("aria-valuetext", show(value));
    const element = el("div.sx-slider", label(name, input), input, output);
    const set = (number) => {
      input.value = number;
      input.dispatchEvent(new Event("input"));
    };
    return { element, min, max, get: () => Number(input.value), set };
  }

  // A slider over the places of a list, whose entries it shows as texts
  const sliderOver = (name, texts, oninput, value = 0) =>
    slider(name, { max: texts.length - 1, value, show: (i) => texts[i] }, oninput);

  // A button that plays the stops of a slider, of which next() is the one behind that on show, until
  // the last. Where a reader wants nothing to move by itself, a press takes one step: the button has
  // the name `still` then, or is hidden. moved() is told of each change of the slider.
  function player(stops, next, still = "") {
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    const toggle = button("", () => (waiting ? pause() : play()));
    let waiting = 0; // the timer while it plays
    let due = -1; // the stop that was played last
    function play() {
      due = next();
      stops.set(due);
      const isMore = !calm.matches && due < stops.max;
      waiting = isMore ? setTimeout(() => toggle.isConnected && play(), PAUSE) : 0;
      show();
    }
    function pause() {
      clearTimeout(waiting);
      waiting = 0;
      show();
    }
    function show() {
      toggle.hidden = calm.matches && !still;
      toggle.textContent = waiting ? "Pause" : calm.matches && still ? still : "Play";
    }
    function moved() {
      if (stops.get() !== due) pause(); // a reader has moved it
    }
    calm.addEventListener("change", pause);
    show();
    return { button: toggle, moved };
  }

  // A box to tick, with its name behind it
  function check(text, onchange = (_isOn) => {}, attributes = {}, isOn = false) {
    const box = el("input", { type: "checkbox", onchange: () => onchange(box.checked) });
    box.checked = isOn;
    return { box, element: el("label", attributes, box, " ", text) };
  }

  // A switch, which is a box to tick that acts at once
  /** @type {Live["newSwitch"]} */
  function newSwitch(...options) {
    const made = check(...options);
    made.box.setAttribute("role", "switch");
    return made;
  }

  // A seed for what is drawn at random
  function seedField(value, onchange = () => {}) {
    const input = el("input", { type: "number", min: 0, max: 9999, step: 1, value, onchange });
    const element = el("div.sx-slider", label("Seed", input), input);
    return { element, input, get: () => Math.max(0, Math.floor(Number(input.value)) || 0) };
  }

  // Something that a reader may unfold
  const fold = (name, ...children) => el("details", el("summary", name), children);

  // "a", "a and b", "a, b and c"
  const listed = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const mean = (numbers) => sum(numbers) / numbers.length;
  const listOf = (length, make) => Array.from({ length }, (_, i) => make(i));

  // The places of some numbers, that of the largest first
  const ranked = (numbers) => Array.from(numbers.keys()).sort((a, b) => numbers[b] - numbers[a]);

  const title = (text = "") => el("p.sx-title", text);
  const note = (text) => el("p.sx-caption", text);

  // What the figure says of itself
  const newStatus = (text = "") => el("p.sx-status", { role: "status" }, text);

  // A part that is a tab stop with a name, as it may scroll
  const region = (tag, name, ...children) =>
    el(tag, { tabindex: 0, role: "group", "aria-label": name }, children);
  const scrolling = (kind, name) =>
    region(`${kind === "sx-scroll" ? "div" : "p"}.${kind.replaceAll(" ", ".")}`, name);

  // A table of texts or elements, or of cells that are made already; the first of each row is its
  // header. `sums` are rows at its foot
  const isCell = (content) => /^t[dh]$/.test(content?.localName);
  const cell = (content) => (isCell(content) ? content : el("td", content));
  const row = ([first, ...contents]) =>
    el("tr", el("th", { scope: "row" }, first), contents.map(cell));
  function table(columns, rows, attributes = {}, sums = []) {
    const head = columns.map((name) =>
      name && !isCell(name) ? el("th", { scope: "col" }, name) : cell(name),
    );
    return el("table", attributes, [
      columns.length ? el("thead", el("tr", head)) : null,
      el("tbody", rows.map(row)),
      sums.length ? el("tfoot", sums.map(row)) : null,
    ]);
  }

  // A bar as long as a probability
  const bar = (p) => el("span.sx-p", { style: `--w: ${p}` });

  // A token as a reader can see it: a space and a line's end have signs of their own
  const visible = (text) =>
    text
      .replaceAll(/[ \u00a0]/g, "␣")
      .replaceAll("\n", "⏎")
      .replaceAll("\t", "⇥");

  // Tabs for several views, as the ARIA pattern has them; one view needs none
  function tabs(parts, show) {
    const list = el("div.sx-tabs", { role: "tablist", "aria-label": "Views" });
    parts.forEach((part, column) => {
      part.tab = button(part.title, () => choose(part), {
        role: "tab",
        id: newId("tab"),
        "data-row": 0,
        "data-column": column,
        "aria-controls": part.panel.id,
      });
      part.panel.setAttribute("role", "tabpanel");
      part.panel.setAttribute("aria-labelledby", part.tab.id);
      list.append(part.tab);
    });
    function choose(chosen) {
      for (const part of parts) {
        const isChosen = part === chosen;
        part.tab.setAttribute("aria-selected", String(isChosen));
        part.tab.tabIndex = isChosen ? 0 : -1;
        part.panel.hidden = !isChosen;
      }
      show(chosen);
    }
    rovingLine(list, () => parts.map(({ tab }) => tab));
    return { list, choose };
  }

  // ---- coming to life ----------------------------------------------------------------------

  // What fails is tried again, as its script, its model or its views may still be on the way. At
  // the last try it fails for good.
  function mount(host, last) {
    const build = figures[host.dataset.figure];
    if (!build) return;
    try {
      host.replaceChildren(build(JSON.parse(host.dataset.settings), host));
    } catch (error) {
      if (!last) return; // the still figure stays
      host.dataset.live = "failed";
      host.append(note(`The live figure could not start: ${error.message}`));
      return;
    }
    host.dataset.live = "yes";
    // In JupyterLab, keys pressed here are not commands, such as "dd", which deletes a cell
    host.addEventListener("focusin", ({ target }) => {
      target.dataset.lmSuppressShortcuts = "true";
    });
  }

  // Bring every figure of the page to life that is not yet
  function mountAll(last) {
    const waiting = document.querySelectorAll(".live-figure:not([data-live])");
    for (const host of waiting) mount(host, last);
  }

  // The site only names what is large, models and texts: it is fetched when the rest of the page is
  // there and painted. Settles when each has been run, or is not to be had.
  let fetching = NONE;
  const fetchLast = () => (fetching ??= fetchAll());
  async function fetchAll() {
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    const fetched = [...document.querySelectorAll("script[data-src]")].map(
      ({ dataset }) =>
        new Promise((done) => {
          document.head.append(el("script", { src: dataset.src, onload: done, onerror: done }));
        }),
    );
    await Promise.all(fetched);
  }

  // A page that is still being read has the last try when all of it is there. A notebook may run
  // a script before its output stands in the page, so it has a second for it.
  function start() {
    const isRead = document.readyState === "complete";
    for (const delay of [0, 100]) setTimeout(mountAll, delay, false);
    if (isRead) setTimeout(mountAll, 1000, true);
    else {
      document.addEventListener("DOMContentLoaded", () => mountAll(false));
      window.addEventListener("load", () => fetchLast().then(() => mountAll(true)));
    }
  }

  const parts = { el, newId, button, title, note, table, bar, label, wordMap, wordBars };
  const fields = { slider, sliderOver, choice, check, newSwitch, seedField, numberField };
  const boxes = { newStatus, region, scrolling, fold, tabs, bars, named };
  const moves = { roving, rovingLine, gridCursor, press, player, draggable, placeIn, turnable };
  const drawings = { drawing, words, line, circle, way, path, shadedMap, describe };
  const texts = { format, grouped, percent, visible, listed, sum, mean, ranked, listOf };
  return { ...parts, ...fields, ...boxes, ...moves, ...drawings, ...texts, start, fetchLast };
});
