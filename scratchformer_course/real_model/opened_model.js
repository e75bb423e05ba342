// Needs: page_model/explorer.js
// The real model opened at a token that it has written: what else might have come, what each head
// looked at, what the stream said after each block. And what of it is silenced, or has fewer bits.

course.define("openedModel", () => {
  const { el, button, title, note, table, bar, tabs, press, percent, visible } = course.live;
  const { newId, listOf, listed, ranked, roving, scrolling, describe } = course.live;
  const [BITS, WITH_MODEL] = [[4, 3, 2], { class: "sx-with-model" }];
  const NOTHING = "Press a word of an answer.";
  const RIVALS = "What might have come, and what the rules leave of it. A dashed bar: never drawn.";
  const HEADS =
    "Rows are blocks. The fuller a cell, the more its head looked elsewhere than at the first token.";
  const LENS = "What would come next if the model ended after this block; 0: before the first.";
  const BLOCKS = "A block that is silenced adds nothing:";
  const FEWER =
    "Bits of a weight: 4 as in the file, which has 8 for the table of tokens, or fewer.";
  const quoted = (text) => `“${visible(text)}”`;

  // Rows with a bar, each of a kind
  function bars(columns, rows, kinds) {
    const list = table(columns, rows, { class: "sx-bars" });
    for (const [i, row] of [...list.tBodies[0].rows].entries()) row.className = kinds[i];
    return list;
  }

  // sizes: blocks, and heads of a block; the chosen head. changed() hears that parts are silenced or
  // speak again, lower(bits) of other bits, look() that another view is seen
  function newOpenedModel([L, H], [block, head], { changed, lower, look }) {
    const silent = new Set(); // "head 24.5", "block 3"
    let [bits, seen, inSight] = [4, /** @type {any} */ (null), /** @type {any} */ (null)];

    // ---- what is changed ----

    const chosen = () => `head ${block}.${head}`;
    function toggle(name) {
      if (!silent.delete(name)) silent.add(name);
      draw();
      changed();
    }
    function setBits(n) {
      if (n !== bits) lower(n);
      bits = n;
      draw();
    }
    function restore() {
      silent.clear();
      setBits(4);
      changed();
    }
    function clear() {
      silent.clear();
      bits = 4;
    }
    const numbers = (kind) =>
      [...silent].filter((name) => name.startsWith(kind)).map((name) => name.split(" ")[1]);
    const change = () => ({
      heads: numbers("head").map((name) => name.split(".").map(Number)),
      blocks: numbers("block").map(Number),
    });

    // ---- views ----

    const waits = () => note(seen ? seen.why : NOTHING);

    function rivals() {
      if (!seen) return waits();
      const rows = seen.top.map(({ text, p, kept }) => {
        return [visible(text), percent(p), kept ? percent(kept) : "–", bar(p)];
      });
      const kinds = seen.top.map(({ id, kept }) => {
        return `${kept ? "" : "sx-dropped"} ${id === seen.step.id ? "sx-taken" : ""}`;
      });
      return el("div", bars(["next", "chance", "by the rules", ""], rows, kinds), note(RIVALS));
    }

    function lens() {
      if (!seen?.lens) return waits();
      const rows = seen.lens.map(([{ text, p }], i) => [i, visible(text), percent(p), bar(p)]);
      const kinds = seen.lens.map(([{ id }]) => (id === seen.step.id ? "sx-taken" : ""));
      return el("div", note(LENS), bars(["after block", "says", "chance", ""], rows, kinds));
    }

    const cells = listOf(L, (b) => listOf(H, (h) => el("td", { "data-row": b, "data-column": h })));
    const rows = cells.map((row, b) => [b + 1, ...row]);
    const names = ["", ...listOf(H, (h) => h + 1)];
    const grid = table(names, rows, { class: "sx-all-heads", role: "grid" });
    describe(grid, "Heads: rows are blocks");
    roving(grid, (b, h) => cells[b]?.[h]);
    for (const event of ["focusin", "click"]) grid.addEventListener(event, choose);
    const reads = scrolling("sx-tokens sx-reading", "What the head looked at");
    const [most, silence] = [note(""), button("", () => toggle(chosen()), WITH_MODEL)];
    const allHeads = el("div", el("div.sx-bar", most, silence), reads, note(HEADS), grid);

    function choose({ target: { dataset } }) {
      if (!dataset.column || !seen) return;
      [block, head] = [Number(dataset.row) + 1, Number(dataset.column) + 1];
      draw();
    }

    function heads() {
      if (!seen?.pieces) return waits();
      const { pieces, weights } = seen;
      const row = weights(block, head);
      const best = ranked(row).slice(0, 2);
      const places = best.map((s) => `${quoted(pieces[s])} ${percent(row[s])}`);
      most.textContent = `${chosen()} looked at ${listed(places)}.`.replace("h", "H");
      const columns = pieces.map((piece, s) => [visible(piece), `--w: ${row[s].toFixed(3)}`]);
      reads.replaceChildren(...columns.map(([piece, style]) => el("span", { style }, piece)));
      silence.textContent = `Silence ${chosen()}`;
      silence.setAttribute("aria-pressed", String(silent.has(chosen())));
      for (const cell of cells.flat()) drawHead(cell);
      return allHeads;
    }

    function drawHead(cell) {
      const [b, h] = [Number(cell.dataset.row) + 1, Number(cell.dataset.column) + 1];
      const [name, elsewhere] = [`head ${b}.${h}`, 1 - seen.weights(b, h)[0]];
      cell.style.setProperty("--w", elsewhere.toFixed(3));
      cell.tabIndex = name === chosen() ? 0 : -1;
      cell.setAttribute("aria-selected", String(name === chosen()));
      cell.classList.toggle("sx-off", silent.has(name) || silent.has(`block ${b}`));
      describe(
        cell,
        `${name}${silent.has(name) ? ", silenced" : ""}: ${percent(elsewhere)} elsewhere`,
      );
    }

    const parts = listOf(L, (b) => {
      const attributes = { ...WITH_MODEL, "aria-label": `Silence block ${b + 1}` };
      return button(b + 1, () => toggle(`block ${b + 1}`), attributes);
    });
    const fewer = BITS.map((n) => button(n, () => setBits(n), WITH_MODEL));
    const group = { role: "group", "aria-label": "Bits of a weight" };
    const switches = el("div", [
      ...[note(BLOCKS), el("div.sx-blocks", { ...group, "aria-label": "Blocks" }, parts)],
      ...[note(FEWER), el("span.sx-group", group, fewer)],
    ]);
    function blocks() {
      parts.forEach((part, b) => {
        part.setAttribute("aria-pressed", String(silent.has(`block ${b + 1}`)));
      });
      press(fewer, BITS.indexOf(bits));
      return switches;
    }

    // ---- all of it ----

    const views = {
      "How did it choose?": rivals,
      Heads: heads,
      Lens: lens,
      "Blocks, bits": blocks,
    };
    const panels = Object.entries(views).map(([title, content]) => {
      return { title, content, panel: el("div.sx-opened", { id: newId("panel"), tabindex: 0 }) };
    });
    const { list, choose: seeFirst } = tabs(panels, (panel) => {
      inSight = panel;
      draw();
      look();
    });
    const [heading, summary] = [title(), el("span", { role: "status" })];
    const foot = el("div.sx-bar", summary, button("As in the file", restore, WITH_MODEL));
    const all = panels.map(({ panel }) => panel);
    const element = el("div.sx-detail", heading, list, all, foot);
    seeFirst(panels[0]);

    function chances({ step: { text, chance }, now }) {
      const had = `${quoted(text)} had a chance of ${percent(chance)}`;
      return now === undefined ? had : `${had}, and has ${percent(now)} now`;
    }

    function draw() {
      const { content, panel } = inSight;
      const shown = content();
      if (shown !== panel.firstChild) panel.replaceChildren(shown); // a cell keeps the focus
      heading.textContent = seen ? chances(seen) : "";
      const silenced = silent.size ? `Silenced: ${listed([...silent])}.` : "Nothing is silenced.";
      summary.textContent = bits < 4 ? `${silenced} ${bits} bits a weight.` : silenced;
    }

    // step: the token, top: [{…, kept}], `why` there is no more, or now: its chance as the model is
    // changed, pieces: the texts that were read, weights(block, head), lens; or null
    function show(next) {
      seen = next;
      draw();
    }
    return {
      element,
      show,
      clear,
      change,
      bits: () => bits,
      isLens: () => inSight.content === lens,
    };
  }

  return { newOpenedModel };
});
