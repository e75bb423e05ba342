// Three forecasts to set, which the chapter's first program scores. And two shapes to set: a forecast
// and what was measured, each a row or a column of one to four numbers. The copies that broadcasting
// makes are drawn, and the difference, and its score is told.

course.define("ch00_primer", () => {
  const { el, choice, newSwitch, note, newStatus, drawing, words, describe } = course.live;
  const { format, sum, listOf, slider } = course.live;
  const [CELL, STEP, TOP] = [30, 160, 52]; // of the drawing: a cell, from table to table, the first row
  const SIZES = [1, 2, 3, 4];

  // ---- calculations ----

  const tuple = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
  const shapeOf = ({ size, keepdim }) => (keepdim ? [size, 1] : [size]);

  // A tensor without copies
  const given = (numbers, { size, keepdim }) =>
    keepdim ? numbers.slice(0, size).map((number) => [number]) : [numbers.slice(0, size)];

  // What PyTorch makes of `forecast - measured`: the shape and the rows of the difference, and the
  // mean of the squares; or its message where the shapes do not fit
  function subtract(numbers, forecast, measured) {
    const [a, b] = [shapeOf(forecast), shapeOf(measured)];
    const at = (side, i, j) => numbers[side.size === 1 ? 0 : side.keepdim ? i : j];
    const axes = Math.max(a.length, b.length);
    const pad = (shape) => [...Array(axes - shape.length).fill(1), ...shape];
    const [left, right] = [pad(a), pad(b)];
    const wrong = left.findLastIndex((n, i) => n !== right[i] && n !== 1 && right[i] !== 1);
    if (wrong >= 0) {
      const sizes = `tensor a (${left[wrong]}) must match the size of tensor b (${right[wrong]})`;
      const error = `The size of ${sizes} at non-singleton dimension ${wrong}`;
      const [said, was] = [forecast, measured].map((side) => given(numbers, side));
      return { error, shape: [], said, was, rows: [], loss: NaN };
    }
    const shape = left.map((n, i) => Math.max(n, right[i]));
    const [height, width] = axes === 2 ? shape : [1, shape[0]];
    const table = (side) => listOf(height, (i) => listOf(width, (j) => at(side, i, j)));
    const [said, was] = [table(forecast), table(measured)];
    const rows = said.map((row, i) => row.map((number, j) => number - was[i][j]));
    const loss = sum(rows.flat().map((d) => d * d)) / (height * width);
    return { error: "", shape, said, was, rows, loss };
  }

  // What the chapter's program says of a forecast: a column of numbers, while the measured are a row
  function score(said, measured) {
    const squares = said.flatMap((a) => measured.map((b) => (a - b) ** 2));
    return sum(squares) / squares.length;
  }

  // ---- the figures ----

  // A forecast of one's own
  function buildForecast({ measured, rival }) {
    const status = newStatus();
    const days = measured.map((value, i) =>
      slider(`Day ${i + 1}`, { min: 14, max: 26, value, show: (x) => `${x} °C` }, tell),
    );
    function tell() {
      const said = days.map((day) => day.get());
      const right = said.filter((number, i) => number === measured[i]).length;
      status.textContent =
        `${right} of ${measured.length} days right. Your loss is ${format(score(said, measured), 1)}; ` +
        `the rival, who is right on one day, has ${format(rival, 1)}.`;
    }
    tell();
    return el("div.sx-forecast", [
      ...days.map((day) => day.element),
      status,
      note(`Measured: ${measured.join(", ")} °C.`),
    ]);
  }

  // A table at one of three places; look(i, j) is the class of a cell
  function cells(place, name, rows, look) {
    const left = 10 + place * STEP;
    return [
      words(name, left, 18, "start"),
      ...rows.flatMap((row, i) =>
        row.flatMap((number, j) => {
          const [x, y] = [left + j * CELL, TOP + i * CELL];
          const box = { x, y, width: CELL, height: CELL, class: look(i, j, number) };
          return [el("svg:rect", box), words(format(number, 0), x + CELL / 2, y + 21)];
        }),
      ),
    ];
  }

  function build({ numbers, size }) {
    const svg = drawing(450, 226, { class: "sx-shapes" });
    const status = newStatus();
    const sides = ["forecast", "measured"].map((name) => {
      const sizes = choice(`Numbers in ${name}`, SIZES.map(String), draw, size - 1);
      const keep = newSwitch(`keepdim of ${name}`, draw);
      const read = () => ({ size: SIZES[sizes.at()], keepdim: keep.box.checked });
      return {
        name,
        read,
        element: el("div.sx-side-of", el("b", name), sizes.element, keep.element),
      };
    });

    function draw() {
      const [forecast, measured] = sides.map(({ read }) => read());
      const made = subtract(numbers, forecast, measured);
      const shapes = [forecast, measured].map((side) => tuple(shapeOf(side)));
      const drawn = [forecast, measured].flatMap((side, place) => {
        const isCopy = (i, j) => (side.keepdim ? j >= 1 : i >= 1) || (side.size === 1 && i + j > 0);
        const rows = [made.said, made.was][place];
        const kind = ["sx-query", "sx-key"][place];
        return [
          cells(place, sides[place].name, rows, (i, j) => (isCopy(i, j) ? "sx-copy" : kind)),
          words(shapes[place], 10 + place * STEP, 42, "start"),
        ].flat();
      });
      const zero = (_i, _j, number) => (number ? "sx-off" : "sx-zero");
      const result = made.error
        ? [words("error", 10 + 2 * STEP, 18, "start")]
        : [
            ...cells(2, "difference", made.rows, zero),
            words(tuple(made.shape), 10 + 2 * STEP, 42, "start"),
          ];
      const signs = ["−", "="].map((sign, place) => words(sign, (place + 1) * STEP - 5, 42));
      svg.replaceChildren(...drawn, ...signs, ...result);
      const same = shapes[0] === shapes[1];
      status.textContent = made.error
        ? `RuntimeError: ${made.error}`
        : `${shapes[0]} − ${shapes[1]} is ${tuple(made.shape)}: ${made.rows.flat().length} ` +
          `differences, and the mean of their squares is ${format(made.loss, 1)}.` +
          (same ? "" : " The shapes differ, so PyTorch's mse_loss would warn.");
      describe(
        svg,
        `${shapes[0]} minus ${shapes[1]}. ` +
          (made.error
            ? "An error."
            : `The difference: ${made.rows.map((r) => r.join(", ")).join("; ")}.`),
      );
    }

    draw();
    return el("div.sx-two", [
      el(
        "div.sx-two-sides",
        sides.map(({ element }) => element),
      ),
      svg,
      status,
      note("Cells with a dashed border are copies. Zeros are marked."),
    ]);
  }

  course.figures.two_shapes = build;
  course.figures.own_forecast = buildForecast;
  return { subtract, score };
});
