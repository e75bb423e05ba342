// A word looks at the words of a sentence. A reader drags its scores: the mask hides some of them,
// the softmax makes weights of the others, and the weights mix the words' vectors.
//
// Needs: page_model/model.js

course.define("ch05_averaging", () => {
  const { el, format, slider, button, note, title, table, bar, wordMap, listed } = course.live;
  const { ranked, choice, sum } = course.live;
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
  function takings(words, row, weights, may) {
    const shares = new Map(); // a share -> the words that get it
    for (const s of ranked(weights).filter((s) => may[s])) {
      const rounded = share(weights[s]);
      shares.set(rounded, [...(shares.get(rounded) ?? []), words[s]]);
    }
    const takes = [...shares].map(
      ([rounded, from]) => `${rounded}${from.length > 1 ? " each" : ""} from ${listed(from)}`,
    );
    const hidden = words.filter((_, s) => !may[s]);
    return (
      `${words[row]} takes ${takes.join(", and ")}.` +
      (hidden.length ? ` The mask hides ${listed(hidden)}, whatever the score.` : "")
    );
  }

  // ---- the figure ----

  const digits = (number) => format(number, 2);

  function build(settings) {
    const { words, x, gives, largest } = settings;
    const names = Object.keys(settings.masks);
    const scores = words.map(() => words.map(() => 0)); // (T, T), each row has its own
    let looks = settings.looks;

    const sliders = words.map((word, s) =>
      slider(
        `Score of ${word}`,
        { min: -largest, max: largest, step: 0.1, value: 0, show: (n) => format(n, 1) },
        () => {
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
    const map = wordMap(words, "looks", "value", choose);
    const masking = choice("Mask", names, () => draw());
    const maskNow = () => settings.masks[names[masking.at()]];
    const gets = el("div");

    function choose(t) {
      looks = t;
      for (const [s, scoreSlider] of sliders.entries()) scoreSlider.set(scores[t][s]); // which draws
    }

    function draw() {
      const runs = words.map((_, t) => mix(scores[t], maskNow()[t], x));
      const { masked, powers, weights, mixture } = runs[looks];
      const may = maskNow()[looks];
      head.textContent = `1 · The scores of ${words[looks]}`;
      for (const [s, line] of lines.entries()) {
        const [, , after, power, weight, length] = line.children;
        after.textContent = format(masked[s], 1);
        power.textContent = digits(powers[s]);
        weight.textContent = digits(weights[s]);
        length.replaceChildren(weights[s] ? bar(weights[s]) : "");
        line.classList.toggle("sx-past-hidden", !may[s]);
      }
      sums[0].textContent = digits(sum(powers));
      sums[1].textContent = digits(sum(weights));
      sentence.textContent = takings(words, looks, weights, may);
      const all = runs.map((run) => run.weights);
      map.show(all, looks, (t, s) => !maskNow()[t][s]);
      const mixed = table(
        ["weight × vector", ...gives],
        words.map((word, s) => {
          const vector = x[s].map((number) => String(number).replace("-", "−"));
          return [`${digits(weights[s])} × ${word}`, ...vector];
        }),
        {},
        [[`${words[looks]} gets`, ...mixture.map(digits)]],
      );
      gets.replaceChildren(title(`3 · What ${words[looks]} gets`), mixed);
    }

    const restore = () => {
      for (const row of scores) row.fill(0);
      choose(looks);
    };
    const masks = [el("span", "Mask:"), masking.buttons];
    draw();
    return el("div.sx-past", [
      el("div.sx-past-row", head, note("Drag a score, or move it by arrow keys."), steps, sentence),
      el("div", [
        title("2 · The weights of all words"),
        note("Rows look, columns are looked at. Choose a row."),
        map.element,
        el("div.sx-bar.sx-past-masks", { role: "group", "aria-label": "Mask" }, masks),
        button("All scores 0", restore),
      ]),
      gets,
    ]);
  }

  course.figures.weighted_past = build;
  return { mix };
});
