// What models write, under one slider: at each stop the text, its loss on a curve of all stops, and
// which character is expected after an opening. Chapter 04 moves through the steps of one run,
// chapter 10 from model to model.

course.define("textSlider", () => {
  const { el, sliderOver, player, title, note, table, bar, format, visible } = course.live;
  const { drawing, words, way, describe } = course.live;
  const WIDTH = 340;
  const LEFT = 34;
  const RIGHT = 318;
  const TOP = 14;
  const BOTTOM = 150;
  const HEIGHT = 190;

  // ---- calculations ----

  // Where a loss stands from top to bottom
  const heightOf = (loss, lowest, highest) =>
    BOTTOM - ((loss - lowest) / (highest - lowest)) * (BOTTOM - TOP);

  // The probability that a network gives to the right character when its loss is this
  const shareOf = (loss) => Math.exp(-loss);

  // ---- the figure ----

  function build(settings) {
    const { prompt, opening, frames, digits, lowest } = settings;
    const [lineName, level] = settings.line;
    const last = frames.length - 1;
    const highest = Math.max(level, ...frames.map(({ loss }) => loss));
    const x = ({ at }) => LEFT + at * (RIGHT - LEFT);
    const y = (loss) => heightOf(loss, lowest, highest);
    const stops = frames.map(({ label }) => label);
    const stop = sliderOver(settings.slider, stops, draw, settings.plays ? last : 0);
    const play = player(stop, () => (stop.get() + 1) % frames.length, "Next stop");
    if (settings.plays) stop.element.append(play.button);
    const text = el("p.sx-text", { tabindex: 0, role: "group" });
    describe(text, `What ${settings.writer} writes`);
    const status = el("p.sx-status", { role: "status" });
    const dot = el("svg:circle", { r: 6 });
    const points = frames.map((frame) => `${x(frame)},${y(frame.loss)}`).join(" ");
    const curve = drawing(WIDTH, HEIGHT, { class: "sx-curve" }, [
      way(`M${LEFT} 4V${BOTTOM}H${WIDTH - 6}`, "sx-frame"),
      settings.marks.map((loss) => words(loss, LEFT - 7, y(loss) + 4, "end")),
      frames.map((frame) => words(frame.tick, x(frame), BOTTOM + 16)),
      words(settings.axis, (LEFT + RIGHT) / 2, HEIGHT - 5),
      way(`M${LEFT} ${y(level)}H${RIGHT}`, "sx-guessing"),
      words(lineName, lowest ? LEFT + 6 : RIGHT, y(level) + 16, lowest ? "start" : "end"),
      el("svg:polyline", { points, class: "sx-path" }),
      dot,
    ]);
    const expected = el("div");

    function draw() {
      play.moved();
      const frame = frames[stop.get()];
      text.replaceChildren(el("b", prompt), frame.text);
      dot.setAttribute("cx", x(frame));
      dot.setAttribute("cy", y(frame.loss));
      const loss = format(frame.loss, digits);
      status.textContent =
        `${frame.told} the loss is ${loss}, as if it gave ` +
        `${(100 * shareOf(frame.loss)).toFixed(0)} % to each character that really comes.`;
      describe(
        curve,
        `The loss on the validation text, from ${format(frames[0].loss, digits)} to ` +
          `${format(frames[last].loss, digits)}; marked: ${loss} ` +
          `${frame.told[0].toLowerCase()}${frame.told.slice(1)}. ` +
          `A dashed line: ${lineName}, ${format(level, digits)}.`,
      );
      if (!opening) return;
      const rows = frame.next.map(([c, p]) => [visible(c), format(p, 2), bar(p)]);
      expected.replaceChildren(
        title(`What comes after “${opening}”?`),
        table(["", "p", ""], rows, { class: "sx-bars" }),
        note("The characters that it expects most, and their probabilities."),
      );
    }

    draw();
    return el("div.sx-text-slider", [
      stop.element,
      el("div.sx-columns", [
        el("div.sx-main", [text]),
        el("div.sx-detail", [status, curve, expected]),
      ]),
    ]);
  }

  course.figures.first_sample = build;
  course.figures.rungs_write = build;
  return { heightOf, shareOf };
});
