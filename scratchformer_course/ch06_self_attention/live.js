// Self-attention on a few words: a word is pressed, and bars say what it reads. The numbers of W_q
// and W_k can be edited, and queries, keys, scores, weights and mixtures follow. The weights that an
// edit has changed are underlined. In `near_noun` words have a clock hand, too, whose speed can be set.
//
// Needs: page_model/model.js

course.define("ch06_self_attention", () => {
  const { el, button, note, title, table, bar, check, press, wordMap, wordBars } = course.live;
  const { newStatus, format, listed, named, numberField, slider } = course.live;
  const { softmax } = course.model;
  const LARGEST = 99; // the size of a number that can be typed
  const SEEN = 0.005; // a weight that changes by less looks the same

  // ---- calculations ------------------------------------------------------------------------

  // (T, C) @ (C, D) -> (T, D)
  const product = (a, b) =>
    a.map((row) =>
      b[0].map((_, column) => row.reduce((sum, number, i) => sum + number * b[i][column], 0)),
    );

  const transposed = (a) => a[0].map((_, column) => a.map((row) => row[column]));

  // All steps of one head. With `causal`, no word sees a later one.
  function attend({ x, W_q, W_k, W_v }, causal = false) {
    const [q, k, v] = [W_q, W_k, W_v].map((W) => product(x, W));
    const scores = product(q, transposed(k)); // (T, T)
    const scaled = scores.map((row) => row.map((score) => score / Math.sqrt(q[0].length)));
    const weights = scaled.map((row, t) =>
      softmax(row.map((score, s) => (causal && s > t ? -Infinity : score))),
    );
    return { q, k, v, scores, scaled, weights, context: product(weights, v) };
  }

  // The rows of two maps in which a weight differs, and how many weights do
  function difference(before, after) {
    const cells = after.map((row, t) =>
      row.map((weight, s) => Math.abs(weight - before[t][s]) >= SEEN),
    );
    const rows = [...cells.keys()].filter((t) => cells[t].includes(true));
    return { cells, rows, count: cells.flat().filter(Boolean).length };
  }

  // Words with a hand in their last two columns, which turns by so many radians a word
  const turned = (x, step) =>
    x.map((word, t) => [...word.slice(0, -2), Math.cos(t * step), Math.sin(t * step)]);

  // What gets the largest of these weights, in words: "king: 0.85", "the and old: 0.50 each"
  function most(weights, words) {
    const largest = Math.max(...weights);
    const names = words.filter((_, s) => largest - weights[s] < SEEN);
    if (names.length > 6) return `all words alike: ${digits(largest)} each`;
    return `${listed(names)}: ${digits(largest)}${names.length > 1 ? " each" : ""}`;
  }

  // ---- numbers as text ---------------------------------------------------------------------

  const digits = (number) => format(number, 2);
  const short = (number) => format(number, Math.abs(number - Math.round(number)) < 1e-9 ? 0 : 2);
  const vector = (numbers) => `(${numbers.map(short).join(", ")})`;

  // ---- the figure --------------------------------------------------------------------------

  function build(settings) {
    const { words, features, columns, gives, W_v, shown = [...features.keys()] } = settings;
    const { step, pairs = [] } = settings; // of the hand, if there is one, and [asks, should find]
    let { x } = settings;
    const root = `÷ √${columns.length}`;
    let matrices;
    let asks;
    let run;
    let before; // the weights when an edit began
    let changed; // whether there was one

    // The fields of both matrices, with one row for each feature
    const fields = [];
    function field(name, row, column) {
      const label = `${name}, ${features[row]} to ${columns[column]}`;
      const { input, fill } = numberField(label, LARGEST, {
        write(number) {
          matrices[name][row][column] = number;
          edited(`${label}: ${short(number)}.`);
        },
        refuse() {
          status.textContent = `${label}: type a number from −${LARGEST} to ${LARGEST}.`;
        },
        left: mark,
      });
      input.addEventListener("focus", () => {
        before = run.weights;
      });
      fields.push({ input, fill, name, row, column });
      return input;
    }
    const kindOf = (name, d) => ({ class: name === "W_k" && d === 0 ? "sx-att-key" : null });
    const both = (cell) => ["W_q", "W_k"].map((name) => columns.map((_, d) => cell(name, d)));
    const group = (name, colour) =>
      el("th", { scope: "colgroup", colspan: columns.length, ...kindOf(name, 0) }, [
        el("span", { style: `--colour: var(--sx-${colour})` }, name),
      ]);
    const head = (name, d) => el("th", { scope: "col", ...kindOf(name, d) }, columns[d]);
    const rows = shown.map((row) => [
      features[row],
      ...both((name, d) => el("td", kindOf(name, d), field(name, row, d))).flat(),
    ]);
    const grid = table(["", ...both(head).flat()], rows, { class: "sx-att-matrices" });
    grid.tHead?.prepend(el("tr", el("td"), group("W_q", "query"), group("W_k", "key")));

    // The sentence: a bar over each word, as high as what the pressed word reads of it
    const readers = words.map((word, t) => button(word, () => choose(t)));
    const bars = wordBars("The sentence", readers, "query");
    const largest = el("p", { role: "status" }); // what the pressed word reads most
    const found = el("p", { hidden: !pairs.length }); // what the words of `pairs` find
    const sentence = el("div.sx-att-sentence", [
      note("Press a word. The bars show what it reads."),
      bars.element,
      found,
      largest,
    ]);

    // The map: its rows' names choose the word that asks
    const map = wordMap(words, "asks", "query", choose);

    function hide(isMasked) {
      before = run.weights;
      edited(isMasked ? "No word sees a later word." : "Every word sees all words.");
    }
    const masking = check("Mask: hide later words", hide, { class: "sx-att-mask" });
    const mask = masking.box;
    masking.element.hidden = step !== undefined;
    const rate = { max: 3, step: 0.1, value: step ?? 0, show: (r) => format(r, 1) };
    const speed = slider("Hand speed", rate, () => {
      x = turned(x, speed.get());
      if (!run) return;
      before = run.weights;
      edited(`The hand turns by ${format(speed.get(), 1)} radians a word.`);
    });
    speed.element.hidden = step === undefined;
    const status = newStatus();
    const summary = el("summary");
    const steps = el("div.sx-att-parts");
    const row = el("details.sx-att-row", summary, steps);
    const element = el("div.sx-att", [
      sentence,
      el("div", [
        title("1 · The matrices"),
        note("Edit a number. Rows: features of a word."),
        grid,
        speed.element,
        button("As in the chapter", restore),
      ]),
      el("div.sx-att-weights", [
        title("2 · The weights of all words"),
        note("Rows ask, columns answer. Choose a row."),
        map.element,
        masking.element,
        status,
      ]),
      row,
    ]);

    // Marks of a field: a zero is paler, an edited number bold, and a wrong one goes when left
    function mark() {
      for (const { input, fill, name, row: r, column } of fields) {
        const number = matrices[name][r][column];
        fill(number);
        input.classList.toggle("sx-att-zero", number === 0);
        input.classList.toggle("sx-att-edited", number !== settings[name][r][column]);
      }
    }

    // After a change: draw, and say which rows it has reached
    function edited(what) {
      changed = true;
      draw();
      const { rows, count } = difference(before, run.weights);
      const where = rows.length
        ? ` (underlined), in ${rows.length} of ${words.length} rows` +
          (rows.length < words.length ? `: ${rows.map((t) => words[t]).join(", ")}` : "")
        : "";
      // the row below follows the change, if the chosen one did not change
      if (rows.length && !rows.includes(asks)) choose(rows[0]);
      status.textContent = `${what} ${count} of ${words.length ** 2} weights changed${where}.`;
    }

    function draw() {
      run = attend({ x, W_v, ...matrices }, mask.checked);
      const marks = changed ? difference(before, run.weights).cells : null;
      map.show(run.weights, asks, (t, s) => mask.checked && s > t);
      for (const [t, line] of map.cells.entries()) {
        for (const [s, cell] of line.entries()) {
          cell.classList.toggle("sx-att-changed", Boolean(marks?.[t][s]));
        }
      }
      press(readers, asks);
      mark();
      drawRow();
    }

    function choose(t) {
      asks = t;
      draw();
    }

    // The bars, and all steps from the query of the word that asks to what it gets
    function drawRow() {
      const isMasked = mask.checked;
      const weights = run.weights[asks];
      largest.textContent = `${words[asks]} reads ${most(weights, words)}`;
      bars.show(weights, weights.map(digits));
      const shares = pairs.map(
        ([t, s]) => `${words[t]} gives ${words[s]} ${digits(run.weights[t][s])}`,
      );
      found.textContent = `${listed(shares)}.`;
      const kinds = ["word", "key", "q · k", root, ...(isMasked ? ["mask"] : []), "weight", ""];
      const scoreTable = table(
        kinds,
        words.map((word, s) => [
          word,
          vector(run.k[s]),
          short(run.scores[asks][s]),
          short(run.scaled[asks][s]),
          ...(isMasked ? [s > asks ? "−∞" : "open"] : []),
          digits(weights[s]),
          weights[s] ? bar(weights[s]) : "",
        ]),
      );
      scoreTable.querySelectorAll("tbody tr").forEach((line, s) => {
        line.lastChild.className = "sx-att-bar";
        line.classList.toggle("sx-att-most", weights[s] === Math.max(...weights));
      });
      const mixture = table(
        ["weight × value", ...gives],
        words.map((word, s) => [`${digits(weights[s])} × ${word}`, ...run.v[s].map(short)]),
        {},
        [[`${words[asks]} gets`, ...run.context[asks].map(digits)]],
      );
      const [word, q] = [el("em", words[asks]), el("b", vector(run.q[asks]))];
      const query = ["The query of ", word, " is ", q, "."];
      summary.textContent = `3 · Every step for ${words[asks]}`;
      steps.replaceChildren(
        el("div", el("p", named(query, "query")), scoreTable),
        el("div", el("p", named("The weights mix the values.", "value")), mixture),
      );
    }

    function restore() {
      matrices = Object.fromEntries(
        ["W_q", "W_k"].map((name) => [name, settings[name].map((numbers) => [...numbers])]),
      );
      if (step !== undefined) speed.set(step);
      changed = false;
      mask.checked = false;
      draw();
      status.textContent = "These are the numbers that the figure began with.";
    }

    asks = settings.asks;
    restore();
    return element;
  }

  course.figures.attention_steps = build;
  course.figures.near_noun = build;
  return { attend, difference, most, turned };
});
