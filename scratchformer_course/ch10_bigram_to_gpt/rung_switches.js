// The parts of the ladder's models as switches: the three losses of any combination, beside those that
// were tried before, and the table of pairs. All of them are stored.

course.define("rungSwitches", () => {
  const { el, choice, newSwitch, drawing, circle, line, words, way } = course.live;
  const { newStatus, describe, format, listed } = course.live;
  const [WIDTH, FLOOR] = [360, 64];

  // runs: [heads, positions, network, plus signs, losses] each; ticks: losses on the axis
  function build({ runs, heads, parts, pairs, ticks }) {
    const [low, high] = [ticks[0], ticks.at(-1)];
    const at = (loss) => 30 + ((WIDTH - 60) * (loss - low)) / (high - low);
    const count = choice(
      "Heads",
      heads.map((n) => (n ? `${n}` : "none")),
      draw,
    );
    const switches = parts.map((name) => newSwitch(name, draw));
    const [dots, status] = [el("svg:g"), newStatus()];
    const axis = ticks.map((tick) => words(format(tick, 1), at(tick), FLOOR + 20));
    const mark = [line(at(pairs), 18, at(pairs), FLOOR), words("pairs", at(pairs), 12)];
    const floor = way(`M${at(low)},${FLOOR}H${at(high)}`);
    const svg = drawing(WIDTH, 88, { class: "sx-losses" }, [floor, axis, mark, dots]);

    function draw() {
      const set = [heads[count.at()], ...switches.map(({ box }) => Number(box.checked))];
      if (!set[0] && !set[2]) set[3] = 0; // a plus sign needs something to add
      const losses = runs.find((run) => set.every((x, i) => run[i] === x)).at(-1);
      for (const dot of dots.children) dot.setAttribute("class", "sx-tried");
      dots.append(...losses.map((loss) => circle(at(loss), FLOOR - 20, 6)));
      const below = losses.filter((loss) => loss < pairs).length;
      const place = below ? `${below} of 3 below the pairs` : "not below the pairs";
      status.textContent = `Losses ${listed(losses.map((x) => format(x, 2)))}: ${place}.`;
      describe(svg, `Three dots on an axis of losses. ${status.textContent}`);
    }

    draw();
    const boxes = switches.map(({ element }) => element);
    return el("div", [el("div.sx-parts", "Heads: ", count.element, boxes), svg, status]);
  }

  course.figures.rung_switches = build;
  return {};
});
