// A stored translation, written word by word: each word lights up what it reads in the source, and
// the rows so far are the map of the attention.

course.define("ch14_encoder_decoder", () => {
  const { el, label, slider, note, listed, scrolling, table, ranked, newStatus } = course.live;
  const BEGIN = "⊢";
  const END = "⊣";

  // ---- calculations ----

  const share = (weight) => `${Math.round(100 * weight)} %`;

  // The places that one row reads, the largest share first, until they hold most of it
  function reads(row, most = 0.8) {
    let sum = 0;
    return ranked(row).filter((s) => {
      const isNeeded = sum < most;
      sum += row[s];
      return isNeeded;
    });
  }

  // What happens at a step, in a sentence
  function sentence(written, word, source, row) {
    const from = reads(row).slice(0, 3);
    const list = listed(from.map((s) => `${source[s]} (${share(row[s])})`));
    return `After ${written.join(" ")} it reads mostly ${list} and writes ${word}.`;
  }

  // ---- the figure ----

  function build({ translations, start }) {
    const choice = el(
      "select",
      { onchange: choose },
      translations.map(({ english }, i) =>
        el("option", { value: i, selected: i === start ? "" : null }, english),
      ),
    );
    const control = el("div");
    const status = newStatus();
    const map = scrolling("sx-scroll", "What each word reads");
    let step;

    function choose() {
      const words = translations[choice.value].german.split(" ").length + 1;
      // all words are written; only the end is still to come
      step = slider("Step", { min: 1, max: words, value: words - 1 }, draw);
      control.replaceChildren(step.element);
      draw();
    }

    function cell(weight, isWritten) {
      const percent = isWritten ? Math.round(100 * weight) : 0;
      return el("td", { style: `--w: ${isWritten ? weight : 0}` }, percent >= 5 ? percent : "");
    }

    function draw() {
      const { english, german, weights } = translations[choice.value];
      const source = [...english.split(" "), END];
      const target = [...german.split(" "), END];
      const now = step.get() - 1;
      const heads = source.map((word, s) => {
        const name = el("span", word === END ? "end" : word);
        return el("th", { scope: "col", style: `--w: ${weights[now][s]}` }, name);
      });
      const rows = target.map((word, t) => [
        t <= now ? word : "…",
        ...weights[t].map((weight) => cell(weight, t <= now)),
      ]);
      const grid = table(["", ...heads], rows, { class: "sx-map" });
      grid.tBodies[0].rows[now].className = "sx-now";
      map.replaceChildren(grid);
      const written = [BEGIN, ...target.slice(0, now)];
      const word = target[now] === END ? "⊣, the end" : target[now];
      status.textContent = sentence(written, word, source, weights[now]);
    }

    choose();
    return el("div.sx-translation", [
      el("p.sx-choice", label("Sentence", choice), choice),
      control,
      status,
      map,
      note(
        "A row for each German word that it writes, a column for each vector of the memory: one for " +
          "each English word, and one for the end of the text. The numbers are the shares of the " +
          "attention in percent, from 5 up, averaged over the four heads of the last block.",
      ),
    ]);
  }

  course.figures.translation_steps = build;
  return { reads, sentence };
});
