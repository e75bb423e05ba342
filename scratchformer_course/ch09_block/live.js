// A block with switches on a few words: how much of one channel each word has in the end, and the
// stream before the block, after attention and after the feed-forward network, with any part switched
// off, with the same block several times, and with other weights in the network's first hidden number.
//
// Needs: page_model/model.js

course.define("ch09_block", () => {
  const { el, button, slider, note, title, table, newSwitch, choice, listOf } = course.live;
  const { newStatus, wordBars, numberField } = course.live;
  const { newCache } = course.model;
  const { norm, apply, add, attend, activate } = course.model.parts;
  const NO_MASK = { causal: true, heads: [] }; // the causal mask is off, and no head is

  // ---- calculations ----

  // The block `count` times: at each, the stream at three stations, and the weights of attention; `on`
  // says which parts are switched on
  function stack(weights, x, on, count) {
    const [T, C] = [x.length, x[0].length];
    const config = { n_layers: 1, n_heads: 1, d_model: C, context_length: T, vocab_size: 0 };
    const named = Object.entries(weights).map(([name, w]) => {
      return [`h.0.${name}`, Float32Array.from(w.flat())];
    });
    const model = { config, weights: Object.fromEntries(named) };
    const layer = (name, x) => apply(model, `h.0.${name}`, x, T);
    const normalized = (name, x) => norm(model, `h.0.${name}`, x, T);
    const rows = (x, width) => listOf(T, (t) => [...x.slice(t * width, (t + 1) * width)]);
    let map = null;
    const parts = {
      // one head without a mask
      attention(x) {
        const { heads, weights } = attend(model, 0, x, [], newCache(model), NO_MASK);
        map = rows(weights, T);
        return layer("attn.c_proj", heads);
      },
      network(x) {
        const inner = layer("mlp.c_fc", x).map((n) => activate("gelu", n));
        return layer("mlp.c_proj", inner);
      },
    };
    function sublayer(part, ln, x) {
      if (!on[part]) return x;
      const written = parts[part](on.norm ? normalized(ln, x) : x);
      return on.stream ? add(x, written) : written;
    }
    let stream = Float32Array.from(x.flat());
    return listOf(count, () => {
      const middle = sublayer("attention", "ln_1", stream);
      const end = sublayer("network", "ln_2", middle);
      const stations = [stream, middle, end].map((x) => rows(x, C));
      stream = end;
      return { stations, map };
    });
  }

  // How far the two nearest of the words are apart
  function nearest(x) {
    const distances = x.flatMap((a, i) =>
      x.slice(i + 1).map((b) => Math.hypot(...a.map((n, c) => n - b[c]))),
    );
    return Math.min(...distances);
  }

  const largest = (x) => Math.max(...x.flat().map(Math.abs));

  // ---- numbers as text ----

  function short(number) {
    const size = Math.abs(number);
    if (size < 0.005) return "0";
    const text =
      size >= 999.5
        ? Math.round(number).toLocaleString("en")
        : number.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
    return text.replace("-", "−");
  }

  // ---- the figure ----

  const PARTS = {
    attention: "Attention",
    network: "Feed-forward network",
    stream: "Residual stream",
    norm: "Norm",
  };
  const STATIONS = ["into the block", "after attention", "after the network"];
  const LARGEST = 99; // the size of a number that can be typed
  const FULL_BAR = 2; // what fills a bar, unless a word has more

  function build({ words, channels, x, weights: given, counts, told: word, rule }) {
    const on = { attention: true, network: true, stream: true, norm: true };
    const weights = { ...given };
    let count = 1;
    const switches = Object.entries(PARTS).map(([part, name]) => {
      const switchPart = (isOn) => {
        on[part] = isOn;
        draw();
      };
      return newSwitch(name, switchPart, { class: "sx-blk-switch" }, true).element;
    });
    const names = counts.map((n) => (n === 1 ? "1 block" : `${n} blocks`));
    const countChoice = choice("How many blocks", names, (i) => {
      count = counts[i];
      blockSlider.element.hidden = count === 1;
      fitSlider();
    });
    const blockSlider = slider(
      "Look at block",
      { min: 1, max: Math.max(...counts), value: 1 },
      draw,
    );
    blockSlider.element.hidden = true;
    const input = blockSlider.element.querySelector("input");
    function fitSlider() {
      input.max = count;
      blockSlider.set(count); // which draws
    }

    // The sentence: a bar over each word, as high as what it has of the channel in the end
    const labels = words.map((name) => el("b", name));
    const bars = wordBars(`${word} of each word`, labels, "stream");

    // The network's first hidden number: the weights that can be edited, and its bias
    const fields = [];
    function field(name, read, change) {
      const write = (number) => {
        change(number);
        draw();
      };
      const made = numberField(name, LARGEST, { write, left: fill });
      fields.push({ ...made, read });
      return made.input;
    }
    function fill() {
      for (const { fill, read } of fields) fill(read());
    }
    const [WEIGHT, BIAS] = ["mlp.c_fc.weight", "mlp.c_fc.bias"];
    const restore = () => {
      weights[WEIGHT] = given[WEIGHT].map((row) => [...row]);
      weights[BIAS] = [...given[BIAS]];
      fill();
      draw();
    };
    const weightFields = rule.map((name) => {
      const c = channels.indexOf(name);
      const write = (number) => {
        weights[WEIGHT][0][c] = number;
      };
      return [
        field(`weight of ${name}`, () => weights[WEIGHT][0][c], write),
        el("span", ` · ${name} + `),
      ];
    });
    const bias = field(
      "bias",
      () => weights[BIAS][0],
      (number) => {
        weights[BIAS][0] = number;
      },
    );
    const hiddenRule = rule.length
      ? el("details.sx-blk-inside", [
          el("summary", "Change the rule"),
          el("div.sx-blk-rule", [
            el("span", "The network writes "),
            el("b", word),
            el("span", " where "),
            weightFields,
            bias,
            el("span", " is above 0. "),
            button("As in the chapter", restore),
          ]),
        ])
      : null;

    const status = newStatus();
    const map = el("div.sx-blk-part");
    const stations = STATIONS.map(() => el("div.sx-blk-part"));

    const shade = (share) => `--w: ${Math.min(1, share).toFixed(4)}`;

    // Numbers in rows and columns; those that `marked` names are bold
    function grid(kind, name, rows, columns, cells, most, marked = (_row, _column) => false) {
      const cell = (number, r, c) => {
        const kind = marked(r, c) ? "sx-blk-new" : null;
        return el("td", { style: shade(Math.abs(number) / most), class: kind }, short(number));
      };
      const shown = rows.map((row, r) => [row, ...cells[r].map((number, c) => cell(number, r, c))]);
      return table(["", ...columns], shown, { class: kind, "aria-label": name });
    }
    const turned = (m) => m[0].map((_, c) => m.map((row) => row[c]));

    function draw() {
      const blocks = stack(weights, x, on, count);
      const i = Math.min(blockSlider.get(), count) - 1;
      const { stations: streams, map: weightsOf } = blocks[i];
      const end = blocks[count - 1].stations[2];
      const blockName = count === 1 ? "the block" : `block ${i + 1} of ${count}`;
      const levels = end.map((vector) => vector[channels.indexOf(word)]);
      const fullLevel = Math.max(FULL_BAR, ...levels);
      const shares = levels.map((level) => level / fullLevel);
      bars.show(shares, levels.map(short));
      const most = Math.max(1, ...streams.map(largest));
      map.replaceChildren(
        title("Who reads whom"),
        weightsOf
          ? grid("sx-blk-map", `Weights of attention in ${blockName}`, words, words, weightsOf, 1)
          : note("Attention is switched off: no word reads another."),
      );
      streams.forEach((stream, s) => {
        const name = s === 0 && i > 0 ? `out of block ${i}` : STATIONS[s];
        const before = streams[s - 1];
        stations[s].replaceChildren(
          title(name[0].toUpperCase() + name.slice(1)),
          grid(
            "sx-blk-stream",
            `The stream ${name}, ${blockName}`,
            channels,
            words,
            turned(stream),
            most,
            (c, t) => s > 0 && short(stream[t][c]) !== short(before[t][c]),
          ),
        );
      });
      const wordsAbove = words.filter((_, t) => levels[t] > 0.5);
      status.textContent =
        `${count === 1 ? "After the block" : `After ${count} blocks`}: ` +
        `“${word}” above 0.5 at ${wordsAbove.join(", ") || "no word"}; ` +
        `largest number ${short(largest(end))}; ` +
        `nearest two words ${short(nearest(end))} apart.`;
    }

    restore(); // which draws
    return el("div", [
      note(`The bars show how much ${word} each word has in the end.`),
      bars.element,
      el("div.sx-blk-controls", switches),
      hiddenRule,
      counts.length > 1 ? el("div.sx-blk-controls", countChoice.element) : null,
      status,
      el("details.sx-blk-inside", [
        el("summary", "Inside: who reads whom, and every number of the stream"),
        blockSlider.element,
        el("div.sx-blk", map, stations),
        note("Columns are words. Bold: what the part before it has changed."),
      ]),
    ]);
  }

  course.figures.block_switches = build;
  return { stack, nearest, largest };
});
