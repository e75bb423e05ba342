// What a GPT costs before it is built: its parameters, the operations of training and the memory
// of a step, part by part, from six sizes. The formulas are those of the chapter.

course.define("ch15_costs", () => {
  const { el, percent, sliderOver, choice, note, table, press, title, grouped } = course.live;
  const { newStatus, region } = course.live;
  const sum = (parts) => course.live.sum(Object.values(parts));
  const PRECISIONS = { float32: false, "mixed precision": true };
  const OPTIMISERS = { AdamW: 2, "SGD, momentum": 1, SGD: 0 }; // numbers kept for each parameter
  const COLOURS = {
    "token table": "token",
    "position table": "position",
    norms: "muted",
    attention: "query",
    "attention's matrices": "query",
    "scores and mixing": "key",
    "feed-forward": "value",
    "output head": "token",
    weights: "stream",
    "copies in 16 bits": "position",
    gradients: "key",
    optimiser: "query",
    activations: "value",
    "three tables of logits": "token",
  };

  // ---- the formulas ------------------------------------------------------------------------

  // Each matrix with its bias; a norm has two numbers for each channel. The head is the token table
  function parameters({ vocab_size: V, context_length: T, d_model: C, n_layers: L }) {
    return {
      "token table": V * C,
      "position table": T * C,
      attention: L * (4 * C * C + 4 * C),
      "feed-forward": L * (8 * C * C + 5 * C),
      norms: (2 * L + 1) * 2 * C,
    };
  }

  // Of matrix products, for one token of a text of T: forward, and twice as many backward
  function operations({ vocab_size: V, context_length: T, d_model: C, n_layers: L }) {
    return {
      "attention's matrices": 3 * L * 8 * C * C,
      "scores and mixing": 3 * L * 4 * T * C,
      "feed-forward": 3 * L * 16 * C * C,
      "output head": 3 * 2 * C * V,
    };
  }

  // Bytes at the worst moment of a step, in the backward pass of the loss. In mixed precision each
  // matrix gets a copy in 16 bits; weights, gradients, the optimiser, the stream and the loss stay
  // in float32
  function memory(size, batch, { mixed = false, means = 2 } = {}) {
    const { vocab_size: V, context_length: T, d_model: C, n_layers: L } = size;
    const n = sum(parameters(size));
    return {
      weights: 4 * n,
      ...(mixed && { "copies in 16 bits": 2 * (12 * L * C * C + V * C) }),
      gradients: 4 * n,
      optimiser: 4 * means * n,
      activations: batch * T * C * (mixed ? 36 * L + 6 : 64 * L + 8),
      "three tables of logits": 4 * batch * T * 3 * V,
    };
  }

  // How many texts a step can hold in so many bytes
  function largestBatch(most, size, settings) {
    const none = sum(memory(size, 0, settings));
    return Math.max(0, Math.floor((most - none) / (sum(memory(size, 1, settings)) - none)));
  }

  // ---- numbers in words --------------------------------------------------------------------

  const short = (number) => grouped(Number(number.toPrecision(3)));
  function scaled(number, units) {
    const place = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(number || 1) / 3)));
    return `${short(number / 1000 ** place)} ${units[place]}`.trim();
  }
  const inBytes = (n) => scaled(n / 1e6, ["MB", "GB", "TB", "PB"]);
  const inWords = (n) =>
    scaled(n, ["", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion"]);
  const share = (x) => (x < 1 ? percent(x) : `${short(100 * x)} %`);
  const texts = (n) => (n === 1 ? "1 text" : `${grouped(n)} texts`);

  // ---- the figure --------------------------------------------------------------------------

  const colour = (part) => `--colour: var(--sx-${COLOURS[part]})`;

  // A bar of pieces; `most` is the number that fills it, and what is more does not show
  function pieces(parts, most) {
    let room = 1;
    return el(
      "div.sx-pieces",
      { "aria-hidden": "true" },
      Object.entries(parts).map(([part, n]) => {
        const width = Math.min(n / most, room);
        room -= width;
        return width > 0 ? el("i", { style: `${colour(part)}; width: ${100 * width}%` }) : null;
      }),
    );
  }

  // One sum: its name, its bar and its table
  function card(name, total, parts, say) {
    const all = sum(parts);
    const rows = Object.entries(parts).map(([part, n]) => [
      el("span.sx-part", { style: colour(part) }, part),
      say(n),
      share(n / all),
    ]);
    return el("section", [
      title([name, el("b", total)]),
      pieces(parts, all),
      table(["", "", ""], rows, { class: "sx-parts", "aria-label": name }),
    ]);
  }

  function build({ presets, start, scales, gigabytes }) {
    const names = {
      n_layers: "Layers, L",
      d_model: "Width, C",
      context_length: "Context, T",
      vocab_size: "Vocabulary, V",
      batch_size: "Texts",
    };

    const sliders = Object.fromEntries(
      Object.entries(names).map(([name, label]) => {
        const scale = scales[name];
        const value = scale.indexOf(presets[start][name]);
        return [name, sliderOver(label, scale.map(grouped), () => draw(), value)];
      }),
    );
    /** @type {() => any} */
    function now() {
      const sizes = Object.entries(sliders).map(([name, sizeSlider]) => [
        name,
        scales[name][sizeSlider.get()],
      ]);
      return Object.fromEntries(sizes);
    }

    const sizesOnly = ["vocab_size", "context_length", "d_model", "n_layers"];
    const isChosen = (preset) => sizesOnly.every((name) => preset[name] === now()[name]);
    function choosePreset(i) {
      for (const name of Object.keys(sliders)) {
        sliders[name].set(scales[name].indexOf(presets[i][name])); // which draws
      }
    }
    const models = presets.map((preset) => preset.name);
    const model = choice("Model", models, choosePreset);
    const precision = choice("Numbers", Object.keys(PRECISIONS), () => draw());
    const optimiser = choice("Optimiser", Object.keys(OPTIMISERS), () => draw());
    const chosen = () => ({
      mixed: Object.values(PRECISIONS)[precision.at()],
      means: Object.values(OPTIMISERS)[optimiser.at()],
    });
    const choices = Object.entries({ Model: model, Numbers: precision, Optimiser: optimiser }).map(
      ([name, { buttons }]) => {
        const group = el("div.sx-choices", { role: "group", "aria-label": name }, buttons);
        return el("div.sx-choice", el("span", name), group);
      },
    );
    const cards = region("div.sx-cards", "Costs");
    const status = newStatus();

    function devices(size, parts) {
      const all = sum(parts);
      const rows = gigabytes.map((n) => [
        `${n} GB`,
        el("div", { class: all > n * 1e9 ? "sx-over" : null }, pieces(parts, n * 1e9)),
        share(all / (n * 1e9)),
        texts(largestBatch(n * 1e9, size, chosen())),
      ]);
      return el("section", [
        title("Does it fit?"),
        table(["memory", "", "used", "holds at most"], rows, { class: "sx-devices" }),
      ]);
    }

    function draw() {
      const { batch_size: batch, ...size } = now();
      const n = sum(parameters(size));
      const token = operations(size);
      const held = memory(size, batch, chosen());
      const step = sum(token) * size.context_length * batch;
      press(model.buttons, presets.findIndex(isChosen));
      cards.replaceChildren(
        card("Memory, worst moment", inBytes(sum(held)), held, inBytes),
        devices(size, held),
        card("Parameters", grouped(n), parameters(size), grouped),
        el("div", [
          card("Operations for a token", inWords(sum(token)), token, inWords),
          note(
            `The rule 6 N says ${inWords(6 * n)}: the count is ` +
              `${(sum(token) / (6 * n)).toFixed(2)} times as much. A step takes ${inWords(step)}.`,
          ),
        ]),
      );
      const fits = gigabytes.find((most) => sum(held) <= most * 1e9);
      status.textContent =
        `${grouped(n)} parameters. A step of ${texts(batch)} needs ` +
        `${inBytes(sum(held))}: ` +
        (fits ? `it fits in ${fits} GB.` : `more than ${gigabytes[gigabytes.length - 1]} GB.`);
    }

    draw();
    return el("div.sx-costs", [
      note(
        "Choose a model, then move one size at a time. Heads are missing here: by these " +
          "formulas their number costs nothing.",
      ),
      choices[0],
      el("div.sx-columns", [
        el("div.sx-side", [
          Object.values(sliders).map((sizeSlider) => sizeSlider.element),
          choices.slice(1),
          status,
        ]),
        el("div.sx-main", cards),
      ]),
    ]);
  }

  course.figures.costs = build;
  return { parameters, operations, memory, largestBatch };
});
