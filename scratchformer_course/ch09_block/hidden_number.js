// One hidden number of a GPT's last feed-forward network, on a line that the reader types: how far each
// character's x lies along its row, what its column raises, and what comes next if it is set by hand.
//
// Needs: page_model/explorer.js

course.define("hiddenNumber", () => {
  const { el, bar, button, format, label, listOf, newStatus, percent, press, ranked } = course.live;
  const { rovingLine, slider, table, title, visible } = course.live;
  const { forward, probabilities, readOut, parts } = course.model;
  const LONGEST = 66; // characters of a line
  const TALLEST = 8; // what fills the bar of a character
  const LARGEST = 10; // what the number can be set to
  const LEAST = -0.2; // GELU gives nothing below
  const SHOWN = 4; // characters in a table

  // ---- calculations ----

  // The last network's sums before they are bent, (T, 4 C), and the stream after it, (T, C)
  function inside(model, ids) {
    const [T, last] = [ids.length, `h.${model.config.n_layers - 1}`];
    let heads;
    const hook = (name, array) => {
      if (name === `${last}.attn.heads`) heads = array;
    };
    const { stream } = forward(model, ids, { hook });
    const found = parts.apply(model, `${last}.attn.c_proj`, heads, T);
    const x = parts.norm(model, `${last}.ln_2`, parts.add(stream.at(-2), found), T);
    return { sums: parts.apply(model, `${last}.mlp.c_fc`, x, T), stream: stream.at(-1) };
  }

  const width = ({ config }) => 4 * config.d_model;
  const sumsOf = (model, { sums }, n, T) => listOf(T, (t) => sums[t * width(model) + n]);
  const bent = (sum) => parts.activate("gelu", sum);

  // What hidden number n writes into the stream, if it is 1: (C)
  function columnOf(model, n) {
    const matrix = model.weights[`h.${model.config.n_layers - 1}.mlp.c_proj.weight`];
    return listOf(model.config.d_model, (c) => matrix[c * width(model) + n]);
  }

  // How much that raises the logit of each character, up to the size of the stream: (V)
  function raised(model, n) {
    const column = columnOf(model, n);
    const mean = column.reduce((a, b) => a + b) / column.length;
    const scaled = column.map((w, c) => (w - mean) * model.weights["ln_f.weight"][c]);
    return parts.apply(model, "lm_head", Float32Array.from(scaled), 1);
  }

  // The probabilities (V) of what comes after place t, with the hidden number n set to a value
  function next(model, { sums, stream }, t, n, value) {
    const C = model.config.d_model;
    const change = value - bent(sums[t * width(model) + n]);
    const column = columnOf(model, n);
    const x = stream.slice(t * C, (t + 1) * C).map((number, c) => number + change * column[c]);
    return probabilities(readOut(model, x));
  }

  // ---- the figure ----

  // line, number and place: where it begins
  function build({ line, number, place }, host) {
    const { modelOf, promptField, reading } = course.explorer;
    const { model, tokenizer } = modelOf(host.dataset.models);
    let ids = /** @type {number[]} */ ([]);
    let buttons = /** @type {HTMLElement[]} */ ([]);
    let run = /** @type {any} */ (null);
    let at = place;

    const sight = (id) => visible(tokenizer.decode([id]));
    const bars = el("div.sx-hid-line", { role: "group", "aria-label": "Bars of the line" });
    rovingLine(bars, () => buttons);
    const status = newStatus();
    const chances = el("div");
    const writes = el("div");
    const field = promptField({ prompt: line }, read, "Your line");
    const largest = width(model) - 1;
    const choose = el("input", { type: "number", min: 0, max: largest, value: number, oninput });
    const level = slider(
      "Set it to",
      { min: LEAST, max: LARGEST, step: 0.1, value: 0, show: (x) => format(x, 1) },
      drawNext,
    );

    function oninput() {
      const typed = Math.round(Number(choose.value));
      if (choose.value === "" || typed < 0 || typed > largest) return;
      number = typed;
      drawLine();
    }

    function read(typed) {
      const { ids: all, said } = reading(tokenizer, typed, LONGEST, true);
      at = typed === line ? place : all.length - 1;
      ids = all;
      field.say(said);
      run = inside(model, ids);
      drawLine();
    }

    function drawLine() {
      const sums = sumsOf(model, run, number, ids.length);
      const part = (share) => `--h: ${Math.min(1, Math.max(0, share)).toFixed(3)}`;
      buttons = ids.map((id, t) => {
        const size = sums[t] / TALLEST;
        const above = el("span.sx-hid-up", [
          el("small", sums[t] >= 0.95 ? format(sums[t], 0) : ""),
          el("i", { style: part(size) }),
        ]);
        const below = el("span.sx-hid-down", el("i", { style: part(-2 * size) }));
        const attributes = {
          "data-row": 0,
          "data-column": t,
          "aria-label": `${sight(id)}, ${format(sums[t], 1)}`,
        };
        return button([above, below, el("b", sight(id))], () => point(t), attributes);
      });
      bars.replaceChildren(...buttons);
      const logits = raised(model, number);
      const first = ranked(logits).slice(0, SHOWN);
      const rows = first.map((id) => [
        sight(id),
        `+${format(logits[id], 2)}`,
        bar(Math.max(0, logits[id] / logits[first[0]])),
      ]);
      writes.replaceChildren(table(["", "logit", ""], rows, { class: "sx-bars" }));
      point(at);
    }

    function point(t) {
      at = t;
      press(buttons, t, true);
      level.set(Math.round(10 * bent(run.sums[t * width(model) + number])) / 10);
    }

    function drawNext() {
      const own = bent(run.sums[at * width(model) + number]);
      const p = next(model, run, at, number, own);
      const isOwn = Math.abs(level.get() - own) < 0.051;
      const set = isOwn ? p : next(model, run, at, number, level.get());
      const most = ranked(p.map((x, id) => Math.max(x, set[id]))).slice(0, SHOWN);
      const rows = most.map((id) => [sight(id), percent(p[id]), percent(set[id]), bar(set[id])]);
      const columns = ["next", "as it is", `at ${format(level.get(), 1)}`, ""];
      chances.replaceChildren(table(columns, rows, { class: "sx-bars" }));
      const where = `“${visible(tokenizer.decode(ids.slice(Math.max(0, at - 7), at + 1)))}”`;
      status.textContent = `After ${where}, number ${number} is ${format(own, 1)}.`;
    }

    read(line);
    return el("div", [
      field.element,
      bars,
      el("div.sx-columns", [
        el("div", [status, level.element, chances]),
        el("div", [
          el("div.sx-slider", label("Hidden number", choose), choose),
          title("What its column raises"),
          writes,
        ]),
      ]),
    ]);
  }

  course.figures.hidden_number = build;
  return { inside, raised, next };
});
