// Needs: model_figure.js page_model/explorer.js
// The real model opened at a token that it has written: what else might have come, what each head
// looked at, what the stream said after each block. And what of it is silenced, or has fewer bits.

course.define("openedModel", () => {
  const { el, button, title, note, table, bar, tabs, press, percent, visible } = course.live;
  const { newId, listOf, listed, ranked, scrolling } = course.live;
  const [BITS, WITH_MODEL, SHADES] = [[4, 3, 2], { class: "sx-with-model" }, 4];
  const NOTHING = "Press a word of an answer.";
  const RIVALS =
    "The ten tokens, words or parts of words, with the largest chances; then with temperature and top-p.";
  const HEADS =
    "A column is a block, one of 30 steps, and a square a head: 24.5 is the fifth of block 24. Dark ones looked elsewhere than at the first token.";
  const LENS =
    "What would come next if the model ended after this block, of its 30 steps. At 0 it has done none.";
  const BLOCKS = "A block is one of 30 steps. Silenced, it adds nothing:";
  const FEWER =
    "Bits of a weight: the file has 4, and 8 for its table of tokens. 3 and 2 round all of them.";
  const quoted = (text) => `“${text.trim() || visible(text)}”`;

  // sizes: {n_layers, n_heads}; the head that is chosen first. changed() hears that parts are silenced
  // or not any more, lower(bits) of other bits, look() that another view is seen
  function newOpenedModel(sizes, [block, head], { changed, lower, look }) {
    const { newHeadGrid, chanceTable } = course.modelFigure;
    const silent = new Set(); // "head 24.5", "block 3"
    let [bits, seen, inSight] = [4, /** @type {any} */ (null), /** @type {any} */ (null)];
    const waits = () => note(seen ? seen.why : NOTHING);

    // ---- what is changed ----

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
    function clear() {
      silent.clear();
      bits = 4;
    }
    function restore() {
      silent.clear();
      setBits(4);
      changed();
    }
    const numbers = (kind) =>
      [...silent].filter((name) => name.startsWith(kind)).map((name) => name.split(" ")[1]);
    const change = () => ({
      heads: numbers("head").map((name) => name.split(".").map(Number)),
      blocks: numbers("block").map(Number),
    });

    // ---- views ----

    function rivals() {
      if (!seen) return waits();
      const columns = ["chance", "after the rules"].slice(0, "kept" in seen.top[0] ? 2 : 1);
      const rows = seen.top.map(({ text, p, kept }) => [
        text,
        ...[p, kept].slice(0, columns.length),
      ]);
      return el("div", note(RIVALS), chanceTable(columns, rows));
    }

    function lens() {
      if (!seen?.lens) return waits();
      const rows = seen.lens.map(([{ text, p }], i) => [i, visible(text), percent(p), bar(p)]);
      const columns = ["after block", "next token", "chance", ""];
      const list = table(columns, rows.reverse(), { class: "sx-model-chances" });
      return el("div", note(LENS), list);
    }

    const grid = newHeadGrid(sizes, (...place) => {
      [block, head] = place;
      draw();
    });
    const reads = scrolling("sx-tokens sx-reading", "What the head looked at");
    const most = note("");
    const silence = button("", () => toggle(`head ${block}.${head}`), WITH_MODEL);
    const allHeads = el("div", note(HEADS), grid.element, most, silence, reads);

    function heads() {
      if (!seen?.pieces) return waits();
      const { pieces, weights } = seen;
      const isSilent = (b, h) => silent.has(`head ${b}.${h}`) || silent.has(`block ${b}`);
      const elsewhere = (b, h) => 1 - weights(b, h)[0];
      const shade = (b, h) => `sx-shade-${Math.round(SHADES * elsewhere(b, h))}`;
      grid.show(
        (b, h) => (isSilent(b, h) ? "sx-off" : shade(b, h)),
        (b, h) => `${percent(elsewhere(b, h))} elsewhere${isSilent(b, h) ? ", silenced" : ""}`,
        [block, head],
      );
      const row = weights(block, head);
      const places = ranked(row).slice(0, 2);
      const best = places.map((s) => `${quoted(pieces[s])} (${percent(row[s])})`);
      most.textContent = `Head ${block}.${head} looked most at ${listed(best)}.`;
      const styles = Array.from(row, (w) => ({ style: `--w: ${w.toFixed(3)}` }));
      reads.replaceChildren(...pieces.map((piece, s) => el("span", styles[s], visible(piece))));
      silence.textContent = `Silence head ${block}.${head}`;
      silence.setAttribute("aria-pressed", String(silent.has(`head ${block}.${head}`)));
      return allHeads;
    }

    const parts = listOf(sizes.n_layers, (b) => {
      const attributes = { ...WITH_MODEL, "aria-label": `Silence block ${b + 1}` };
      return button(b + 1, () => toggle(`block ${b + 1}`), attributes);
    });
    const fewer = BITS.map((n) => button(n, () => setBits(n), WITH_MODEL));
    const group = (name) => ({ role: "group", "aria-label": name });
    const allBlocks = el("div.sx-blocks", group("Blocks"), parts);
    const allBits = el("span.sx-group", group("Bits of a weight"), fewer);
    const allSwitches = el("div", note(BLOCKS), allBlocks, note(FEWER), allBits);

    function switches() {
      for (const [b, part] of parts.entries()) {
        part.setAttribute("aria-pressed", String(silent.has(`block ${b + 1}`)));
      }
      press(fewer, BITS.indexOf(bits));
      return allSwitches;
    }

    // ---- all of it ----

    const views = {
      "How did it choose?": rivals,
      Heads: heads,
      Lens: lens,
      Switches: switches,
    };
    const panels = Object.entries(views).map(([name, view]) => {
      const panel = el("div.sx-opened", { id: newId("panel"), tabindex: 0 });
      return { title: name, view, panel };
    });
    const { list, choose } = tabs(panels, (panel) => {
      inSight = panel;
      draw();
      look();
    });
    const [heading, summary] = [title(), el("span", { role: "status" })];
    const foot = el("div.sx-bar", summary, button("As in the file", restore, WITH_MODEL));
    const all = panels.map(({ panel }) => panel);
    const element = el("div.sx-detail", heading, list, all, foot);
    choose(panels[0]);

    function draw() {
      const { view, panel } = inSight;
      const shown = view();
      if (shown !== panel.firstChild) panel.replaceChildren(shown); // what has the focus keeps it
      reads.scrollTop = reads.scrollHeight;
      const [was, is] = [seen?.step.chance, seen?.now].map((p) => p !== undefined && percent(p));
      const changes = is && is !== was ? `, and has ${is} now` : "";
      heading.textContent = seen
        ? `${quoted(seen.step.text)} had a chance of ${was}${changes}`
        : "The model";
      const silenced = silent.size ? `Silenced: ${listed([...silent])}.` : "Nothing is silenced.";
      summary.textContent = bits < 4 ? `${silenced} ${bits} bits a weight.` : silenced;
    }

    // step: the token, top: [{…, kept}], `why` there is no more, or now: its chance as the model is
    // changed, pieces: the texts that were read, weights(block, head), lens; or null
    function show(next) {
      seen = next;
      draw();
    }
    return { element, show, clear, change, bits: () => bits, isLens: () => inSight.view === lens };
  }

  return { newOpenedModel };
});
