// A word looks at the words of a sentence. A reader drags its scores: the mask hides some of them,
// the softmax makes weights of the others, and the weights mix the words' vectors.

course.define("ch05_averaging", () => {
  const { el, format, slider, button, note, title, table, bar, wordMap } = course.live;
  const { listed, choice, press, sum } = course.live;
  const { softmax } = course.model;

  // ---- calculations ----

  // One row, from its scores to the mixture. `may` says which of the words the mask leaves.
  function mix(scores, may, x) {
    const masked = scores.map((score, s) => (may[s] ? score : -Infinity));
    const weights = softmax([...masked]);
    const mixture = x[0].map((_, c) => weights.reduce((sum, w, s) => sum + w * x[s][c], 0));
    return { masked, powers: masked.map(Math.exp), weights, mixture };
  }

  const share = (weight) => (weight < 0.005 ? "less than 1 %" : `${Math.round(100 * weight)} %`);

  // Who takes how much from whom, the largest share first
  function told(words, row, weights, may) {
    const shares = new Map(); // a share -> the words that get it
    const order = [...words.keys()].filter((s) => may[s]).sort((a, b) => weights[b] - weights[a]);
    for (const s of order) {
      const each = share(weights[s]);
      shares.set(each, [...(shares.get(each) ?? []), words[s]]);
    }
    const takes = [...shares].map(
      ([each, from]) => `${each}${from.length > 1 ? " each" : ""} from ${listed(from)}`,
    );
    const hidden = words.filter((_, s) => !may[s]);
    return (
      `${words[row]} takes ${takes.join(", and ")}.` +
      (hidden.length ? ` The mask hides ${listed(hidden)}, whatever the score.` : "")
    );
  }

  // ---- the figure ----

  const digits = (number) => format(number, 2).replace("−0.00", "0.00");

  function build(settings) {
    const { words, x, gives, masks, largest } = settings;
    const names = Object.keys(masks);
    const scores = words.map(() => words.map(() => 0)); // (T, T), each row has its own
    let looks = settings.looks;
    let isMoving = false; // while sliders follow a change of the row

    const sliders = words.map((word, s) =>
      slider(
        `Score of ${word}`,
        { min: -largest, max: largest, step: 0.1, value: 0, show: (n) => format(n, 1) },
        () => {
          if (isMoving) return;
          scores[looks][s] = sliders[s].get();
          draw();
        },
      ),
    );
    const sums = [el("td"), el("td")];
    const steps = table(
      ["word", "score", "mask", "exp", "weight", ""],
      words.map((word, s) => [word, sliders[s].element, "", "", "", ""]),
      { class: "sx-past-steps" },
      [["sum", "", "", ...sums, ""]],
    );
    const lines = [...steps.querySelectorAll("tbody tr")];
    const head = title();
    const sentence = el("p.sx-past-told", { role: "status" });

    // The map: its rows' names choose the word that looks
    const map = wordMap(words, "looks", "sx-past-map", choose);
    const { names: choices, cells } = map;
    const masking = choice("Mask", names, () => draw());
    const maskNow = () => masks[names[masking.at()]];
    const gets = el("div");

    function choose(t) {
      looks = t;
      isMoving = true;
      for (const [s, each] of sliders.entries()) each.set(scores[t][s]);
      isMoving = false;
      draw();
    }

    function draw() {
      const runs = words.map((_, t) => mix(scores[t], maskNow()[t], x));
      const { masked, powers, weights, mixture } = runs[looks];
      const may = maskNow()[looks];
      head.textContent = `1 · The scores of ${words[looks]}`;
      for (const [s, line] of lines.entries()) {
        const [, , after, power, weight, length] = line.children;
        after.textContent = may[s] ? format(masked[s], 1) : "−∞";
        power.textContent = digits(powers[s]);
        weight.textContent = digits(weights[s]);
        length.replaceChildren(weights[s] ? bar(weights[s]) : "");
        line.classList.toggle("sx-past-hidden", !may[s]);
      }
      sums[0].textContent = digits(sum(powers));
      sums[1].textContent = digits(sum(weights));
      sentence.textContent = told(words, looks, weights, may);
      for (const [t, row] of cells.entries()) {
        for (const [s, cell] of row.entries()) {
          cell.textContent = digits(runs[t].weights[s]);
          cell.style.setProperty("--w", runs[t].weights[s].toFixed(4));
          cell.className = maskNow()[t][s] ? "" : "sx-past-closed";
        }
        choices[t].closest("tr").classList.toggle("sx-past-looks", t === looks);
      }
      press(choices, looks, true);
      const mixed = table(
        ["weight × vector", ...gives],
        words.map((word, s) => [
          `${digits(weights[s])} × ${word}`,
          ...x[s].map((number) => String(number).replace("-", "−")),
        ]),
        {},
        [[`${words[looks]} gets`, ...mixture.map(digits)]],
      );
      gets.replaceChildren(title(`3 · What ${words[looks]} gets`), mixed);
    }

    const restore = () => {
      for (const row of scores) row.fill(0);
      choose(looks);
    };
    draw();
    return el("div.sx-past", [
      el("div.sx-past-row", [
        head,
        note("Drag a score, or move it by arrow keys."),
        steps,
        sentence,
      ]),
      el("div", [
        title("2 · The weights of all words"),
        note("Rows look, columns are looked at. Choose a row."),
        map.element,
        el("div.sx-bar.sx-past-masks", { role: "group", "aria-label": "Mask" }, [
          el("span", "Mask:"),
          masking.buttons,
        ]),
        button("All scores 0", restore),
      ]),
      gets,
    ]);
  }

  course.figures.weighted_past = build;
  return { mix, told };
});
