// Needs: train.js
// A map of words: press one and see its nearest words. It begins with the chapter's vectors, which
// are stored as signed bytes, and can be trained anew from the text.

course.define("ch02_embeddings", () => {
  const { el, newId, button, bar, note, title, table, format, newStatus, describe } = course.live;
  const { line, circle, way, placeIn } = course.live;
  const CHANNELS = 32;
  const NEAREST = 8;
  // Of the drawing, in pixels
  const LETTER = 7.4; // as wide as a letter of a label gets
  const LINE = 17;
  const REACH = 26; // how far from a word it can be pressed

  // ---- calculations ----

  const dot = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);
  const unitOf = (vector) => {
    const length = Math.sqrt(dot(vector, vector)) || 1;
    return vector.map((number) => number / length);
  };

  // Words, their ids by word, places from 0 to 1, and vectors of length 1
  function load({ words, places, vectors }) {
    const bytes = Int8Array.from(atob(vectors), (c) => c.charCodeAt(0));
    const names = words.split(" ");
    return {
      words: names,
      ids: new Map(names.map((word, i) => [word, i])),
      places: names.map((_, i) => [places[2 * i] / 1000, places[2 * i + 1] / 1000]),
      unit: names.map((_, i) =>
        unitOf(Array.from(bytes.subarray(i * CHANNELS, (i + 1) * CHANNELS))),
      ),
    };
  }

  // All ids but those left out, the most similar to a vector first, with their cosines
  function ranked({ unit }, vector, leftOut = []) {
    const wanted = unitOf(vector);
    return unit
      .map((row, id) => ({ id, cosine: dot(row, wanted) }))
      .filter(({ id }) => !leftOut.includes(id))
      .sort((a, b) => b.cosine - a.cosine || a.id - b.id);
  }

  // The nearest place in a direction of the plane, or the place itself
  function towards({ places }, from, right, down) {
    let best = from;
    let least = Infinity;
    for (const [id, [x, y]] of places.entries()) {
      const [dx, dy] = [x - places[from][0], y - places[from][1]];
      const along = dx * right + dy * down;
      const aside = Math.abs(dx * down - dy * right);
      const far = along + 2 * aside;
      if (id !== from && along > 0 && aside <= along && far < least) [best, least] = [id, far];
    }
    return best;
  }

  // Labels that do not cover each other, in the order of the ids given: [{id, x, y}]
  function labels({ words, places }, order, width, height) {
    const shown = [];
    /** @type {(label: any) => boolean} */
    const free = ({ box: [left, top, right, bottom] }) => {
      const apart = ({ box: b }) => left > b[2] || b[0] > right || top > b[3] || b[1] > bottom;
      const fits = left >= 2 && right <= width - 2 && top >= 0 && bottom <= height;
      return fits && shown.every(apart);
    };
    for (const id of new Set(order)) {
      const half = (words[id].length * LETTER) / 2 + 2;
      const [x, y] = at(places[id], width, height);
      const boxAt = (x, y) => [x - half, y - LINE / 2, x + half, y + LINE / 2];
      const [above, below] = [y - 11, y + 12].map((y) => ({ id, x, y, box: boxAt(x, y) }));
      const [right, left] = [x + half + 3, x - half - 3].map((x) => ({
        id,
        x,
        y,
        box: boxAt(x, y),
      }));
      const label = [above, below, right, left].find(free);
      if (label) shown.push(label);
    }
    return shown;
  }

  const MARGIN = 22;
  const at = ([x, y], width, height) => [
    MARGIN + x * (width - 2 * MARGIN),
    MARGIN + y * (height - 2 * MARGIN),
  ];

  // ---- the figure ----

  function build(settings) {
    const map = load(settings);
    const { words, ids } = map;
    let chosen = ids.get(settings.word);
    let near = [];
    let placed = [];
    let [width, height] = [0, 0];

    // -- the map

    const svg = el("svg:svg", { role: "img", class: "sx-words", onclick: press });
    const stage = el("div.sx-stage", { tabindex: 0, role: "group", onkeydown: step }, svg);
    describe(stage, "Map of words: an arrow key goes to the next word in its direction");

    function step(event) {
      const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (!ways[event.key]) return;
      event.preventDefault();
      choose(towards(map, chosen, ...ways[event.key]));
    }

    function press(event) {
      const { x, y } = placeIn(svg, event);
      const label = placed.find(({ box }) => x > box[0] && x < box[2] && y > box[1] && y < box[3]);
      if (label) return choose(label.id);
      const far = words.map((_, id) => Math.hypot(spot(id)[0] - x, spot(id)[1] - y));
      const nearest = far.indexOf(Math.min(...far));
      if (far[nearest] <= REACH) choose(nearest);
    }
    const spot = (id) => at(map.places[id], width, height);

    function drawMap() {
      const names = near.map(({ id }) => id);
      const dots = words.map(
        (_, id) =>
          `M${spot(id)
            .map((x) => x.toFixed(1))
            .join(" ")}h0`,
      );
      placed = labels(map, [chosen, ...names, ...words.keys()], width, height);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.replaceChildren(
        way(dots.join(""), "sx-dots"),
        ...names.map((id) => line(...spot(chosen), ...spot(id), "sx-tie")),
        circle(...spot(chosen), 5, "sx-chosen"),
        ...placed.map(({ id, x, y }) => {
          const kind = id === chosen ? "sx-chosen" : names.includes(id) ? "sx-near" : "sx-far";
          return el("svg:text", { x, y, class: kind }, words[id]);
        }),
      );
      const nearest = names.map((id) => words[id]).join(", ");
      describe(
        svg,
        `A map of ${words.length} words. Chosen: ${words[chosen]}. Nearest: ${nearest}.`,
      );
    }

    function fit() {
      const wide = Math.round(stage.clientWidth) || 560;
      if (wide === width) return;
      width = wide;
      height = Math.round(wide < 450 ? wide : wide * 0.8);
      drawMap();
    }

    // -- the nearest words

    const all = newId("words");
    const field = wordField("Word", "sx-typed", () => {
      const id = ids.get(read(field));
      if (id === undefined) status.textContent = missing(read(field));
      else choose(id);
    });
    const status = newStatus();
    const listTitle = title();
    const list = el("div");

    function wordField(name, kind, onchange) {
      const input = el("input", {
        type: "text",
        class: kind,
        list: all,
        autocomplete: "off",
        autocapitalize: "off",
        spellcheck: "false",
        oninput: () => ids.has(read(element)) && onchange(),
        onchange,
      });
      const element = el("span.sx-field", course.live.label(name, input), input);
      return element;
    }
    const inputOf = (element) => element.querySelector("input");
    const read = (element) => inputOf(element).value.trim().toLowerCase().replaceAll("’", "'");

    function missing(word) {
      if (!word) return "Type a word.";
      const alike = words.filter((known) => known.startsWith(word.slice(0, 2)));
      const others = alike.length ? ` Some that are: ${alike.slice(0, 6).join(", ")}.` : "";
      return `“${word}” is not among the ${words.length} words of this map.${others}`;
    }

    function choose(id) {
      chosen = id;
      inputOf(field).value = words[id];
      showNearest();
      tellNearest();
      listTitle.textContent = `Nearest to “${words[id]}”`;
    }

    function tellNearest() {
      const names = near.map(({ id }) => words[id]).join(", ");
      status.textContent = `Nearest to ${words[chosen]}: ${names}.`;
    }

    function showNearest() {
      const focused = list.contains(document.activeElement);
      near = ranked(map, map.unit[chosen], [chosen]).slice(0, NEAREST);
      const rows = near.map(({ id, cosine }) => [
        button(words[id], () => choose(id)),
        format(cosine, 2),
        bar(Math.max(0, cosine)),
      ]);
      list.replaceChildren(table(["word", "cosine", ""], rows, { class: "sx-bars sx-list" }));
      if (focused) list.querySelector("button").focus();
      if (width) drawMap();
    }

    // -- the training

    const pair = ["king", "sword"].map((word) => ids.get(word));
    const data = { text: settings.text, known: settings.known, ids: settings.ids, pair };
    const controls = course.wordTraining.newControls(data, (unit, places, isLast) => {
      Object.assign(map, { unit, places });
      showNearest();
      if (isLast) tellNearest();
      else status.textContent = "Training.";
    });

    const element = el("div", [
      el(
        "datalist",
        { id: all },
        [...words].sort().map((value) => el("option", { value })),
      ),
      el("div.sx-columns", [
        el("div.sx-main.sx-wide", [
          controls,
          stage,
          note("Press a word, or move with arrow keys."),
        ]),
        el("div.sx-detail.sx-nearest", field, status, listTitle, list),
      ]),
    ]);
    choose(chosen);
    new ResizeObserver(fit).observe(stage);
    return element;
  }

  course.figures.word_map = build;
  return { load, ranked, labels };
});
