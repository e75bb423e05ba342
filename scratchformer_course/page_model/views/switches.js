// Switch off parts of the model, and see what its loss and its text lose.

course.define("view_switches", () => {
  const { el, format, percent, roving, button, title, note, scrolling, table } = course.live;
  const { listOf, newStatus, region, check, fold, mean, describe } = course.live;
  const { inFrames, last, question, logOdds } = course.explorer;
  const { forward, losses, generate, probabilities } = course.model;
  const WRITTEN = 50; // tokens of text, for comparison
  const TEMPERATURE = 0.8;
  const TALLEST = 3; // nats: the change of a loss whose bar is full, or more if a token loses more

  const WHOLE_MODEL = {
    positions: "positions",
    scale: "the division by √D",
    causal: "the causal mask",
  };

  const isOff = (toggle) => toggle.getAttribute("aria-pressed") === "true";
  const set = (toggle, isOff) => toggle.setAttribute("aria-pressed", String(isOff));

  // A button for each block and each of its heads, (L, 1 + H)
  function partToggles({ n_layers: L, n_heads: H }, changed) {
    function toggle(row, column, text, name) {
      const toggleButton = button(text, flip, { "data-row": row, "data-column": column });
      function flip() {
        set(toggleButton, !isOff(toggleButton));
        changed();
      }
      set(toggleButton, false);
      describe(toggleButton, `Switch off ${name}`);
      toggleButton.tabIndex = row || column ? -1 : 0;
      return toggleButton;
    }
    const rows = listOf(L, (i) => {
      const block = `block ${i + 1}`;
      const heads = listOf(H, (h) => toggle(i, h + 1, h + 1, `head ${h + 1} of ${block}`));
      return [toggle(i, 0, block, block), ...heads];
    });
    const element = el("div.sx-toggles", { role: "group", style: `--columns: ${H}` }, rows);
    describe(element, "Blocks and heads");
    roving(element, (row, column) => rows[row]?.[column]);
    element.addEventListener("focusin", ({ target }) => {
      for (const toggleButton of rows.flat())
        toggleButton.tabIndex = toggleButton === target ? 0 : -1;
    });
    return { element, rows };
  }

  function build({ model, tokenizer, label, settings }) {
    const { vocab_size } = model.config;
    const { simple } = settings;
    const digits = simple ? 1 : 3; // weights of 8 bits give the third of PyTorch's losses wrong
    let state;
    let interrupt = () => {}; // stops the text that is being written
    const parts = partToggles(model.config, compare);
    // heads that are off at first, counted from 1
    for (const [block, head] of settings.off ?? []) set(parts.rows[block - 1][head], true);
    const boxes = Object.entries(WHOLE_MODEL).map(([name, text]) => {
      return { name, ...check(text, () => compare()) };
    });
    const checks = el("div.sx-checks", { role: "group", "aria-label": "Without" }, [
      simple ? null : note("Without:"),
      boxes.map((checkbox) => checkbox.element),
    ]);
    const reset = button("All on again", () => {
      for (const toggleButton of parts.rows.flat()) set(toggleButton, false);
      for (const { box } of boxes) box.checked = false;
      compare();
    });

    const numbers = el("div");
    const answers = el("div.sx-answers");
    const about = note("");
    const list = scrolling("sx-scroll", "Loss of each token, in numbers");
    const tokens = scrolling("sx-tokens", "Loss of each token");
    const before = scrolling("sx-text", "Text of the model");
    const after = scrolling("sx-text", "Text of the changed model");
    const status = newStatus();
    const side = el("div.sx-side", [
      note("Switch off a block, or one of its heads:"),
      parts.element,
      simple ? null : checks,
      reset,
      simple ? fold("Other parts", checks) : null,
    ]);
    const main = [numbers, answers, about, tokens, fold("Every token as a table", list)];
    const texts = [
      [title("The model writes"), before],
      [title("Changed, it writes"), after],
    ];
    // a simple view has the changed text nearest to the switches
    const element = simple
      ? el(
          "div.sx-columns.sx-simple",
          side,
          el("div", [...texts.reverse(), status]),
          el("div", main),
        )
      : el("div.sx-columns", [
          side,
          el("div.sx-main", main),
          region("div.sx-detail", "What it writes", [...texts, status]),
        ]);

    function off() {
      const rows = parts.rows.map((row) => row.map(isOff));
      return {
        ...Object.fromEntries(boxes.map(({ name, box }) => [name, box.checked])),
        blocks: rows.flatMap(([block], i) => (block ? [i] : [])),
        heads: rows.flatMap(([, ...heads], i) => heads.flatMap((is, h) => (is ? [[i, h]] : []))),
      };
    }

    function compare() {
      interrupt();
      const text = settings.text ?? state.text;
      const ids = tokenizer.encode(text).slice(0, model.config.context_length);
      const was = losses(forward(model, ids).logits, ids);
      const is = losses(forward(model, ids, { off: off() }).logits, ids);
      const means = { "the model": mean(was), changed: mean(is), difference: mean(is) - mean(was) };
      const rows = Object.entries(means).map(([name, loss]) => {
        return [name, was.length ? format(loss, digits) : "–"];
      });
      numbers.replaceChildren(
        note(`Mean loss over ${was.length} tokens, in nats`),
        table(["", ""], rows, { class: "sx-losses" }),
      );
      const changes = ids.map((_, t) => (t ? is[t - 1] - was[t - 1] : 0)); // none before the first
      const tallest = Math.max(TALLEST, ...changes.map(Math.abs));
      about.textContent =
        "A bar over each token of the text: how much more it loses by the change (orange), or less " +
        `(green, hatched). A full bar is ${format(tallest, 1)} nats.`;
      tokens.replaceChildren(
        ...ids.map((id, t) => {
          const change = changes[t];
          const height = (Math.abs(change) / tallest).toFixed(3);
          const kind = change < 0 ? "sx-gain" : "sx-loss";
          return el("span", { class: kind, style: `--w: ${height}` }, label(id));
        }),
      );
      const lines = was.map((loss, t) => {
        const difference = Number(format(is[t])) - Number(format(loss)); // of what stands there
        return [label(ids[t + 1]), format(loss), format(is[t]), format(difference)];
      });
      list.replaceChildren(table(["token", "the model", "changed", "difference"], lines));
      drawAnswers();
      writeBoth();
    }

    // With a second prompt: what each of the two expects next, as its chance and its log-odds
    function drawAnswers() {
      const { ids, altered } = state;
      const isPair = altered !== null && altered.text !== state.text;
      answers.hidden = !isPair;
      if (!isPair) return;
      const end = (read, switched) => last(forward(model, read, { off: switched }), vocab_size);
      const pair = [ids, altered.ids];
      const [was, is] = [{}, off()].map((switched) => pair.map((read) => end(read, switched)));
      const asked = question(...was);
      const chance = (logits) =>
        `${percent(probabilities(logits)[asked.asked])}, ${format(logOdds(logits, asked), 2)}`;
      const rival = asked.rival === null ? "any other token" : `“${label(asked.rival)}”`;
      const rows = ["the prompt", "the altered one"].map((name, i) => {
        return [name, chance(was[i]), chance(is[i])];
      });
      answers.replaceChildren(
        note(`How likely “${label(asked.asked)}” is next, and its log-odds against ${rival}`),
        table(["after", "the model", "changed"], rows),
      );
    }

    function writeBoth() {
      const writer = (place, switched) => {
        const rules = { seed: settings.seed, temperature: TEMPERATURE, off: switched };
        const ids = /** @type {number[]} */ ([]);
        return { place, ids, text: generate(model, state.ids, rules) };
      };
      const writers = [writer(before, {}), writer(after, off())];
      const start = simple ? state.text.split("\n").at(-1) : state.text;
      status.textContent = "Writing …";
      const step = () => {
        for (const { ids, text } of writers) ids.push(text.next().value);
      };
      const show = () => {
        for (const { place, ids } of writers) {
          place.replaceChildren(start, el("mark", tokenizer.decode(ids)));
        }
      };
      const done = () => {
        status.textContent = `Both: temperature ${TEMPERATURE}, seed ${settings.seed}.`;
      };
      interrupt = inFrames(WRITTEN, step, show, done);
    }

    function update(newState) {
      state = newState;
      compare();
    }
    return { element, update };
  }

  course.explorer.views.switches = { title: "Switch off", build };
});
