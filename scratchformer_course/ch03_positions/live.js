// The sinusoidal encoding as clock hands: one clock for each pair of channels, and in each clock
// the hand at two places. The angle between the hands depends on the distance of the places alone.
// And three hands whose speeds the reader sets: which of 1,000 places are then easy to confuse?

course.define("ch03_positions", () => {
  const { el, slider, note, table, format, turnable, sum, named, listOf } = course.live;
  const { newStatus, drawing, words, line, circle, way, path, describe } = course.live;
  const { sliderOver, button, grouped } = course.live;
  // Of a clock, in units of the drawing
  const STEP = 90;
  const RADIUS = 37;
  const MIDDLE = 80;
  const HEIGHT = 142;
  const SMALL = 13; // the radius of the arc between two hands

  // ---- calculations ----

  // How far each hand turns from place to place, in radians
  const speeds = (d_model, base) => listOf(d_model / 2, (i) => base ** ((-2 * i) / d_model));

  // The vector of a place: sine and cosine of each hand's angle
  const encoding = (place, d_model, base) =>
    speeds(d_model, base).flatMap((speed) => [Math.sin(place * speed), Math.cos(place * speed)]);

  // What each hand adds to the dot product of two vectors
  const products = (a, b) =>
    listOf(a.length / 2, (i) => a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]);

  // By distance: the dot product of two of `places` places, whose hands turn at these speeds
  const dots = (speeds, places) =>
    listOf(places, (k) => sum(speeds.map((speed) => Math.cos(k * speed))));

  // How near the nearest two places come as vectors, how many places are between them, and how many
  // distances above `far` look nearer than a step to the next place
  function judged(dot, far) {
    const most = Math.max(...dot.slice(1));
    const apart = Math.sqrt(Math.max(0, 2 * (dot[0] - most)));
    const confused = dot.filter((product, k) => k > far && product > dot[1]).length;
    return { apart, at: dot.indexOf(most, 1), confused };
  }

  // ---- the figures ----

  const BOX = { left: 34, right: 392, top: 14, bottom: 170 }; // of the curve's axes
  const show = (number) => format(number, 2);
  const three = (number) => String(Number(number.toPrecision(3))); // its first three digits

  function hand(x, right, up, name) {
    const [tipX, tipY] = [x + RADIUS * right, MIDDLE - RADIUS * up];
    return [line(x, MIDDLE, tipX, tipY, name), circle(tipX, tipY, 4, name)];
  }

  // A piece of a circle, clockwise from one hand to the other
  function between(x, from, angle) {
    const shownAngle = angle % (2 * Math.PI);
    const to = from + shownAngle;
    const at = (a) => `${x + SMALL * Math.sin(a)} ${MIDDLE - SMALL * Math.cos(a)}`;
    const large = shownAngle > Math.PI ? 1 : 0;
    return way(`M${at(from)}A${SMALL} ${SMALL} 0 ${large} 1 ${at(to)}`, "sx-between");
  }

  function build(settings) {
    const { d_model, base } = settings;
    const speed = speeds(d_model, base);
    const place = slider("Place", { max: settings.most_place, value: settings.place }, draw);
    const { most_distance: max, distance: value } = settings;
    const distance = slider("Distance", { max, value }, draw);
    const clocks = el("svg:g");
    const svg = drawing(STEP * speed.length, HEIGHT, { class: "sx-clocks" }, clocks);
    svg.append(...speed.map(face));
    const names = ["position", "stream"].map((colour) => named("", colour));
    const status = newStatus();
    const list = el("div");

    // A face that a reader turns by either hand. The first hand takes both places along, the second
    // moves its own. Where the two nearly lie on each other, the first is meant.
    function face(_, i) {
      const middle = { x: STEP * (i + 0.5), y: MIDDLE };
      const grip = circle(middle.x, MIDDLE, RADIUS + 7);
      turnable(svg, grip, middle, ({ x, y }) => {
        const pointer = Math.atan2(x - middle.x, middle.y - y);
        const away = (a, b) => 1 - Math.cos(a - b);
        const first = place.get() * speed[i];
        const second = first + distance.get() * speed[i];
        const isSecond = away(first, second) > 0.02 && away(pointer, second) < away(pointer, first);
        return { sliders: [isSecond ? distance : place], radians: speed[i] };
      });
      return grip;
    }

    function clock(i, t, k, a, b) {
      const x = STEP * (i + 0.5);
      return [
        words(`hand ${i}`, x, 15),
        words(`speed ${three(speed[i])}`, x, 33),
        circle(x, MIDDLE, RADIUS, "sx-face"),
        between(x, t * speed[i], k * speed[i]),
        hand(x, a[2 * i], a[2 * i + 1], "sx-first"),
        hand(x, b[2 * i], b[2 * i + 1], "sx-second"),
        words(`${three(k * speed[i])} rad`, x, HEIGHT - 7),
      ].flat();
    }

    function draw() {
      const t = place.get();
      const k = distance.get();
      const u = t + k;
      const [a, b] = [encoding(t, d_model, base), encoding(u, d_model, base)];
      const product = products(a, b);
      clocks.replaceChildren(...speed.flatMap((_, i) => clock(i, t, k, a, b)));
      const angles = speed.map((s) => three(k * s)).join(", ");
      describe(
        svg,
        `${speed.length} clocks with the hand at place ${t} and, dashed, at place ${u}. ` +
          `The angles between the two are ${angles} radians.`,
      );
      names[0].textContent = `place ${t}`;
      names[1].textContent = `place ${u}, dashed`;
      status.textContent =
        `Places ${t} and ${u}, distance ${k}: the dot product of their vectors ` +
        `is ${show(sum(product))}.`;
      const heads = [t, u].flatMap((p) =>
        ["sin", "cos"].map((f) => el("span", `at ${p}`, el("br"), f)),
      );
      const rows = product.map((p, i) => [
        `hand ${i}`,
        ...[a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1], p].map(show),
      ]);
      list.replaceChildren(table(["", ...heads, "product"], rows));
    }

    draw();
    return el("div.sx-columns", [
      el("div.sx-main.sx-hands", [
        el("div.sx-bar", names),
        svg,
        note("Drag a hand: the first one moves both places, the dashed one moves its own."),
        place.element,
        distance.element,
      ]),
      el("div.sx-detail", [
        status,
        list,
        note(
          "The number under a clock is the angle between its two hands. A row of the table holds " +
            "the two channels of one hand at both places. The products sin · sin + cos · cos " +
            "add up to the dot product.",
        ),
      ]),
    ]);
  }

  // The curve of the dot products over the distance, and the height of the next place
  function curve(dot) {
    const { left, right, top, bottom } = BOX;
    const x = (k) => left + ((right - left) * k) / (dot.length - 1);
    const y = (product) => (top + bottom) / 2 - ((bottom - top) * product) / (2 * dot[0]);
    return [
      way(`M${left} ${top}V${bottom}H${right}`, "sx-axes"),
      [dot[0], 0, -dot[0]].map((n) => words(format(n, 0), left - 6, y(n) + 5, "end")),
      [0, 500, dot.length - 1].map((k) => words(k, x(k), bottom + 19, k > 500 ? "end" : "middle")),
      way(path(dot.map((product, k) => [x(k), y(product)])), "sx-curve"),
      way(`M${left} ${y(dot[1]).toFixed(1)}H${right}`, "sx-next"),
    ].flat();
  }

  // Three hands, whose speeds are stops of a slider each
  function ownSpeeds({ stops, paper, places, far }) {
    const clocks = el("svg:g");
    const viewBox = `0 18 ${STEP * paper.length} ${HEIGHT - 18}`;
    const faces = drawing(0, 0, { class: "sx-clocks", viewBox }, clocks);
    const chart = drawing(400, 216, { class: "sx-chart" });
    const status = newStatus();
    const list = el("div");
    const texts = stops.map(three);
    const hands = paper.map((at, i) => sliderOver(`Hand ${i}`, texts, draw, at));
    const judgedOf = (speeds) => judged(dots(speeds, places), far);
    const rival = judgedOf(paper.map((at) => stops[at]));

    function clock(speed, i, k) {
      const x = STEP * (i + 0.5);
      return [
        words(`hand ${i}`, x, 32),
        circle(x, MIDDLE, RADIUS, "sx-face"),
        hand(x, 0, 1, "sx-first"),
        hand(x, Math.sin(k * speed), Math.cos(k * speed), "sx-second"),
        words(`turn ${grouped(Number(three((2 * Math.PI) / speed)))}`, x, HEIGHT - 7),
      ].flat();
    }

    function draw() {
      const speeds = hands.map((each) => stops[each.get()]);
      const dot = dots(speeds, places);
      const mine = judged(dot, far);
      clocks.replaceChildren(...speeds.flatMap((speed, i) => clock(speed, i, mine.at)));
      chart.replaceChildren(...curve(dot), words("distance of two places", 213, 208));
      const rows = [
        ["nearest two places", show(rival.apart), show(mine.apart)],
        ["how many places apart", rival.at, mine.at],
        ["far ones that look near", rival.confused, mine.confused],
      ];
      list.replaceChildren(table(["", "paper's", "yours"], rows));
      const sign = (isMet) => (isMet ? "✓" : "✗");
      status.replaceChildren(
        `${sign(mine.apart > rival.apart + 0.005)} Goal 1: the nearest two are farther apart than the paper's.`,
        el("br"),
        `${sign(mine.confused === 0)} Goal 2: no far place looks nearer than the next one.`,
      );
      const shown = speeds.map(three).join(", ");
      describe(
        faces,
        `Three clocks with the speeds ${shown}, at two places that are ${mine.at} apart: the two ` +
          "of all places that are easiest to confuse.",
      );
      describe(
        chart,
        `The dot product of two places by their distance, up to ${places - 1}. ` +
          `${mine.confused} distances above ${far} are higher than distance 1, which is ${show(dot[1])}.`,
      );
    }

    draw();
    const back = button("The paper's speeds", () => {
      for (const [i, each] of hands.entries()) each.set(paper[i]);
    });
    return el("div.sx-columns", [
      el("div.sx-main.sx-hands", [
        faces,
        note(
          "Solid: place 0. Dashed: the place that is easiest to confuse with it. Below: the places of a turn.",
        ),
        ...hands.map(({ element }) => element),
        back,
      ]),
      el("div.sx-detail", [
        chart,
        note(
          `The dot product by distance. The line marks the next place; far is more than ${far}.`,
        ),
        list,
        status,
      ]),
    ]);
  }

  course.figures.clock_hands = build;
  course.figures.own_speeds = ownSpeeds;
  return { encoding, products, sum, dots, judged };
});
