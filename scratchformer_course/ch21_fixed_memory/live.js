// Two memories of fixed size. fixed_table: pairs of a number and a letter are written into one table
// and into a cache, and all are asked for. ball_and_cups: swaps of two cups, each one write, with a
// strength that the reader sets.

course.define("ch21_fixed_memory", () => {
  const { el, button, choice, slider, note, table, listOf, grouped } = course.live;
  const { newStatus, drawing, words, circle, way, describe } = course.live;
  const RULES = ["sum", "decay", "delta"];
  const SHARP = 64; // what a score is multiplied by when the cache is read
  const LARGEST = 1e6; // numbers above it are no longer shown

  // ---- calculations ----

  const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);
  const times = (k, rows) =>
    rows[0].map((_, j) => k.reduce((total, x, i) => total + x * rows[i][j], 0));

  // One write, in place: of v under k, by a rule
  function write(rows, k, v, rule, decay) {
    const old = rule === "delta" ? times(k, rows) : v.map(() => 0);
    rows.forEach((row, i) => {
      row.forEach((x, j) => {
        row[j] = (rule === "decay" ? decay * x : x) + k[i] * (v[j] - old[j]);
      });
    });
  }

  // The letter whose code is nearest to what was read
  function nearest(read, codes) {
    const scores = codes.map((code) => dot(code, read));
    return scores.indexOf(Math.max(...scores));
  }

  // Pairs [key, letter] in the order of writing -> the letter that each key gets, by table and cache
  function recalled({ keys, codes, decay }, writes, rule) {
    const rows = keys[0].map(() => codes[0].map(() => 0));
    for (const [key, letter] of writes) write(rows, keys[key], codes[letter], rule, decay);
    const asked = [...new Set(writes.map(([key]) => key))];
    const found = asked.map((key) => {
      const weights = writes.map(([k]) => Math.exp(SHARP * (dot(keys[k], keys[key]) - 1)));
      const all = weights.reduce((a, b) => a + b, 0);
      const shares = weights.map((w) => w / all);
      const cached = times(
        shares,
        writes.map(([, letter]) => codes[letter]),
      );
      return [key, nearest(times(keys[key], rows), codes), nearest(cached, codes)];
    });
    return { rows, found };
  }

  // The same swaps each time: [i, j]
  function swaps(n, pairs) {
    let state = 21;
    return listOf(n, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return pairs[Math.floor((state / 2 ** 32) * pairs.length)];
    });
  }

  // After n swaps: the table, written to with strength beta, and the cup that the ball is under
  function follow(n, beta, { cups, pairs, ball }) {
    const rows = listOf(cups, (i) => listOf(cups, (j) => Number(i === j)));
    let at = ball;
    for (const [i, j] of swaps(n, pairs)) {
      rows[i].forEach((x, c) => {
        const change = (beta * (x - rows[j][c])) / 2; // k reads (x − other) / √2
        rows[i][c] -= change;
        rows[j][c] += change;
      });
      at = at === i ? j : at === j ? i : at;
    }
    return { rows, at };
  }

  // ---- a table that fills ----

  function buildTable(settings) {
    const { keys, first, letters, later } = settings;
    const size = keys[0].length;
    let writes = [];
    const begin = () => {
      writes = listOf(settings.start, (i) => [i, first[i]]);
    };
    const known = () => new Set(writes.map(([key]) => key)).size;
    const add = (n) => () => {
      const from = known();
      for (let i = from; i < Math.min(from + n, keys.length); i++) writes.push([i, first[i]]);
      draw();
    };
    const change = () => {
      const key = (writes.length - known()) % known();
      writes.push([key, later[key]]);
      draw();
    };
    const again = () => {
      begin();
      draw();
    };
    const one = button("Write a pair", add(1));
    const eight = button("Write eight", add(8));
    const other = button("Change a letter", change);
    const rule = choice("Rule", ["sum", `decay ${settings.decay}`, "delta rule"], () => draw());
    const [status, list, counts] = [newStatus(), el("div.sx-pairs"), el("div")];
    const cells = listOf(size * size, (i) =>
      el("svg:rect", { x: 12 * (i % size), y: 12 * Math.floor(i / size), width: 11, height: 11 }),
    );
    const svg = drawing(12 * size, 12 * size, { class: "sx-table" }, cells);

    function draw() {
      const { rows, found } = recalled(settings, writes, RULES[rule.at()]);
      const written = new Map(writes);
      const largest = Math.max(...rows.flat().map(Math.abs));
      rows.flat().forEach((x, i) => {
        cells[i].setAttribute("class", x < 0 ? "sx-below" : "sx-above");
        cells[i].setAttribute("fill-opacity", (Math.abs(x) / largest).toFixed(2));
      });
      list.replaceChildren(
        ...found.map(([key, read]) => {
          const [was, got] = [letters[written.get(key)], letters[read]];
          return was === got
            ? el("span.sx-right", `${key + 1} ${was}`)
            : el("span.sx-wrong", `${key + 1} ${was} `, el("b", `→ ${got}`));
        }),
      );
      const right = [1, 2].map((i) => found.filter((f) => f[i] === written.get(f[0])).length);
      const bytes = [4 * size * size, 4 * 2 * size * writes.length];
      const show = (n) => `${n} of ${found.length}`;
      counts.replaceChildren(
        table(
          ["", "letters right", "bytes"],
          [
            ["the table", show(right[0]), grouped(bytes[0])],
            ["a cache", show(right[1]), grouped(bytes[1])],
          ],
        ),
      );
      status.textContent =
        `${writes.length} writes. The table gives ${show(right[0])} letters back, in ` +
        `${grouped(bytes[0])} bytes; the cache ${show(right[1])}, in ${grouped(bytes[1])} bytes.`;
      describe(svg, `The table's ${size} by ${size} numbers, after ${writes.length} writes.`);
      one.disabled = eight.disabled = known() === keys.length;
    }

    begin();
    draw();
    return el("div.sx-columns", [
      el("section.sx-half", [
        el("div.sx-bar", [one, eight, other, button("Start again", again)]),
        el("div.sx-bar", [rule.element]),
        counts,
        status,
      ]),
      el("section.sx-half", [
        el("div.sx-filled", [svg, list]),
        note("A number with its letter. An arrow shows the wrong letter that the table gives."),
      ]),
    ]);
  }

  // ---- the ball and the cups ----

  function buildCups(settings) {
    const { cups, ball } = settings;
    let n = settings.swaps;
    const beta = slider(
      "β",
      { max: 2.2, step: 0.05, value: settings.beta, show: (b) => b.toFixed(2) },
      draw,
    );
    const more = (count) => () => {
      n = Math.min(settings.most, count ? n + count : 0);
      draw();
    };
    const buttons = [
      [1, "Swap"],
      [100, "100 swaps"],
      [10_000, "10,000 swaps"],
      [0, "Start again"],
    ].map(([count, text]) => button(text, more(count)));
    const [status, svgAt, tableAt] = [newStatus(), el("div"), el("div")];
    const number = (x) => (Math.abs(x) > LARGEST || Number.isNaN(x) ? "∞" : x.toFixed(2));

    function draw() {
      const { rows, at } = follow(n, beta.get(), settings);
      const shares = rows.map((row) => row[ball]);
      const highest = Math.max(...shares);
      const known = shares.filter((x) => highest - x < 1e-6).length === 1 && highest < LARGEST;
      const says = known ? `cup ${shares.indexOf(highest) + 1}` : "no cup";
      const svg = drawing(92 * cups, 150, { class: "sx-cups" });
      shares.forEach((x, i) => {
        const tall = 60 * Math.min(1, Math.max(0, x));
        svg.append(
          el("svg:rect", { x: 92 * i + 14, y: 66 - tall, width: 64, height: tall }),
          way(`M${92 * i + 20} 76h52l12 50h-76z`, "sx-cup"),
          words(String(i + 1), 92 * i + 46, 96),
          words(number(x), 92 * i + 46, 145),
        );
        if (i === at) svg.append(circle(92 * i + 46, 114, 9, "sx-ball"));
      });
      const told = `The ball is under cup ${at + 1}. The table says ${says}.`;
      describe(svg, `${cups} cups after ${n} swaps. ${told}`);
      svgAt.replaceChildren(svg);
      tableAt.replaceChildren(
        table(
          ["cup", ...listOf(cups, (c) => (c === ball ? el("th.sx-marked", "ball") : `${c + 1}`))],
          rows.map((row, i) => [
            String(i + 1),
            ...row.map((x, c) => el(c === ball ? "td.sx-marked" : "td", number(x))),
          ]),
        ),
      );
      status.textContent = `β = ${beta.get().toFixed(2)}, ${grouped(n)} swaps. ${told}`;
    }

    draw();
    return el("div.sx-columns", [
      el("section.sx-half", [beta.element, el("div.sx-bar", buttons), svgAt, status]),
      el("section.sx-half", [
        tableAt,
        note("A row for each cup, and a column for what began under each."),
      ]),
    ]);
  }

  course.figures.fixed_table = buildTable;
  course.figures.ball_and_cups = buildCups;
  return { recalled, follow };
});
