// A tape that is played backwards: three operations, and one press for each on the way back. A
// reader sees which node gets which slope, by which rule, and may change the numbers.

course.define("tapeSteps", () => {
  const { el, slider, button, table, drawing, words, way, describe, newStatus } = course.live;
  const RANGES = { a: [-5, 5, 0.5], w1: [-2, 2, 0.1], w2: [-3, 3, 0.5] };
  // Left edge, top and width of the box of each node. Its slope is below its number
  const BOXES = {
    w1: [70, 2, 82],
    w2: [174, 2, 82],
    a: [2, 84, 46],
    h: [70, 84, 82],
    s: [174, 84, 82],
    loss: [278, 84, 60],
  };
  const TALL = 42; // of a box above its slope
  const SLOPE = 24; // of the box of a slope
  const TAPE = 190; // where the tape is drawn
  const START = 1; // press by press: 0 is before the way back, 1 gives the loss its slope

  // ---- calculations ----

  // The numbers of a run forward
  /** @type {(inputs: any) => any} */
  function forward({ a, w1, w2 }) {
    const h = w1 * a;
    const s = w2 * h;
    return { a, w1, w2, h, s, loss: (s - 1) ** 2 };
  }

  // The operations from the end, each with what its inputs get: [node, rule, grad, factor, slope]
  function wayBack({ a, w1, w2, h, s }) {
    const gets = (node, rule, grad, factor) => [node, rule, grad, factor, grad * factor];
    const atS = 2 * (s - 1);
    const atH = atS * w2;
    return [
      { name: "the loss", gets: [["loss", "start", 1, 1, 1]] },
      { name: "(s − 1)²", gets: [gets("s", "grad · 2(s − 1)", 1, atS)] },
      { name: "w2 · h", gets: [gets("w2", "grad · h", atS, h), gets("h", "grad · w2", atS, w2)] },
      { name: "w1 · a", gets: [gets("w1", "grad · a", atH, a), gets("a", "grad · w1", atH, w1)] },
    ];
  }

  // ---- the figure ----

  const show = (number) => String(Math.round(100 * number) / 100 || 0).replace("-", "−");
  const signed = (number) => (number < 0 ? `(${show(number)})` : show(number));

  function said(place, steps) {
    if (place === 0) return "Three operations are on the tape. No node has a slope yet.";
    if (place === 1) return "The way back starts with a slope of 1 at the loss.";
    const { name, gets } = steps[place - 1];
    const parts = gets.map(
      ([node, rule, grad, factor, slope]) =>
        `${node} gets ${rule} = ${show(grad)} · ${signed(factor)} = ${show(slope)}`,
    );
    return `Back through ${name}: ${parts.join(", and ")}.`;
  }

  const rect = ([x, y, width], down, height, kind) =>
    el("svg:rect", { x, y: y + down, width, height, rx: 5, class: kind });
  const arrow = (d, kind) => way(d, `sx-arrow ${kind}`);
  const label = (text, x, y, kind) => {
    const element = words(text, x, y);
    element.setAttribute("class", kind);
    return element;
  };

  // The way of an arrow, with its head: level to the right or left, or straight up or down
  function pointing(x, y, toX, toY) {
    const [dx, dy] = [Math.sign(toX - x), Math.sign(toY - y)];
    const wing = (side) => `L${toX - 5 * dx + side * 4 * dy} ${toY - 5 * dy + side * 4 * dx}`;
    return `M${x} ${y}L${toX} ${toY}${wing(1)}M${toX} ${toY}${wing(-1)}`;
  }

  // A node with its number, and its slope where it has one
  function node(name, number, step) {
    const box = BOXES[name];
    const middle = box[0] + box[2] / 2;
    const parts = [
      rect(box, 0, TALL, "sx-node"),
      label(name, middle, box[1] + 17, "sx-name-of"),
      label(show(number), middle, box[1] + 35, "sx-number"),
      rect(box, TALL, SLOPE, step ? "sx-slope" : "sx-no-slope"),
    ];
    if (step) parts.push(label(show(step[4]), middle, box[1] + TALL + 17, "sx-slope-text"));
    return parts;
  }

  // Which way a slope comes, with its factor: [from x, from y, to x, to y, text x, text y]
  const WAYS = {
    s: [278, 138, 258, 138, 267, 166],
    h: [174, 138, 154, 138, 163, 166],
    a: [70, 138, 50, 138, 59, 166],
    w2: [232, 84, 232, 69, 256, 81],
    w1: [128, 84, 128, 69, 152, 81],
  };

  function picture(numbers, place, steps) {
    const found = Object.fromEntries(
      steps.slice(0, place).flatMap(({ gets }) => gets.map((step) => [step[0], step])),
    );
    const cell = (text, x, width) => ({ text, x, width });
    const tape = [cell("w1 · a", 70, 82), cell("w2 · h", 174, 82), cell("(s − 1)²", 270, 68)];
    return [
      ...[48, 152, 256].map((x) => arrow(pointing(x, 105, x + 20, 105), "sx-forward")),
      ...[96, 200].map((x) => arrow(pointing(x, 69, x, 83), "sx-forward")),
      ...Object.keys(BOXES).flatMap((name) => node(name, numbers[name], found[name])),
      ...Object.entries(WAYS).flatMap(([name, [x, y, toX, toY, atX, atY]]) =>
        found[name]
          ? [
              arrow(pointing(x, y, toX, toY), "sx-back"),
              label(`× ${show(found[name][3])}`, atX, atY, "sx-slope-text"),
            ]
          : [],
      ),
      label("tape", 25, TAPE + 17, "sx-name-of"),
      ...tape.flatMap(({ text, x, width }, i) => {
        const state = place === 4 - i ? "sx-now" : place > 4 - i ? "sx-read" : "";
        return [
          rect([x, TAPE, width], 0, 26, `sx-cell ${state}`),
          label(text, x + width / 2, TAPE + 18, `sx-cell-text ${state}`),
        ];
      }),
    ];
  }

  function build(settings) {
    let place = START;
    const svg = drawing(340, 220, { class: "sx-tape" }, []);
    const status = newStatus();
    const list = el("div.sx-rules");
    const sliders = Object.entries(RANGES).map(([name, [min, max, step]]) => ({
      name,
      ...slider(name, { min, max, step, value: settings[name], show }, draw),
    }));
    const go = (by) => () => {
      place = Math.min(Math.max(place + by, 0), 4);
      draw();
    };

    function draw() {
      const numbers = forward(Object.fromEntries(sliders.map(({ name, get }) => [name, get()])));
      const steps = wayBack(numbers);
      svg.replaceChildren(...picture(numbers, place, steps));
      status.textContent = said(place, steps);
      const rows = steps.flatMap(({ gets }, i) =>
        gets.map(([name, rule, grad, factor, slope]) =>
          i < place
            ? [name, rule, i ? `${show(grad)} · ${signed(factor)}` : "", show(slope)]
            : [name, "", "", ""],
        ),
      );
      list.replaceChildren(table(["node", "gets", "", "slope"], rows));
      const named = Object.entries(numbers).map(([name, number]) => `${name} is ${show(number)}`);
      describe(
        svg,
        `Six nodes and a tape of three operations: ${named.join(", ")}. ${said(place, steps)}`,
      );
    }

    draw();
    return el("div.sx-columns", [
      el("div.sx-main.sx-tape-side", [
        svg,
        el("div.sx-bar", [button("◀ Step back", go(1)), button("Undo ▶", go(-1))]),
        sliders.map(({ element }) => element),
      ]),
      el("div.sx-detail", [status, list]),
    ]);
  }

  course.figures.tape_steps = build;
  return { forward, wayBack };
});
