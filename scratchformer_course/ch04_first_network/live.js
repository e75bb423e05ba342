// Gradient descent on a bowl, (w − lowest)²: a reader sets the learning rate and the start, and
// sees the path, the slope at its end and the numbers of every step.

course.define("ch04_first_network", () => {
  const { el, newId, slider, button, note, scrolling, table, format, draggable } = course.live;
  const { press, drawing, words, line, circle, way, describe, listOf, newStatus } = course.live;
  const WIDTH = 340;
  const HEIGHT = 240;
  const LEFT = 36;
  const RIGHT = 332;
  const TOP = 10;
  const BOTTOM = 196;
  const REACH = 6; // how far from the lowest point the drawing goes, to both sides
  const TANGENT = 1.3; // how far from the point its tangent goes

  // ---- calculations ----

  const lossAt = (w, lowest) => (w - lowest) ** 2;
  const slopeAt = (w, lowest) => 2 * (w - lowest);

  // The places of w: the start, and one after each step against the slope
  function descend(start, rate, steps, lowest) {
    const places = [start];
    for (let i = 0; i < steps; i++) {
      const w = places[i];
      places.push(w - rate * slopeAt(w, lowest));
    }
    return places;
  }

  // ---- the figure ----

  // Numbers that fly away are written with a power of ten, as Python prints them
  const show = (number, digits = 2) =>
    Math.abs(number) >= 1e4
      ? number.toExponential(1).replace("-", "−").replace("e+", "e")
      : format(number, digits);

  function build(settings) {
    const { lowest, most_steps } = settings;
    let steps = settings.steps;

    const x = (w) => LEFT + ((w - lowest + REACH) / (2 * REACH)) * (RIGHT - LEFT);
    const y = (loss) => BOTTOM - (loss / REACH ** 2) * (BOTTOM - TOP);
    const points = (places) =>
      places.map((w) => `${x(w).toFixed(2)},${y(lossAt(w, lowest)).toFixed(2)}`).join(" ");

    const rates = { min: 0.01, max: settings.largest_rate, step: 0.01, value: settings.rates[0] };
    const rate = slider("Learning rate", { ...rates, show: (r) => r.toFixed(2) }, draw);
    const places = { min: lowest - 5, max: lowest + 5, step: 0.1, value: settings.start };
    const start = slider("Start w", { ...places, show: (w) => show(w, 1) }, draw);
    const choices = settings.rates.map((r) => button(String(r), () => rate.set(r)));
    const go = (more) => () => {
      steps = more ? Math.min(steps + more, most_steps) : 0;
      draw();
    };
    const clip = newId("bowl");
    const moving = el("svg:g", { "clip-path": `url(#${clip})` });
    const grip = el("svg:circle", { r: 22, "clip-path": `url(#${clip})` });
    const svg = bowl();
    // Where the ball is put, the steps begin
    const move = (to) => {
      steps = 0;
      start.set(lowest + ((to.x - LEFT) / (RIGHT - LEFT)) * 2 * REACH - REACH);
    };
    draggable(svg, grip, () => {}, move);
    const status = newStatus();
    const list = scrolling("sx-scroll", "Steps");

    function bowl() {
      const grid = listOf(49, (i) => lowest + REACH * (i / 24 - 1));
      return drawing(WIDTH, HEIGHT, { class: "sx-bowl" }, [
        el("svg:clipPath", { id: clip }, [
          el("svg:rect", { x: LEFT, y: 0, width: RIGHT - LEFT, height: BOTTOM + 6 }),
        ]),
        way(`M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}`, "sx-frame"),
        [-6, -3, 0, 3, 6].map((d) => words(show(lowest + d, 0), x(lowest + d), BOTTOM + 19)),
        [0, 12, 24, 36].map((loss) => words(loss, LEFT - 6, y(loss) + 5, "end")),
        words("w", (LEFT + RIGHT) / 2, BOTTOM + 38),
        words("loss", LEFT + 8, TOP + 8, "start"),
        el("svg:polyline", { points: points(grid), class: "sx-curve" }),
        moving,
        grip,
      ]);
    }

    function draw() {
      const places = descend(start.get(), rate.get(), steps, lowest);
      const w = places[steps];
      const loss = lossAt(w, lowest);
      const slope = slopeAt(w, lowest);
      const tangent = (away) => [x(w + away), y(loss + away * slope)];
      moving.replaceChildren(
        el("svg:polyline", { points: points(places), class: "sx-path" }),
        ...places.slice(0, -1).map((p) => circle(x(p), y(lossAt(p, lowest)), 4, "sx-place")),
        line(...tangent(-TANGENT), ...tangent(TANGENT), "sx-tangent"),
        circle(x(w), y(loss), 5.5, "sx-now"),
      );
      grip.setAttribute("cx", x(w));
      grip.setAttribute("cy", y(loss));
      const outside = Math.abs(w - lowest) > REACH ? " It lies outside the drawing." : "";
      const taken = `After ${steps} ${steps === 1 ? "step" : "steps"} w is ${show(w)}.${outside}`;
      const r = rate.get();
      describe(
        svg,
        `The bowl (w − ${lowest})² and a path from w = ${show(places[0])} with learning rate ` +
          `${r.toFixed(2)}. ${taken} The slope there is ${show(slope)}, and a line with this ` +
          "slope touches the bowl.",
      );
      status.textContent = taken;
      const rows = places.map((p, step) => {
        return [step, show(p), show(slopeAt(p, lowest)), show(lossAt(p, lowest), 3)];
      });
      list.replaceChildren(table(["step", "w", "slope", "loss"], rows));
      list.scrollTop = list.scrollHeight;
      press(choices, settings.rates.indexOf(r));
    }

    draw();
    return el("div.sx-columns", [
      el("div.sx-main.sx-descent", [
        svg,
        note("Drag the orange ball, and the steps begin where you put it."),
        rate.element,
        el("div.sx-bar", { role: "group", "aria-label": "Learning rates" }, choices),
        start.element,
        el("div.sx-bar", [
          button("Step", go(1)),
          button("10 steps", go(10)),
          button("Start again", go(0)),
        ]),
      ]),
      el("div.sx-detail", [
        status,
        list,
        note("The orange line has the slope at the last place. A step goes against it."),
      ]),
    ]);
  }

  course.figures.parabola = build;
  return { descend, lossAt, slopeAt };
});
