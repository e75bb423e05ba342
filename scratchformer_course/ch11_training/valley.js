// A descent into a long, narrow valley: the reader sets the rate, how much of the running sum of
// slopes each step keeps (momentum), and how steep the second weight's direction is; or AdamW takes
// the steps. Noise can be added to the slopes, then many runs end at as many places.

course.define("valley", () => {
  const { el, drawing, circle, path, words, slider, sliderOver, player, newSwitch } = course.live;
  const { describe, newStatus, format, grouped, listOf, mean } = course.live;
  const AT = ([w1, w2]) => [100 + 34 * w1, 110 - 40 * w2].map(near); // pixels
  const near = (pixel) => Math.max(-1e5, Math.min(1e5, pixel)); // a browser draws no 1e60
  const FAR = 1000; // beyond it, a distance is not worth telling
  const PLAIN = { noise: undefined, falls: false };

  // Places [w1, w2], the first of them `start`, of which move(slopes, t) gives the steps at a rate
  // of 1. Slopes have their noise, if there is any, and a rate that falls follows half a cosine.
  function walk({ start, steps }, [rate, steep], { noise, falls }, move) {
    const places = [start];
    for (let t = 1; t <= steps; t++) {
      const [w1, w2] = places[t - 1];
      const [one, other] = noise?.[t - 1] ?? [0, 0];
      const step = move([w1 + one, steep * w2 + other], t);
      const own = falls ? (rate * (1 + Math.cos((Math.PI * (t - 1)) / steps))) / 2 : rate;
      places.push([w1 - own * step[0], w2 - own * step[1]]);
    }
    return places;
  }

  function descend(rate, keep, steep, settings, how = PLAIN) {
    let sums = [0, 0];
    return walk(settings, [rate, steep], how, (slopes) => {
      sums = sums.map((sum, i) => keep * sum + slopes[i]);
      return sums;
    });
  }

  // Without decay
  function adamw(rate, steep, settings, how = PLAIN) {
    let m = [0, 0];
    let v = [0, 0];
    return walk(settings, [rate, steep], how, (slopes, t) => {
      m = m.map((x, i) => 0.9 * x + 0.1 * slopes[i]);
      v = v.map((x, i) => 0.95 * x + 0.05 * slopes[i] ** 2);
      const usual = v.map((x) => Math.sqrt(x / (1 - 0.95 ** t)) + 1e-8);
      return m.map((x, i) => x / (1 - 0.9 ** t) / usual[i]);
    });
  }

  function build(settings) {
    const { steps, levels, rates, steeper, first, noises } = settings;
    const placeOf = (wanted) => rates.indexOf(wanted);
    const own = [first.descent, first.adamw].map(placeOf); // the place of each way's rate
    const rate = sliderOver("Rate", rates.map(String), draw, own[0]);
    const show = (hundredths) => format(hundredths / 100, 2);
    const keep = slider("Momentum (keep)", { max: 95, value: 0, step: 5, show }, draw);
    const steepness = sliderOver("Steepness", steeper.map(grouped), draw);
    const byAdamW = newSwitch("AdamW", change);
    const noisy = newSwitch("noise", draw);
    const falling = newSwitch("falling rate", draw);
    const seen = sliderOver("Steps", listOf(steps + 1, String), moved, steps);
    const play = player(seen, () => (seen.get() + 1) % (steps + 1), "Next step");
    const status = newStatus();
    const drawn = el("svg:g");
    const [cx, cy] = AT([0, 0]);
    const lines = levels.map(() => el("svg:ellipse", { cx, cy }));
    const svg = drawing(480, 220, { class: "sx-valley" }, [lines, words("×", cx, cy + 6), drawn]);

    // Each way takes up the rate that it had
    function change(isOn) {
      own[isOn ? 0 : 1] = rate.get();
      keep.element.querySelector("input").disabled = isOn;
      rate.set(own[isOn ? 1 : 0]);
    }

    function moved() {
      draw();
      play.moved();
    }

    function draw() {
      const steep = steeper[steepness.get()];
      const chosen = rates[rate.get()];
      const falls = falling.box.checked;
      const runs = (noisy.box.checked ? noises : [undefined]).map((noise) =>
        byAdamW.box.checked
          ? adamw(chosen, steep, settings, { noise, falls })
          : descend(chosen, keep.get() / 100, steep, settings, { noise, falls }),
      );
      const places = runs[0];
      lines.forEach((line, i) => {
        line.setAttribute("rx", 34 * Math.sqrt(2 * levels[i]));
        line.setAttribute("ry", 40 * Math.sqrt((2 * levels[i]) / steep));
      });
      const points = places.slice(0, seen.get() + 1).map(AT);
      const dots = points.map(([x, y], i) => circle(x, y, 5 - i / 7));
      const ends = runs.slice(1).map((run) => circle(...AT(run[steps]), 3, "sx-end"));
      drawn.replaceChildren(...ends, el("svg:path", { d: path(points) }), ...dots);
      const far = mean(runs.map((run) => Math.hypot(...run[steps])));
      const said = far < FAR ? `${format(far, 2)} from the lowest point` : "far out of the valley";
      const whose = runs.length > 1 ? `, on average over ${runs.length} runs` : "";
      status.textContent = `After ${steps} steps${whose}: ${said}.`;
      describe(svg, `A path from the right into a long, narrow valley. ${status.textContent}`);
    }

    draw();
    const sliders = [rate, keep, steepness, seen].map(({ element }) => element);
    const switches = [byAdamW, noisy, falling].map(({ element }) => element);
    return el("div.sx-descent", svg, sliders, el("div.sx-ways", switches), play.button, status);
  }

  course.figures.valley = build;
  return { descend, adamw };
});
