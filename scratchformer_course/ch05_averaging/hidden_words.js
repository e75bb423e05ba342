// A sentence that a reader types, and a GPT that reads it. A word that is pressed is hidden from the
// last letter, in the last block alone: what comes next without it?
//
// Needs: page_model/explorer.js

course.define("hiddenWords", () => {
  const { el, button, note, table, bar, choice, visible, percent, listed, ranked } = course.live;
  const {
    newCache,
    forward,
    probabilities,
    softmax,
    parts: { dot },
  } = course.model;
  const SHOWN = 3; // likeliest next characters in the table, besides those that are watched

  // ---- calculations ----

  // The heads' answers to the last letter, again: the letters that are hidden get no weight.
  // q (1, C), k and v (T, C), heads (1, C), which is written anew
  function hide({ n_heads: H, d_model: C }, { q, k, v }, heads, isHidden) {
    const [T, D] = [k.length / C, C / H];
    for (let h = 0; h < H; h++) {
      const scores = Float64Array.from({ length: T }, (_, s) =>
        isHidden(s) ? -Infinity : dot(q, h * D, k, s * C + h * D, D) / Math.sqrt(D),
      );
      const weights = softmax(scores);
      for (let d = h * D; d < h * D + D; d++) {
        heads[d] = weights.reduce((total, w, s) => total + w * v[s * C + d], 0);
      }
    }
  }

  // A text's ids -> a function of the letters that are hidden, which gives probabilities (V).
  // All letters but the last are read once.
  function reader(model, ids) {
    const cache = newCache(model);
    const past = ids.slice(0, -1);
    if (past.length) forward(model, past, { cache });
    const last = `h.${model.config.n_layers - 1}.attn`;
    return (isHidden) => {
      const seen = { q: null, k: null, v: null };
      const hook = (name, array) => {
        if (name === `${last}.heads`) hide(model.config, seen, array, isHidden);
        else if (name.startsWith(`${last}.`)) seen[name.slice(last.length + 1)] = array;
      };
      cache.ids.length = past.length;
      return probabilities(forward(model, ids.slice(-1), { cache, hook }).logits);
    };
  }

  // A text -> what can be hidden, as [from, to, what]: words, or letters; never the last letter,
  // which looks
  function pieces(text, byLetter) {
    const found = [...text.matchAll(byLetter ? /\S/g : /\S+/g)];
    return found
      .map((match) => [match.index, match.index + match[0].length, match[0]])
      .filter(([, to]) => to < text.length);
  }

  // ---- the figure ----

  function build({ prompt: first, asked }, host) {
    const { model, tokenizer } = course.explorer.modelOf(host.dataset.models);
    const sight = (id) => visible(tokenizer.decode([id]));
    const prompt = course.explorer.promptField({ prompt: first }, read, "A line");
    const unit = choice("What a press hides", ["words", "letters"], split);
    const line = el("p.sx-hidden-line", { role: "group", "aria-label": "The line" });
    const told = el("p.sx-hidden-told", { role: "status" });
    const chances = el("div");
    let text;
    let parts; // what can be hidden, its buttons, and what was left without each
    let buttons;
    let tries;
    let predict;
    let full; // with nothing hidden
    let mark; // the character that is watched
    let hidden = new Set();

    function read(typed) {
      const {
        ids,
        text: fits,
        said,
      } = course.explorer.reading(tokenizer, typed, model.config.context_length, true);
      prompt.say(said);
      text = fits;
      predict = reader(model, ids);
      full = predict(() => false);
      mark = typed === first ? tokenizer.encode(asked)[0] : ranked(full)[0];
      split();
    }

    // The line as buttons. What was hidden is seen again
    function split() {
      hidden = new Set();
      parts = pieces(text, unit.at() === 1);
      tries = parts.map(() => el("small"));
      buttons = parts.map(([, , piece], i) =>
        button([piece, tries[i]], () => press(i), { "aria-pressed": "false", class: "sx-piece" }),
      );
      const shown = [];
      let end = 0;
      for (const [i, [from, to]] of parts.entries()) {
        if (from > end) shown.push(" ");
        shown.push(buttons[i]);
        end = to;
      }
      const rest = text.slice(end).trimStart();
      line.replaceChildren(
        ...shown,
        " ",
        el("span.sx-looks", rest.slice(0, -1), el("b", visible(text.slice(-1)))),
      );
      draw();
    }

    function press(i) {
      hidden.has(i) ? hidden.delete(i) : hidden.add(i);
      buttons[i].setAttribute("aria-pressed", String(hidden.has(i)));
      draw();
    }

    function draw() {
      const isHidden = (s) => [...hidden].some((i) => s >= parts[i][0] && s < parts[i][1]);
      const p = hidden.size ? predict(isHidden) : full;
      const [only] = hidden;
      if (hidden.size === 1 && unit.at() === 0)
        tries[only].textContent = `${Math.round(100 * p[mark])} %`;
      const names = [...hidden].sort((a, b) => a - b).map((i) => `“${parts[i][2]}”`);
      const before = `${percent(full[mark])} with all of the line`;
      told.textContent = names.length
        ? `Without ${listed(names)}: ${sight(mark)} has ${percent(p[mark])}, and ${before}.`
        : `${sight(mark)} has ${before}.`;
      const watched = [mark, ...tokenizer.encode(asked)];
      const rows = [...new Set([...watched, ...ranked(p).slice(0, SHOWN)])].sort(
        (a, b) => p[b] - p[a],
      );
      chances.replaceChildren(
        table(
          ["next", "all seen", "now", ""],
          rows.map((id) => [sight(id), percent(full[id]), percent(p[id]), bar(p[id])]),
          { class: "sx-bars" },
        ),
      );
    }

    read(first);
    const show = button("Start again", split);
    return el("div.sx-hidden", [
      prompt.element,
      el("div.sx-bar", [el("span", "A press hides ", unit.element), show]),
      line,
      note("The framed letter looks back. A number is the chance that was left without that word."),
      told,
      chances,
    ]);
  }

  course.figures.hidden_words = build;
  return { reader, pieces };
});
