// Four people in the plane royal × asleep, and a sum over it: two points that can be dragged say where
// it is 0 and where it is 1, and a bend folds it along the line of its zeros.
//
// Needs: page_model/model.js

course.define("fold", () => {
  const { el, choice, drawing, words, line, circle, path, draggable, describe } = course.live;
  const { newStatus, note, format, listOf } = course.live;
  const { activate } = course.model.parts;
  const SIZE = 300; // of the plane, which shows FROM to TO of both numbers
  const [FROM, TO, CELLS] = [-0.6, 1.6, 22];
  const STEP = 0.05; // of an arrow key
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
  const NEAR = 0.3; // the points are at least this far apart
  const SHARP = 4; // before the bend the sum is this many times as large

  // ---- calculations ----

  /** @type {Record<string, (sum: number) => number>} */
  const BENDS = {
    "no bend": (sum) => sum,
    ReLU: (sum) => Math.max(0, sum),
    GELU: (sum) => activate("gelu", SHARP * sum) / SHARP,
  };

  // The weighted sum at [x, y] that is 0 at `zero`, 1 at `one`, and does not change across their line
  /** @type {(at: number[], zero: number[], one: number[]) => number} */
  function sumAt([x, y], zero, one) {
    const [right, up] = [one[0] - zero[0], one[1] - zero[1]];
    return ((x - zero[0]) * right + (y - zero[1]) * up) / (right ** 2 + up ** 2);
  }

  // ---- the figure ----

  const UNIT = SIZE / (TO - FROM);
  /** @type {(at: number[]) => number[]} */
  const inPixels = ([x, y]) => [(x - FROM) * UNIT, (TO - y) * UNIT];

  function build({ people, due, zero, one }) {
    const points = [[...zero], [...one]];
    const bend = choice("Bend", Object.keys(BENDS), draw);
    const middles = listOf(CELLS, (i) => FROM + ((i + 0.5) * SIZE) / CELLS / UNIT);
    const places = middles.flatMap((x) => middles.map((y) => [x, y]));
    const width = SIZE / CELLS;
    const cells = places.map((at) => {
      const [x, y] = inPixels(at).map((n) => n - width / 2);
      return el("svg:rect", { x, y, width, height: width });
    });
    const drawn = el("svg:g");
    const svg = drawing(SIZE, SIZE, { class: "sx-plane" }, el("svg:g.sx-heights", cells), drawn);
    const grips = points.map((_, i) => grip(i));
    svg.append(...grips);
    const side = drawing(SIZE, 120, { class: "sx-side" });
    const status = newStatus();

    function moveTo(i, place) {
      const next = place.map((n) => Math.min(TO - 0.1, Math.max(FROM + 0.1, n)));
      const other = points[1 - i];
      if (Math.hypot(next[0] - other[0], next[1] - other[1]) < NEAR) return;
      points[i] = next;
      draw();
    }

    function grip(i) {
      const label = `where the sum is ${i}: arrow keys move it`;
      const about = { tabindex: 0, role: "img", "aria-label": label };
      const element = el("svg:g.sx-point", about, [circle(0, 0, 15), words(String(i), 0, 1)]);
      const drag = ({ x, y }) => moveTo(i, [FROM + x / UNIT, TO - y / UNIT]);
      draggable(svg, element, () => {}, drag);
      element.addEventListener("keydown", (event) => {
        const steps = KEYS[event.key];
        if (!steps) return;
        event.preventDefault();
        moveTo(i, [points[i][0] + STEP * steps[0], points[i][1] + STEP * steps[1]]);
      });
      return element;
    }

    function draw() {
      const bent = BENDS[Object.keys(BENDS)[bend.at()]];
      const sums = people.map(([, ...at]) => sumAt(at, points[0], points[1]));
      const heights = sums.map(bent);
      const dots = (i, x, y) => circle(x, y, 6, due[i] ? "sx-due" : "sx-not");
      for (const [i, cell] of cells.entries()) {
        const height = bent(sumAt(places[i], points[0], points[1]));
        cell.setAttribute("style", `--w: ${Math.min(1, Math.abs(height)).toFixed(3)}`);
        cell.setAttribute("class", height < 0 ? "sx-below" : "");
      }
      const [[x0, y0], [x1, y1]] = points;
      const [along, up] = [y0 - y1, x1 - x0]; // the line of the zeros, to the edges of the plane
      const edges = [FROM, TO].map((edge) => [(edge - x0) / along, (edge - y0) / up]);
      const least = [0, 1].map((axis) => Math.min(edges[0][axis], edges[1][axis]));
      const most = [0, 1].map((axis) => Math.max(edges[0][axis], edges[1][axis]));
      const ends = [Math.max(...least), Math.min(...most)].map((n) =>
        inPixels([x0 + n * along, y0 + n * up]),
      );
      const marks = people.map(([who, ...at], i) => {
        const [x, y] = inPixels(at);
        const text = format(heights[i], 2);
        return [dots(i, x, y), words(who, x, y + 22), words(text, x, y + 37)];
      });
      drawn.replaceChildren(el("svg:path.sx-zeros", { d: path(ends) }), ...marks.flat());
      for (const [i, element] of grips.entries())
        element.setAttribute("transform", `translate(${inPixels(points[i])})`);
      const seen = (sum) => [SIZE / 2 + 65 * sum, 90 - 45 * bent(sum)]; // from the side
      side.replaceChildren(
        line(0, 90, SIZE, 90, "sx-axis"),
        el("svg:path.sx-curve", { d: path(listOf(81, (i) => seen((i - 40) / 20))) }),
        ...sums.map((sum, i) => dots(i, ...seen(sum))),
        words("the sum →", 262, 108),
      );
      const errors = heights.map((h, i) => Math.abs(h - due[i]));
      const worst = errors.indexOf(Math.max(...errors));
      const got = `“${people[worst][0]}” gets ${format(heights[worst], 2)}`;
      status.textContent =
        errors[worst] < 0.05
          ? "All four get what is due, within 0.05."
          : `Farthest off: ${got} instead of ${due[worst]}.`;
      const shown = people.map(([who], i) => `${who} ${format(heights[i], 2)}`);
      describe(svg, `A plane with four people: ${shown.join("; ")}`);
      describe(side, "The bend from the side: what it makes of the sum of each of the four");
    }

    draw();
    const about = note(
      "To the right: royal. Up: asleep. Drag 0 and 1. GELU has a four times sharper corner here.",
    );
    const plane = el("div.sx-main.sx-fold", [svg, about]);
    return el("div.sx-columns", [plane, el("div.sx-main.sx-fold", bend.element, side, status)]);
  }

  course.figures.fold = build;
  return { sumAt, BENDS };
});
