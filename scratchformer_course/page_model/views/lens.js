// The logit lens: what the model would predict if it stopped after each block.

course.define("view_lens", () => {
  const { el, percent, gridCursor, title, note, table, bar, ranked, region } = course.live;
  const { likeliest } = course.explorer;
  const { readOut, probabilities } = course.model;
  const WINDOW = 16; // tokens side by side, fewer if long: of a longer prompt the last are shown
  const BARS = 6; // likeliest tokens that are shown of a cell

  const name = (i) => (i === 0 ? "embedding" : `block ${i}`);

  function build({ model, label }) {
    const { n_layers: L, vocab_size: V } = model.config;
    let state;
    let first;
    let p; // p[i][t]: probabilities after i blocks, for the token after t
    const map = el("div.sx-scroll");
    const detail = region("div.sx-detail", "Details");
    const element = el("div.sx-columns", [
      el("div.sx-main.sx-wide", [
        map,
        note(
          "Each cell: the likeliest next token, were the model to stop there; the fuller, the " +
            "surer. A frame: it is what the prompt has next. Point at a cell, or move with the " +
            "arrow keys.",
        ),
      ]),
      detail,
    ]);

    function select(i, t) {
      const numbers = p[i][t];
      const next = state.ids[t + 1];
      const rows = ranked(numbers)
        .slice(0, BARS)
        .map((id) => [label(id), percent(numbers[id]), bar(numbers[id])]);
      detail.replaceChildren(
        title(`After “${label(state.ids[t])}” (token ${t + 1}), ${name(i)}`),
        note("The likeliest next tokens"),
        table(["token", "probability", ""], rows, { class: "sx-bars" }),
        note(
          next === undefined
            ? "The prompt ends here."
            : `The prompt has “${label(next)}” next: ${percent(numbers[next])}.`,
        ),
      );
    }

    function cell(i, t) {
      const id = likeliest(p[i][t]);
      const w = p[i][t][id];
      const attributes = {
        tabindex: i === L && t === state.ids.length - 1 ? 0 : -1,
        "data-row": L - i,
        "data-column": t - first,
        style: `--w: ${w.toFixed(4)}`,
        class: id === state.ids[t + 1] ? "sx-right" : null,
        "aria-label": `${name(i)}, after “${label(state.ids[t])}”: “${label(id)}” ${percent(w)}`,
      };
      return el("td", attributes, el("span", label(id)));
    }

    // The last block on top, the prompt at the bottom: read it upwards
    function lensGrid(longest) {
      const shown = [...state.ids.keys()].slice(first);
      const rows = p.map((_, i) => [name(i), ...shown.map((t) => cell(i, t))]).reverse();
      const prompt = shown.map((t) => el("th", { scope: "col" }, label(state.ids[t])));
      const attributes = {
        class: "sx-grid sx-lens-grid",
        role: "grid",
        style: `--n: ${shown.length}; --longest: ${longest}`,
        "aria-label": "Logit lens: rows are blocks, the last one on top; columns are tokens",
      };
      const grid = table([], rows, attributes, [["prompt", ...prompt]]);
      gridCursor(grid, (r, c) => select(L - r, first + c));
      return grid;
    }

    function update(newState) {
      state = newState;
      const T = state.ids.length;
      const longest = Math.max(...state.ids.slice(-WINDOW).map((id) => label(id).length));
      const fit = Math.floor(((map.clientWidth || 600) - 90) / (9 * longest + 8));
      first = Math.max(0, T - Math.max(3, Math.min(WINDOW, fit)));
      p = state.run.stream.map((x) => {
        const logits = readOut(model, x);
        return state.ids.map((_, t) => probabilities(logits.subarray(t * V, (t + 1) * V)));
      });
      map.replaceChildren(lensGrid(longest));
      map.scrollLeft = map.scrollWidth; // the last token is what comes next
      select(L, T - 1);
    }
    return { element, update };
  }

  course.explorer.views.lens = { title: "Logit lens", build };
});
