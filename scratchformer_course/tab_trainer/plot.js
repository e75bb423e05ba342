// The plot of a run: loss against seconds, with stored curves, the run before, and a line that
// grows.

course.define("plot", () => {
  const { el, format, table, drawing, words, line, way, listOf } = course.live;
  // Of the plot, in pixels
  const HEIGHT = 230;
  const [LEFT, RIGHT, TOP, BOTTOM] = [40, 12, 22, 30]; // its margins
  const FROM = 0.05; // seconds at the left end of an axis of tenfold steps

  // The places of seconds and losses in a drawing that is `width` wide
  function newScales(width, longest, lowest, highest) {
    const x = (seconds) => {
      const share = Math.log(Math.max(seconds, FROM) / FROM) / Math.log(longest / FROM);
      return LEFT + share * (width - LEFT - RIGHT);
    };
    const y = (loss) => {
      const seen = Math.max(lowest, Math.min(loss, highest));
      return TOP + ((highest - seen) / (highest - lowest)) * (HEIGHT - TOP - BOTTOM);
    };
    const path = (points) =>
      points.length ? course.live.path(points.map(([s, loss]) => [x(s), y(loss)])) : "";
    return { x, y, path };
  }

  // Lines and numbers of both axes
  function axes({ x, y }, width, longest, lowest, highest) {
    const seconds = [0.1, 1, 10, 100, 1000, 10000].filter((s) => s < longest);
    const apart = highest < 13 ? 1 : Math.ceil(highest / 30) * 5;
    const losses = listOf(13, (i) => apart * i);
    const shown = losses.filter((loss) => loss >= lowest && loss < highest);
    return [
      seconds.map((s) => [
        line(x(s), TOP, x(s), HEIGHT - BOTTOM, "sx-axis"),
        words(`${s} s`, x(s), HEIGHT - 10),
      ]),
      shown.map((loss) => [
        line(LEFT, y(loss), width - RIGHT, y(loss), "sx-axis"),
        words(loss, LEFT - 8, y(loss) + 4, "end"),
      ]),
      words("loss, nats a character", 4, 13, "start"),
    ];
  }

  function newLegend({ curves, goal, floor, before }) {
    const entry = (kind, words) => el("li", { class: kind }, words);
    const lowest = "the lowest that is possible, as the rest of the text is chance";
    return el("ul.sx-legend", [
      entry("sx-own", "your GPT"),
      before.length ? entry("sx-before", "your run before") : [],
      curves.map(({ label }, i) => entry(`sx-stored-${i}`, label)),
      goal ? entry("sx-level", goal.label) : [],
      floor ? entry("sx-level sx-floor", `${format(floor, 2)}: ${lowest}`) : [],
    ]);
  }

  // `curves` are stored, `goal` and `floor` are levels or null, `guess` is the loss of a blind one.
  // draw(points), [seconds, loss], moves the line
  function newPlot({ curves, goal, floor, guess, room, before = [], longest = 200, highest = 0 }) {
    const width = Math.max(300, Math.min(600, room || 340));
    const top = Math.max(highest, guess + 0.2);
    const lowest = goal ? Math.floor(10 * goal.loss - 2) / 10 : 0;
    const scales = newScales(width, longest, lowest, top);
    const { x, y, path } = scales;
    const level = (loss, kind) => line(LEFT, y(loss), width - RIGHT, y(loss), kind);
    const ownCurve = el("svg:path.sx-own");
    const point = el("svg:circle", { r: 4, class: "sx-point", cx: -9, cy: 0 });
    const svg = drawing(width, HEIGHT, { class: "sx-plot" }, [
      axes(scales, width, longest, lowest, top),
      goal ? level(goal.loss, "sx-level") : [],
      floor ? level(floor, "sx-level sx-floor") : [],
      curves.map(({ seconds, losses }, i) =>
        way(path(seconds.map((s, n) => [s, losses[n]])), `sx-stored-${i}`),
      ),
      way(path(before), "sx-before"),
      ownCurve,
      point,
    ]);
    function draw(points) {
      if (!points.length) return;
      const [s, loss] = points.at(-1);
      ownCurve.setAttribute("d", path(points));
      point.setAttribute("cx", x(s));
      point.setAttribute("cy", y(loss));
    }
    function describe(words) {
      svg.setAttribute("aria-label", `Loss against seconds of training. ${words}`);
    }
    describe("Nothing is trained yet.");
    const element = el("div", svg, newLegend({ curves, goal, floor, before }));
    return { element, longest, highest: top, draw, describe };
  }

  // A dozen points of a curve at most
  function curveTable(points) {
    const every = Math.ceil(points.length / 12);
    const rows = points.map(([s, loss], i) => [String(i + 1), format(s, 2), format(loss)]);
    const shown = rows.filter((_, i) => i % every === 0);
    return table(["step", "seconds", "loss"], shown);
  }

  return { newPlot, curveTable };
});
