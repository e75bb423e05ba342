// What can be seen of a model while it learns: what it writes, and where its heads look.
"use strict";

globalThis.scratchformerSamples ??= (() => {
  const { el, title, note, scrolling } = scratchformerLive;
  const FAINTEST = 0.02; // weights that are no larger are not drawn

  // Attention weights (T, T) of one head as a small map; what is above the diagonal stays empty
  function mapOf(weights, T, head, name) {
    const cells = [];
    for (let t = 0; t < T; t++) {
      for (let s = 0; s <= t; s++) {
        const w = weights[(head * T + t) * T + s];
        if (!(w > FAINTEST)) continue;
        const place = { x: s, y: t, width: 1, height: 1 };
        cells.push(el("svg:rect", { ...place, "fill-opacity": w.toFixed(3) }));
      }
    }
    const label = `Attention weights of ${name}: rows ask, columns answer`;
    const frame = { viewBox: `0 0 ${T} ${T}`, role: "img", "aria-label": label };
    return el("svg:svg", frame, cells);
  }

  // show(run, maps, ids): `ids` are written after those of run.first, `maps` hold (H, T, T) weights
  // of each block
  function newSamples() {
    const sample = scrolling("sx-text", "What the model writes");
    const maps = el("div", { class: "sx-maps" });
    const element = el("div", { class: "sx-detail", hidden: "" }, [
      title("What it writes"),
      sample,
      note("The shaded words are given to it. The rest is its own."),
      title("What its heads look at"),
      maps,
      note(
        "Each row is a character of the shaded words, from the first to the last. Its cells are " +
          "the characters up to it. A stronger colour is more attention.",
      ),
    ]);
    function show({ first, characters, config }, weights, ids) {
      const textOf = (some) => Array.from(some, (id) => characters[id]).join("");
      element.hidden = false;
      sample.replaceChildren(el("mark", {}, textOf(first)), textOf(ids));
      const heads = weights.flatMap((ofBlock, block) =>
        Array.from({ length: config.n_heads }, (_, head) => {
          const name = `block ${block + 1}, head ${head + 1}`;
          return el("div", {}, mapOf(ofBlock, first.length, head, name), note(name));
        }),
      );
      maps.replaceChildren(...heads);
    }
    return { element, show };
  }

  return { newSamples };
})();
