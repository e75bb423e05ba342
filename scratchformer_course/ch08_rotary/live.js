// Rotary positions for one pair of channels: a query at position m and a key at position n are turned
// by their positions. Move both, and the arrows turn while the score stays.

course.define("ch08_rotary", () => {
  const { el, slider, button, note, table, format, turnable, drawing, line } = course.live;
  const { circle, words, describe } = course.live;
  // Of the drawing
  const SIZE = 284;
  const MIDDLE = SIZE / 2;
  const RADIUS = 112;
  const SMALL = 34; // the radius of the arc between the arrows
  const HUB = 46; // of the disc that turns both arrows
  const HEAD = 12; // of an arrow

  // ---- calculations ----

  // The pair (a, b) turned counter-clockwise by an angle in radians
  /** @type {(pair: number[], angle: number) => number[]} */
  const rotate = ([a, b], angle) => [
    a * Math.cos(angle) - b * Math.sin(angle),
    a * Math.sin(angle) + b * Math.cos(angle),
  ];

  const dot = (pair, other) => pair[0] * other[0] + pair[1] * other[1];

  const score = (query, key, speed, m, n) => dot(rotate(query, m * speed), rotate(key, n * speed));

  // The angle from one arrow to another, from −π to π, counter-clockwise
  /** @type {(one: number[], other: number[]) => number} */
  const angleBetween = ([a, b], [c, d]) => Math.atan2(a * d - b * c, a * c + b * d);

  // ---- the figure ----

  const show = (number) => format(number, 2);
  const shown = (pair) => `(${pair.map(show).join(", ")})`;

  function build(settings) {
    const { query, key, further, most_place } = settings;
    const unit = RADIUS / Math.max(Math.hypot(...query), Math.hypot(...key));
    let before = 0; // words in front of the text
    const placed = (place) => String(place + before);
    const m = slider("Query at m", { max: most_place, value: settings.m, show: placed }, draw);
    const n = slider("Key at n", { max: most_place, value: settings.n, show: placed }, draw);
    const speeds = { max: settings.largest_speed, step: 0.01, value: settings.speed, show };
    const speed = slider("Radians per position", speeds, draw);
    const on = button("Move both by 1", () => move(1));
    const back = button("Move both back by 1", () => move(-1));
    const front = button("", () => {
      before = before ? 0 : further;
      for (const place of [m, n]) place.set(place.get()); // which draws
    });
    const drawn = el("svg:g");
    const svg = drawing(SIZE, SIZE, { class: "sx-arrows" }, drawn);
    const [gripM, gripN] = [[m], [n], [m, n]].map(grip);
    const status = el("p.sx-score", { role: "status" });
    const list = el("div");

    const fits = (step) =>
      [m, n].every((place) => place.get() + step >= 0 && place.get() + step <= most_place);
    function move(step) {
      if (fits(step)) for (const place of [m, n]) place.set(place.get() + step);
    }

    // An arrow turns by its positions, so dragging it moves its word; the disc in the middle moves both
    function grip(sliders) {
      const isHub = sliders.length > 1;
      const element = isHub ? circle(MIDDLE, MIDDLE, HUB) : el("svg:path.sx-shaft");
      turnable(svg, element, { x: MIDDLE, y: MIDDLE }, () => ({ sliders, radians: -speed.get() }));
      svg.append(element);
      return element;
    }
    // From the disc to beyond the tip
    function hold(element, pair) {
      const [[x, y], length] = [at(pair), unit * Math.hypot(...pair)];
      const from = HUB / length;
      const near = [MIDDLE + from * (x - MIDDLE), MIDDLE + from * (y - MIDDLE)];
      element.setAttribute("d", `M${near.join(" ")}L${x} ${y}`);
    }

    const at = ([right, up]) => [MIDDLE + unit * right, MIDDLE - unit * up];
    function arrow(pair, name, letter) {
      const [x, y] = at(pair);
      const angle = Math.atan2(y - MIDDLE, x - MIDDLE);
      const corner = (aside) =>
        `${x - HEAD * Math.cos(angle + aside)},${y - HEAD * Math.sin(angle + aside)}`;
      const beyond = (length) => [x + length * Math.cos(angle), y + length * Math.sin(angle)];
      const [textX, textY] = beyond(16);
      return el("svg:g", { class: name }, [
        line(MIDDLE, MIDDLE, ...beyond(-8), name),
        el("svg:polygon", { points: `${x},${y} ${corner(0.42)} ${corner(-0.42)}` }),
        words(letter, textX, textY),
      ]);
    }
    // Where the arrow is at position 0
    function ghost(pair, name) {
      const [x, y] = at(pair);
      return line(MIDDLE, MIDDLE, x, y, `${name} sx-before`);
    }
    // A piece of a circle from key to query, the short way
    function between(k, q) {
      const end = (pair) => pair.map((x) => (SMALL * x) / (unit * Math.hypot(...pair)));
      const [from, to] = [at(end(k)), at(end(q))];
      const clockwise = angleBetween(k, q) < 0 ? 1 : 0;
      return el("svg:path.sx-between", {
        d: `M${from.join(" ")}A${SMALL} ${SMALL} 0 0 ${clockwise} ${to.join(" ")}`,
      });
    }

    function draw() {
      const [at_m, at_n, theta] = [m.get() + before, n.get() + before, speed.get()];
      const q = rotate(query, at_m * theta);
      const k = rotate(key, at_n * theta);
      const ring = (pair) => circle(MIDDLE, MIDDLE, unit * Math.hypot(...pair), "sx-ring");
      hold(gripM, q);
      hold(gripN, k);
      drawn.replaceChildren(
        circle(MIDDLE, MIDDLE, HUB, "sx-hub"),
        ring(query),
        ring(key),
        ghost(query, "sx-q"),
        ghost(key, "sx-k"),
        between(k, q),
        arrow(q, "sx-q", "q"),
        arrow(k, "sx-k", "k"),
      );
      const angle = show(Math.abs(angleBetween(k, q)));
      describe(
        svg,
        `Two arrows: the query at position ${at_m} ends at ${shown(q)}, ` +
          `the key at position ${at_n} at ${shown(k)}. The angle between them is ${angle} radians.`,
      );
      status.replaceChildren(
        `Distance m − n = ${format(at_m - at_n, 0)}, `,
        el("b", `score ${format(score(query, key, theta, at_m, at_n))}`),
      );
      const rows = [
        [`query at ${at_m}`, shown(query), show(at_m * theta), shown(q)],
        [`key at ${at_n}`, shown(key), show(at_n * theta), shown(k)],
      ];
      list.replaceChildren(
        table(["", "at position 0", "turn", "turned"], rows),
        note(
          "The score is the dot product of the turned pairs. The angle between them is " +
            `${angle} radians. Dashed: where the arrows are at position 0.`,
        ),
      );
      on.setAttribute("aria-disabled", String(!fits(1)));
      back.setAttribute("aria-disabled", String(!fits(-1)));
      front.setAttribute("aria-pressed", String(before > 0));
      front.textContent = before ? `Take the ${further} words away` : `${further} words in front`;
    }

    draw();
    return el("div.sx-columns", [
      el("div.sx-main.sx-turns", [
        svg,
        status,
        note("Drag an arrow to move its word. Drag the disc in the middle to move both words."),
      ]),
      el("div.sx-main.sx-turns", [
        m.element,
        n.element,
        el("div.sx-bar", on, back, front),
        speed.element,
        list,
      ]),
    ]);
  }

  course.figures.turning_pairs = build;
  return { rotate, dot, score, angleBetween };
});
