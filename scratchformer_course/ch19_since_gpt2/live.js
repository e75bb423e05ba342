// GPT-2's block with eight switches: the weights and the cache of any combination, and the loss of
// those that were trained.

course.define("ch19_since_gpt2", () => {
  const { el, button, note, format, newSwitch, mean, sum, grouped } = course.live;
  const { drawing, words, way, circle } = course.live;
  const STUDENT = { 2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365 };

  // ---- calculations ----

  // All weights of a model with these changes
  function weights(sizes, on) {
    const { vocab_size: V, context_length: T, d_model: C, n_heads: H, n_layers: L } = sizes;
    const bias = on.has("no_bias") ? 0 : 1;
    const D = C / H;
    const shared = on.has("grouped") ? sizes.n_kv_heads * D : C;
    const norm = C + (on.has("rmsnorm") ? 0 : bias * C);
    const attention =
      2 * C * C + 2 * C * shared + bias * (2 * C + 2 * shared) + (on.has("qk_norm") ? 2 * D : 0);
    const parts = on.has("experts") ? sizes.n_active : 1;
    const hidden = Math.floor((on.has("swiglu") ? Math.round((8 * C) / 3) : 4 * C) / parts);
    const network = on.has("swiglu") ? 3 * C * hidden : 2 * C * hidden + bias * (hidden + C);
    const networks = on.has("experts") ? sizes.n_experts * (network + C) : network;
    const positions = on.has("rotary") ? 0 : T * C;
    return V * C + positions + L * (2 * norm + attention + networks) + norm;
  }

  // The bytes of keys and values, in float32, when so many tokens have been read
  function cache(sizes, on, tokens) {
    const heads = on.has("grouped") ? sizes.n_kv_heads : sizes.n_heads;
    const kept = on.has("window") ? Math.min(tokens, sizes.window - 1) : tokens;
    return 2 * sizes.n_layers * heads * (sizes.d_model / sizes.n_heads) * 4 * kept;
  }

  // The mean difference of two lists of losses, pair by pair, and half of its interval of 95 %
  function difference(after, before) {
    const pairs = after.slice(0, before.length).map((loss, i) => loss - before[i]);
    const middle = mean(pairs);
    const squares = sum(pairs.map((d) => (d - middle) ** 2));
    const spread = Math.sqrt(squares / (pairs.length - 1) / pairs.length);
    return [middle, STUDENT[pairs.length] * spread];
  }

  const found = (runs, on) =>
    runs.find(([names]) => names.length === on.size && names.every((name) => on.has(name)))?.[1];

  /** @param {number[]} difference */
  function verdict([middle, half]) {
    const size = `${format(Math.abs(middle))} ± ${format(half)} nats`;
    if (Math.abs(middle) <= half) return `no difference that can be told (${size})`;
    return `${size} ${middle < 0 ? "better" : "worse"}`;
  }

  // ---- the figure ----

  function build({ parts, six, sizes, cached, runs }) {
    const on = new Set();
    let shown = false;
    const base = found(runs, on);
    const rows = parts.map(([name, part, before, after]) => {
      const state = el("span.sx-chg-is");
      const turn = (isOn) => {
        if (isOn) on.add(name);
        else on.delete(name);
        draw();
      };
      const named = [el("b", part), state];
      const { box, element: row } = newSwitch(named, turn, { class: "sx-chg-row" });
      const refresh = () => {
        box.checked = on.has(name);
        state.textContent = on.has(name) ? after : before;
        row.classList.toggle("sx-chg-on", on.has(name));
      };
      return { row, refresh };
    });
    const set = (names) => {
      on.clear();
      for (const name of names) on.add(name);
      draw();
    };
    const show = button("", () => {
      shown = !shown;
      draw();
    });
    const counts = el("p.sx-chg-counts");
    const status = el("p.sx-status", { role: "status" });
    const scaleAt = el("div");

    // All measured losses on one line, the chosen one marked
    function scale(losses) {
      const means = runs.map(([, each]) => mean(each));
      const [low, high] = [Math.min(...means) - 0.01, Math.max(...means) + 0.01];
      const x = (loss) => 12 + (376 * (loss - low)) / (high - low);
      const name =
        `The losses of ${runs.length} models from ${format(low)} to ${format(high)}` +
        (losses ? `; marked: ${format(mean(losses))}.` : ".");
      return drawing(400, 60, { class: "sx-chg-scale", "aria-label": name }, [
        way("M12 24H388", "sx-chg-axis"),
        means.map((loss) => way(`M${x(loss).toFixed(1)} 17v14`, "sx-chg-run")),
        losses ? circle(x(mean(losses)).toFixed(1), 24, 7, "sx-chg-dot") : null,
        words(`${format(low, 2)} (better)`, 12, 52, "start"),
        words(format(high, 2), 388, 52, "end"),
      ]);
    }

    function says(losses) {
      if (!losses)
        return (
          "This combination was not trained. Trained were each change alone, the first six " +
          "together, these without one of them, and these with one more."
        );
      const against = on.size ? ` Against GPT-2: ${verdict(difference(losses, base))}.` : "";
      const all = found(runs, new Set(six));
      const others =
        on.size > 1 && losses !== all
          ? ` Against the first six together: ${verdict(difference(losses, all))}.`
          : "";
      return `Loss ${format(mean(losses))} nats, mean of ${losses.length} seeds.${against}${others}`;
    }

    function draw() {
      for (const { refresh } of rows) refresh();
      counts.textContent =
        `${grouped(weights(sizes, on))} weights. After ${grouped(cached)} tokens the cache holds ` +
        `${grouped(cache(sizes, on, cached))} bytes.`;
      const losses = found(runs, on);
      show.textContent = shown ? "Hide the loss" : "Show the loss";
      show.setAttribute("aria-pressed", String(shown));
      status.textContent = shown ? says(losses) : "Which switch lowers the loss most? Guess first.";
      scaleAt.replaceChildren(shown ? scale(losses) : "");
    }

    draw();
    return el("div.sx-chg", [
      el("div.sx-chg-rows", [rows.map(({ row }) => row)]),
      el("div.sx-chg-side", [
        el("div.sx-bar", [
          button("GPT-2", () => set([])),
          button("The first six", () => set(six)),
          show,
        ]),
        counts,
        status,
        scaleAt,
        note("Small models, 64 wide with two blocks, on Tiny Shakespeare. Every rate was tuned."),
      ]),
    ]);
  }

  course.figures.changes = build;
  return { weights, cache, difference, verdict };
});
