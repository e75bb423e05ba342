// The attention of any head, as a heatmap or as arcs, and the dot product behind each weight.

course.define("view_attention", () => {
  const { el, shadedMap, format, percent, roving, bars, button, title, note } = course.live;
  const { scrolling, table, listOf, gridCursor, rovingLine, choice, press, fold } = course.live;
  const { sum, describe } = course.live;
  const WINDOW = 26; // how many tokens fit a phone: of a longer prompt the last ones are shown
  const LEVELS = 6; // shades of a small picture

  // A small picture of weights (T, T)
  const picture = (weights, T) =>
    el("svg:svg", { viewBox: `0 0 ${T} ${T}`, "aria-hidden": "true" }, [
      shadedMap(T, LEVELS, (t, s) => weights[t * T + s] * LEVELS - 0.25),
    ]);

  // The way of an arc from a down to b, in a picture of this height
  function arcPath(a, b, height) {
    if (a === b) {
      const top = height - 16;
      return `M${a - 4} ${height}C${a - 9} ${top} ${a + 9} ${top} ${a + 4} ${height}`;
    }
    const top = height - 1.3 * Math.min(height - 6, 12 + 0.42 * Math.abs(b - a));
    return `M${b} ${height}C${b} ${top} ${a} ${top} ${a} ${height}`;
  }

  // The buttons that choose a head: rows are blocks, each with a small picture of its weights
  function headChoice({ n_layers: L, n_heads: H }, choose) {
    const choice = (i, h) => {
      const place = { "data-row": i, "data-column": h };
      const name = { "aria-label": `Block ${i + 1}, head ${h + 1}` };
      return button("", () => choose(i, h), { ...place, ...name });
    };
    const rows = listOf(L, (i) => listOf(H, (h) => choice(i, h)));
    const lines = rows.map((row, i) => {
      return [el("span.sx-block-name", { "aria-hidden": "true" }, i + 1), row];
    });
    const element = el("div.sx-heads", { role: "group", style: `--columns: ${H}` }, lines);
    describe(element, "Heads: rows are blocks");
    roving(element, (row, column) => rows[row]?.[column]);
    const mark = (layer, head) => press(rows.flat(), layer * H + head, true);
    // tell(weights) gives a few letters below a head's picture
    function show(attention, T, tell = (_weights) => "") {
      for (const [i, row] of rows.entries()) {
        for (const [h, headButton] of row.entries()) {
          const weights = attention[i].subarray(h * T * T, (h + 1) * T * T);
          const told = tell(weights);
          headButton.replaceChildren(picture(weights, T), told);
          const name = `Block ${i + 1}, head ${h + 1}`;
          headButton.setAttribute("aria-label", told ? `${name}: ${told}` : name);
        }
      }
    }
    return { element, mark, show };
  }

  function build({ model, label }) {
    const { n_heads: H, d_model: C } = model.config;
    const D = C / H;
    let state;
    // which head
    let layer = 0;
    let head = 0;
    // which of its weights
    let query = 0;
    let key = 0;
    let first = 0; // from which token on it is shown

    const heads = headChoice(model.config, (i, h) => {
      [layer, head] = [i, h];
      draw();
    });
    const form = choice("Form", ["Heatmap", "Arcs"], () => {
      map.style.minHeight ||= `${map.offsetHeight}px`; // arcs are lower
      draw();
    });
    const name = title();
    const map = el("div.sx-map");
    const detail = el("div.sx-detail", { tabindex: 0, role: "group" });
    describe(detail, "The dot product behind the weight");
    const list = scrolling("sx-scroll", "All weights of the query");
    const rows = fold("The query’s weights as a table", list);
    rows.addEventListener("toggle", drawTable);
    const element = el("div.sx-columns", [
      el("div.sx-side", note("Every head of the model. Rows: blocks. Choose one."), heads.element),
      el("div.sx-main", el("div.sx-bar", name, form.element), map, rows),
      detail,
    ]);

    // ---- numbers ----
    const T = () => state.ids.length;
    const quoted = (t) => `“${label(state.ids[t])}”`;
    const weight = (t, s) => state.run.attention[layer][(head * T() + t) * T() + s];
    // the head's part of q, k or v at a token, (D)
    const vector = (part, t) =>
      state.seen[`h.${layer}.attn.${part}`].subarray(t * C + head * D, t * C + (head + 1) * D);
    const products = (t, s) => vector("q", t).map((value, d) => value * vector("k", s)[d]);
    const score = (t, s) => sum(products(t, s));

    function select(t, s) {
      [query, key] = [t, s];
      drawDetail();
      drawTable();
    }

    // ---- the map ----
    function draw() {
      heads.mark(layer, head);
      name.textContent = `Block ${layer + 1}, head ${head + 1}`;
      const longest = Math.max(...state.ids.slice(first).map((id) => label(id).length));
      map.classList.toggle("sx-long", longest > 2);
      map.style.setProperty("--longest", `${Math.min(longest, 8)}ch`);
      map.replaceChildren(...(form.at() ? arcs() : heatmap()));
      select(query, key);
    }

    function shownNote() {
      if (!first) return "";
      return `The last ${T() - first} of ${T()} tokens; weights on earlier ones are not shown. `;
    }

    function heatmap() {
      const names = state.ids.slice(first).map(label);
      const cell = (t, s) => {
        const isOpen = s <= t;
        const shown = isOpen ? percent(weight(t, s)) : "closed";
        return el("td", {
          class: isOpen ? null : "sx-closed",
          "data-row": t - first,
          "data-column": s - first,
          tabindex: t === query && s === key ? 0 : -1,
          style: `--w: ${weight(t, s).toFixed(4)}`,
          "aria-label": `${quoted(t)} at ${quoted(s)}: ${shown}`,
        });
      };
      const rows = names.map((text, r) => [
        text,
        ...names.map((_, c) => cell(first + r, first + c)),
      ]);
      const look = { class: "sx-grid", role: "grid", style: `--n: ${names.length}` };
      const grid = table(["", ...names], rows, look);
      describe(grid, "Attention: rows are queries, columns are keys");
      gridCursor(grid, (r, c) => select(first + r, first + c));
      const help = "Rows ask, columns answer. Point at a cell, or move with the arrow keys.";
      return [grid, note(shownNote() + help)];
    }

    function arcs() {
      const n = T() - first;
      const step = 480 / n;
      const height = 184;
      const svg = el("svg:svg", { viewBox: `0 0 480 ${height}`, "aria-hidden": "true" });
      const words = state.ids.slice(first).map((id, i) =>
        button(label(id), () => choose(first + i, Math.min(key, first + i)), {
          "data-row": 0,
          "data-column": i,
          "aria-label": `Query ${quoted(first + i)}, token ${first + i + 1}`,
        }),
      );

      function choose(t, s) {
        select(t, s);
        press(words, query - first, true);
        words.forEach((word, i) => {
          word.classList.toggle("sx-key", first + i === key);
        });
        svg.replaceChildren(...faint(), ...strong());
      }
      const path = (t, s) => arcPath((s - first + 0.5) * step, (t - first + 0.5) * step, height);
      // Of all tokens, only weights that stand out
      function faint() {
        const arcsFound = [];
        for (let t = first; t < T(); t++) {
          for (let s = first; s <= t; s++) {
            if (t === query || weight(t, s) < 0.15) continue;
            const width = { "stroke-width": 3 * weight(t, s) };
            arcsFound.push(el("svg:path", { d: path(t, s), class: "sx-faint", ...width }));
          }
        }
        return arcsFound;
      }
      // Of the query, all
      function strong() {
        return state.ids.slice(first, query + 1).map((_, i) => {
          const s = first + i;
          const w = weight(query, s);
          return el("svg:path", {
            d: path(query, s),
            class: s === key ? "sx-chosen" : "sx-strong",
            "stroke-width": 0.5 + 7 * w,
            "stroke-opacity": 0.25 + 0.75 * w,
            onpointerover: () => key !== s && choose(query, s),
          });
        });
      }

      const line = el("div.sx-words", { role: "group", style: `--n: ${n}` }, words);
      describe(line, "Tokens: choose the query; up and down choose the key");
      rovingLine(line, () => words);
      line.addEventListener("keydown", (event) => {
        const move = { ArrowUp: 1, ArrowDown: -1 }[event.key];
        if (!move) return;
        event.preventDefault();
        choose(query, Math.max(first, Math.min(query, key + move)));
      });
      choose(query, Math.min(key, query));
      const help =
        "Thick arcs: what the chosen token looks at. Faint ones: the other tokens. " +
        "Left and right choose the query, up and down the key.";
      return [svg, line, note(shownNote() + help)];
    }

    // ---- one weight, term by term ----
    function drawDetail() {
      const isOpen = key <= query;
      const w = isOpen ? weight(query, key) : 0;
      const [q, k, v] = [vector("q", query), vector("k", key), vector("v", key)];
      const terms = products(query, key);
      const dot = score(query, key);
      const scaled = dot / Math.sqrt(D);
      const length = Math.hypot(...v);
      const sum = Math.exp(scaled) / w;
      const total = sum > 1e5 ? sum.toExponential(2) : format(sum, 2);
      const part = `e to the ${format(scaled)}, of ${total} for all ${query + 1} keys`;
      const steps = [
        ["q · k", format(dot), `the sum of the ${D} products`],
        [`÷ √${D}`, format(scaled), ""],
        ["mask", isOpen ? "open" : "−∞", `the key is ${isOpen ? "not " : ""}later than the query`],
        ["softmax", format(w, 4), isOpen ? part : "nothing is taken from it"],
        ["w × v", format(w * length), `is what it brings, of a value ${format(length)} long`],
      ];
      const brought = v.map((value) => value * w);
      const isUnfolded = detail.querySelector("details")?.open ?? false;
      const list = scrolling("sx-scroll", "Terms of the dot product");
      const rows = Array.from(q, (_, d) => {
        return [d + 1, format(q[d]), format(k[d]), format(terms[d]), format(w * v[d])];
      });
      list.append(table(["channel", "q", "k", "q × k", "w × v"], rows));
      const all = fold(`The ${D} terms as a table`, list);
      all.open = isUnfolded;
      detail.replaceChildren(
        title(`${quoted(query)} looks at ${quoted(key)}`),
        bars(q, "query", "q"),
        bars(k, "key", "k"),
        bars(terms, "stream", "q × k"),
        el(
          "dl.sx-steps",
          steps.map(([step, value, why]) =>
            el("div", [el("dt", step), el("dd", el("b", value), el("span", why))]),
          ),
        ),
        bars(brought, "value", "w × v"),
        all,
      );
    }

    function drawTable() {
      if (!rows.open) return;
      const columns = ["token", "key", "q · k", `÷ √${D}`, "mask", "weight"];
      const lines = state.ids.map((id, s) => {
        const [dot, isOpen] = [score(query, s), s <= query];
        const scores = [format(dot), format(dot / Math.sqrt(D)), isOpen ? "open" : "−∞"];
        return [s + 1, label(id), ...scores, format(isOpen ? weight(query, s) : 0, 4)];
      });
      const about = note(`Query ${quoted(query)}, token ${query + 1}`);
      list.replaceChildren(about, table(columns, lines));
    }

    // A new prompt: its last token and what that looks at most
    function update(newState) {
      state = newState;
      map.style.minHeight = "";
      first = Math.max(0, T() - WINDOW);
      query = key = T() - 1;
      for (let s = first; s < T(); s++) if (weight(query, s) > weight(query, key)) key = s;
      heads.show(state.run.attention, T());
      draw();
    }
    return { element, update };
  }

  course.explorer.views.attention = { title: "Attention", build, headChoice };
});
