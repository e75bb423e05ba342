// Needs: real_model/model_figure.js
// The 270 heads of SmolLM2 on one line: what each looks at, the map of one, and what comes next while
// some are switched off.

course.define("allHeads", () => {
  const { el, button, percent, visible, mean, listOf } = course.live;
  const BAR = 0.4; // of a head's attention, on average: as in the chapter
  const NEXT = 3; // tokens in the table

  // ---- calculations ----

  // The cells of a map, [row, column], on which a head of each kind has its weight: the token before, itself,
  // what came next last time, the same token earlier, the first. As in lab/real_endings.py
  function cellsOfKinds(ids) {
    const cells = listOf(5, () => /** @type {any[]} */ ([]));
    const last = new Map();
    for (const [t, id] of ids.entries()) {
      const earlier = last.get(id) ?? t;
      const columns = [t - 1, t, earlier + 1, earlier, 0];
      for (const [n, column] of columns.entries()) {
        const isNeeded = t > 1 && (earlier < t || n < 2 || n === 4);
        if (isNeeded) cells[n].push([t, column]);
      }
      last.set(id, t);
    }
    return cells;
  }

  // The place of a head's kind: the first to which it gives more than BAR on average, or the last, none
  function kindOf(map, cells, T) {
    const shares = cells.map((ofKind) => mean(ofKind.map(([t, s]) => map[t * T + s])));
    const found = shares.findIndex((share) => share > BAR);
    return found < 0 ? cells.length : found;
  }

  // ---- the figure ----

  // recorded: {text, pieces, kinds: of the heads of block 1, then of block 2 …, chosen: [block, head],
  // maps: (T, T) of it, next: [text, p, p without it]}
  function build({ sizes, kinds, recorded }) {
    const { newModelFigure, newTokens, newHeadGrid, chanceTable } = course.modelFigure;
    const [words, counts, chances] = [el("p.sx-caption"), el("p.sx-kinds"), el("div")];
    const grid = newHeadGrid(sizes, choose);
    const tokens = newTokens("The line: the tokens that the pressed one looks at", ask);
    const toggle = button("", switchHead, { class: "sx-with-model" });
    const allOn = button("All on", switchAllOn, { class: "sx-with-model" });
    const off = new Set();
    let found = recorded;
    let chosen = recorded.chosen;
    let asks = recorded.pieces.length - 1;
    const name = () => chosen.join(".");
    const place = (block, head) => (block - 1) * sizes.n_heads + head - 1;

    function choose(block, head) {
      chosen = [block, head];
      draw();
    }
    function ask(t) {
      asks = t;
      draw();
    }
    function switchAllOn() {
      off.clear();
      figure.again();
    }
    function switchHead() {
      if (!off.delete(name())) off.add(name());
      figure.again();
      draw();
    }

    function draw() {
      const { pieces, maps, next } = found;
      const T = pieces.length;
      const kindAt = (block, head) => found.kinds[place(block, head)];
      const isOff = (block, head) => off.has(`${block}.${head}`);
      grid.show(
        (block, head) => (isOff(block, head) ? "sx-off" : `sx-kind-${kindAt(block, head)}`),
        (block, head) => kinds[kindAt(block, head)] + (isOff(block, head) ? ", off" : ""),
        chosen,
      );
      counts.replaceChildren(
        ...kinds.map((kind, n) =>
          el("span", el(`i.sx-kind-${n}`), `${kind}: ${found.kinds.filter((k) => k === n).length}`),
        ),
      );
      const map = maps[name()];
      asks = Math.min(asks, T - 1);
      const weights = map?.slice(asks * T, asks * T + asks + 1) ?? [];
      tokens.show(pieces, weights, asks);
      const most = weights.indexOf(Math.max(...weights));
      words.textContent = map
        ? `Head ${name()}, from “${visible(pieces[asks])}”: most at “${visible(pieces[most])}”, ${percent(weights[most])}.`
        : `Head ${name()}: its map was not recorded. Load the model to see it.`;
      toggle.textContent = `Switch ${off.has(name()) ? "on" : "off"} head ${name()}`;
      const without = off.size === 1 ? `without ${[...off][0]}` : `without ${off.size} heads`;
      chances.replaceChildren(chanceTable(["with all heads", without], next));
    }

    async function work(model, text) {
      const heads = listOf(sizes.n_layers * sizes.n_heads, (n) => [
        Math.floor(n / sizes.n_heads) + 1,
        (n % sizes.n_heads) + 1,
      ]);
      const change = { heads: [...off].map((one) => one.split(".").map(Number)) };
      const run = await model.read({ text, ask: { attention: heads }, top: NEXT });
      const { chances: without } = await model.read({ text, change, chances: run.top });
      const T = run.pieces.length;
      if (T < 4) throw new Error("Write a few words more: there is nothing to look back at.");
      if (found.pieces.join("") !== run.pieces.join("")) asks = T - 1;
      const cells = cellsOfKinds(run.ids);
      found = {
        pieces: run.pieces,
        maps: run.attention,
        kinds: heads.map(([block, head]) => kindOf(run.attention[`${block}.${head}`], cells, T)),
        next: run.top.map(({ text: piece, p }, i) => [piece, p, without[i]]),
      };
      draw();
    }

    const showRecorded = () => {
      off.clear();
      off.add(recorded.chosen.join("."));
      [found, chosen] = [recorded, recorded.chosen];
      draw();
    };
    const figure = newModelFigure(
      { label: "A line that SmolLM2 reads", text: recorded.text, work, recorded: showRecorded },
      grid.element,
      counts,
      tokens.element,
      words,
      el("div.sx-bar", toggle, allOn),
      chances,
    );
    return figure.element;
  }

  course.figures.all_heads = build;
  return { cellsOfKinds, kindOf };
});
