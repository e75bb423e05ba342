// A block with switches on a few words: the stream in front of it, behind attention and behind the
// feed-forward network, with any part switched off, and with the same block several times.

course.define("ch09_block", () => {
  const { el, slider, note, title, table, newSwitch, choice, mean } = course.live;
  const { softmax } = course.model;
  const EPS = 1e-5; // of the norms

  // ---- calculations ----

  const dot = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);

  // x (T, C), with the weight (outputs, C) and the bias (outputs) of that name -> (T, outputs)
  const linear = (w, name, x) =>
    x.map((row) => w[`${name}.weight`].map((line, o) => dot(row, line) + w[`${name}.bias`][o]));

  function norm(w, name, x) {
    const [weight, bias] = [w[`${name}.weight`], w[`${name}.bias`]];
    return x.map((row) => {
      const middle = mean(row);
      const variance = mean(row.map((n) => (n - middle) ** 2));
      return row.map((n, c) => ((n - middle) / Math.sqrt(variance + EPS)) * weight[c] + bias[c]);
    });
  }

  const gelu = (n) => 0.5 * n * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (n + 0.044715 * n ** 3)));

  // One head without a mask: what it writes, and its weights
  function attention(w, x) {
    const C = x[0].length;
    const qkv = linear(w, "attn.c_attn", x); // (T, 3C)
    const [q, k, v] = [0, C, 2 * C].map((from) => qkv.map((row) => row.slice(from, from + C)));
    const map = q.map((query) => softmax(k.map((key) => dot(query, key) / Math.sqrt(C))));
    const heads = map.map((row) => v[0].map((_, c) => row.reduce((n, p, s) => n + p * v[s][c], 0)));
    return { map, written: linear(w, "attn.c_proj", heads) };
  }

  const feedForward = (w, x) =>
    linear(
      w,
      "mlp.c_proj",
      linear(w, "mlp.c_fc", x).map((row) => row.map(gelu)),
    );

  // A sublayer that reads x and writes; `on` says which parts are switched on
  function sublayer(w, name, x, on, run) {
    const written = run(on.norm && !on.post ? norm(w, name, x) : x);
    const sum = on.stream ? x.map((row, t) => row.map((n, c) => n + written[t][c])) : written;
    return on.norm && on.post ? norm(w, name, sum) : sum;
  }

  // The block `count` times: at each, the stream at three stations, and the weights of attention
  function stack(w, x, on, count) {
    const blocks = [];
    for (let i = 0; i < count; i++) {
      let map = null;
      let middle = x;
      if (on.attention) {
        middle = sublayer(w, "ln_1", x, on, (read) => {
          const found = attention(w, read);
          map = found.map;
          return found.written;
        });
      }
      const end = on.network
        ? sublayer(w, "ln_2", middle, on, (read) => feedForward(w, read))
        : middle;
      blocks.push({ stations: [x, middle, end], map });
      x = end;
    }
    return blocks;
  }

  // How far the two nearest of the words are apart
  function nearest(x) {
    const apart = x.flatMap((a, i) =>
      x.slice(i + 1).map((b) => Math.hypot(...a.map((n, c) => n - b[c]))),
    );
    return Math.min(...apart);
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

  function build({ words, channels, x, weights, counts, told }) {
    const on = { attention: true, network: true, stream: true, norm: true, post: false };
    let count = 1;
    const switches = Object.entries(PARTS).map(([part, name]) => {
      const turn = (isOn) => {
        on[part] = isOn;
        draw();
      };
      const { box, element } = newSwitch(name, turn, { class: "sx-blk-switch" });
      box.checked = true;
      return element;
    });
    const places = choice("Where the norm stands", ["pre-norm", "post-norm"], (i) => {
      on.post = i === 1;
      draw();
    });
    const names = counts.map((n) => (n === 1 ? "1 block" : `${n} blocks`));
    const numbers = choice("How many blocks", names, (i) => {
      count = counts[i];
      at.element.hidden = count === 1;
      fitSlider();
    });
    const at = slider("Look at block", { min: 1, max: Math.max(...counts), value: 1 }, draw);
    at.element.hidden = true;
    const input = at.element.querySelector("input");
    function fitSlider() {
      input.max = count;
      at.set(count); // which draws
    }
    const status = el("p.sx-status", { role: "status" });
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
      const i = Math.min(at.get(), count) - 1;
      const { stations: three, map: weightsOf } = blocks[i];
      const end = blocks[count - 1].stations[2];
      const which = count === 1 ? "the block" : `block ${i + 1} of ${count}`;
      for (const each of places.buttons) each.disabled = !on.norm;
      const most = Math.max(1, ...three.map(largest));
      map.replaceChildren(
        title("Who reads whom"),
        weightsOf
          ? grid("sx-blk-map", `Weights of attention in ${which}`, words, words, weightsOf, 1)
          : note("Attention is switched off: no word reads another."),
      );
      three.forEach((stream, s) => {
        const name = s === 0 && i > 0 ? `out of block ${i}` : STATIONS[s];
        const before = three[s - 1];
        stations[s].replaceChildren(
          title(name[0].toUpperCase() + name.slice(1)),
          grid(
            "sx-blk-stream",
            `The stream ${name}, ${which}`,
            channels,
            words,
            turned(stream),
            most,
            (c, t) => s > 0 && short(stream[t][c]) !== short(before[t][c]),
          ),
        );
      });
      const knows = words.filter((_, t) => end[t][channels.indexOf(told)] > 0.5);
      status.textContent =
        `${count === 1 ? "After the block" : `After ${count} blocks`}: ` +
        `“${told}” above 0.5 at ${knows.join(", ") || "no word"}; ` +
        `largest number ${short(largest(end))}; ` +
        `nearest two words ${short(nearest(end))} apart.`;
    }

    draw();
    return el("div", [
      el("div.sx-blk-controls", switches),
      el("div.sx-blk-controls", places.element, numbers.element),
      at.element,
      status,
      el("div.sx-blk", map, stations),
      note("Columns are words. Bold: what the part before it has changed."),
    ]);
  }

  course.figures.block_switches = build;
  return { stack, nearest, largest, short };
});
