// Two models of today side by side: what differs, what they cost, and a picture of each one's block.
//
// All numbers come from configurations (lab/models_of_today.py). What is computed here is the sum
// over the kinds of layers for a length of text.

course.define("modelDiff", () => {
  const { el } = course;
  const WIDTH = 230;
  const SIZES = { " TB": 1e12, " GB": 1e9, " MB": 1e6, " kB": 1e3, " B": 1 };

  // Bytes that a model keeps after so many tokens, two for each number
  function kept(model, tokens) {
    let numbers = 0;
    for (const { layers, each, limit, fixed } of model.cache)
      numbers += layers * (each * Math.min(tokens, limit ?? tokens) + fixed);
    return 2 * numbers;
  }

  const threeDigits = (x) => String(Number(x.toPrecision(3)));
  function bytes(n) {
    const [word, size] = Object.entries(SIZES).find(([, size]) => n >= size) ?? [" B", 1];
    return threeDigits(n / size) + word;
  }
  const billions = (n) => `${threeDigits(n / 1e9)} billion`;

  // The places of the parts in which two models differ
  const differing = (a, b) =>
    Object.keys(a.parts).filter((part) => a.parts[part][0] !== b.parts[part][0]);
  // Those for which the reader's Llama has no setting
  const lacking = (model) =>
    Object.keys(model.parts).filter((part) => model.parts[part][1] === null);

  function build({ models, first, tokens }) {
    const { live } = course;
    const { drawing, way, words, describe, newStatus, label, sliderOver, title } = live;
    const names = Object.keys(models);
    const selects = first.map((name, i) => {
      const options = names.map((n) => el("option", { value: n, selected: n === name }, n));
      return el("select", { onchange: show, "data-side": i }, options);
    });
    const length = sliderOver("Tokens", tokens.map(live.grouped), show, 2);
    const status = newStatus();
    const tableAt = el("div");
    const pictures = el("div.sx-blocks");

    const box = (y, height, colour, lines, x = 0, width = 190) => [
      el("svg:rect", { x, y, width, height, rx: 6, style: `--c: var(--sx-${colour})` }),
      lines.map((text, i) =>
        words(text, x + width / 2, y + height / 2 + 6 + 21 * (i - (lines.length - 1) / 2)),
      ),
    ];

    // What a model has in place of a part, and the setting of the reader's Llama for it
    function told(text, setting) {
      const code = setting === null ? el("i", "no switch") : setting ? el("code", setting) : null;
      return el("td", text, code);
    }

    // One bar for each layer: the less of the past it keeps, the lower it is
    const HEIGHTS = { full: 26, window: 14, memory: 8 };
    const sortOf = (kind) =>
      /linear/.test(kind) ? "memory" : /sliding|heavily/.test(kind) ? "window" : "full";
    function strip(kinds) {
      const step = WIDTH / kinds.length;
      return kinds.map((kind, i) => {
        const tall = HEIGHTS[sortOf(kind)];
        const at = { x: (i * step).toFixed(2), y: 26 - tall, width: (0.8 * step).toFixed(2) };
        return el(`svg:rect.sx-${sortOf(kind)}`, { ...at, height: tall });
      });
    }

    // From below: a norm, attention (and memory), a norm, the network, and norms after them
    function picture(name, model) {
      const part = (key) => model.parts[key][0];
      const [norm] = part("norms").split(" ");
      const [before, after] = part("norms").match(/\d+/g) ?? [];
      const nameOf = (n, side) => [n ? `${norm} in ${n} blocks` : `${norm} ${side}`];
      const isAfter = part("norms").includes("after");
      const [heads, keys] = part("heads").split(", ");
      const memories = model.kinds.filter((kind) => sortOf(kind) === "memory").length;
      const attention = memories
        ? ["attention", `in ${model.kinds.length - memories}`]
        : ["attention", `${heads} heads`, keys.length < 12 ? keys : "compressed"];
      if (part("window") !== "no") attention.push("in a window");
      const svg = drawing(WIDTH, 350, {}, [
        strip(model.kinds),
        words(`${model.kinds.length} blocks, ${live.grouped(model.width)} wide`, 0, 46, "start"),
        way("M216 348V58M190 117H216M190 242H216", "sx-stream"),
        isAfter ? box(64, 26, "muted", nameOf(after, "after")) : null,
        box(94, 46, "value", part("network").split(/, (?=\d+ for)|(?<=experts), /)),
        box(144, 26, "muted", nameOf(before, "before")),
        isAfter ? box(174, 26, "muted", nameOf(after, "after")) : null,
        box(204, 92, "query", attention, 0, memories ? 108 : 190),
        memories ? box(204, 92, "stream", ["fixed", "memory", `in ${memories}`], 114, 76) : null,
        box(300, 26, "muted", nameOf(before, "before")),
      ]);
      const parts = Object.entries(model.parts).map(([key, [text]]) => `${key}: ${text}`);
      describe(svg, `The block of ${name}. ${parts.join("; ")}`);
      return el("div", title(name), svg);
    }

    function show() {
      const [a, b] = selects.map((select) => models[select.value]);
      const pair = [a, b];
      const differ = differing(a, b);
      const rows = Object.keys(a.parts).map((part) => {
        const name = differ.includes(part) ? el("b.sx-differs", "≠ ", part) : part;
        return [name, ...pair.map((model) => told(...model.parts[part]))];
      });
      const n = tokens[length.get()];
      const costs = {
        weights: (m) => billions(m.weights),
        "used for a token": (m) => billions(m.used),
        "operations a token": (m) => `2 × ${billions(m.used)}`,
        [`kept after ${live.grouped(n)}`]: (m) => bytes(kept(m, n)),
        "kept for each further token": (m) => bytes((kept(m, n + 128) - kept(m, n)) / 128),
      };
      for (const [name, of] of Object.entries(costs)) rows.push([name, ...pair.map(of)]);
      const columns = ["part", ...selects.map((select) => select.value)];
      tableAt.replaceChildren(live.table(columns, rows, { class: "sx-diff" }));
      const can = selects.map(({ value }, i) => {
        const not = lacking(pair[i]);
        return not.length ? `lacks ${not.length} of the ten for ${value}` : `can be ${value}`;
      });
      status.textContent = `${differ.length} of ten parts differ. Your Llama ${can.join(", and ")}.`;
      pictures.replaceChildren(...selects.map(({ value }, i) => picture(value, pair[i])));
    }

    show();
    const choices = selects.map((select, i) => [
      label(i ? "Second model" : "First model", select),
      select,
    ]);
    return el("div.sx-models", [
      el(
        "div.sx-choose",
        choices.map((one) => el("span", one)),
      ),
      length.element,
      status,
      pictures,
      tableAt,
    ]);
  }

  course.figures.model_diff = build;
  return { kept, differing, lacking };
});
