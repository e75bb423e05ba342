// A descent into a long, narrow valley: the reader sets the rate, and how much of the running sum of
// slopes each step keeps (momentum).

course.define("valley", () => {
  const { el, drawing, circle, path, words, slider, sliderOver, player } = course.live;
  const { describe, newStatus, format, listOf } = course.live;
  const AT = ([w1, w2]) => [100 + 34 * w1, 110 - 40 * w2]; // pixels
  const FAR = 1000; // beyond it, a distance is not worth telling

  // Places [w1, w2], the first of them `start`
  function descend(rate, keep, { start, steep, steps }) {
    const places = [start];
    let v = [0, 0];
    for (let step = 0; step < steps; step++) {
      const w = places[step];
      v = v.map((sum, i) => keep * sum + steep[i] * w[i]);
      places.push(w.map((weight, i) => weight - rate * v[i]));
    }
    return places;
  }

  function build(settings) {
    const { steps, steep, levels } = settings;
    const show = (hundredths) => format(hundredths / 100, 3).replace(/0$/, "");
    const rate = slider("Rate", { min: 0.5, max: 14, value: 7, step: 0.5, show }, draw);
    const keep = slider("Momentum (keep)", { max: 95, value: 0, step: 5, show }, draw);
    const seen = sliderOver("Steps", listOf(steps + 1, String), moved, steps);
    const play = player(seen, () => (seen.get() + 1) % (steps + 1), "Next step");
    const status = newStatus();
    const drawn = el("svg:g");
    const [cx, cy] = AT([0, 0]);
    const lines = levels.map((level) => {
      const [rx, ry] = [34, 40].map((unit, i) => unit * Math.sqrt((2 * level) / steep[i]));
      return el("svg:ellipse", { cx, cy, rx, ry });
    });
    const svg = drawing(480, 220, { class: "sx-valley" }, [lines, words("×", cx, cy + 6), drawn]);

    function moved() {
      draw();
      play.moved();
    }

    function draw() {
      const places = descend(rate.get() / 100, keep.get() / 100, settings);
      const points = places.slice(0, seen.get() + 1).map(AT);
      const dots = points.map(([x, y], i) => circle(x, y, 5 - i / 7));
      drawn.replaceChildren(el("svg:path", { d: path(points) }), ...dots);
      const far = Math.hypot(...places[steps]);
      const said = far < FAR ? `${format(far, 2)} from the lowest point` : "far out of the valley";
      status.textContent = `After ${steps} steps: ${said}.`;
      describe(svg, `A path from the right into a long, narrow valley. ${status.textContent}`);
    }

    draw();
    const sliders = [rate, keep, seen].map(({ element }) => element);
    return el("div.sx-descent", svg, sliders, play.button, status);
  }

  course.figures.valley = build;
  return { descend };
});
