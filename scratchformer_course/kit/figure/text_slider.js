// What models write, under one slider: at each stop the text and, where there is a curve, its loss.
// Chapter 04 moves through the steps of one run, chapter 10 from model to model: it has no curve, but
// the text of the last stop beside the one of the slider.

course.define("textSlider", () => {
  const { el, sliderOver, player, format, drawing, words, way, describe } = course.live;
  const { newStatus, region } = course.live;
  const WIDTH = 340;
  const LEFT = 34;
  const RIGHT = 318;
  const TOP = 14;
  const BOTTOM = 150;
  const HEIGHT = 190;

  // ---- calculations ----

  // Where a loss stands from top to bottom
  const heightOf = (loss, highest) => BOTTOM - (loss / highest) * (BOTTOM - TOP);

  // The probability that a network gives to the right character when its loss is this
  const shareOf = (loss) => Math.exp(-loss);

  // ---- the figure ----

  function build(settings) {
    const { prompt, frames } = settings;
    const last = frames.length - 1;
    const stops = frames.map(({ label }) => label);
    const stop = sliderOver(settings.slider, stops, draw, settings.plays ? last : 0);
    const play = player(stop, () => (stop.get() + 1) % frames.length, "Next stop");
    if (settings.plays) stop.element.append(play.button);
    const textOf = (writer) => region("p.sx-text", `What ${writer} writes`);
    const text = textOf(settings.writer);
    const status = newStatus();
    const curve = settings.line && curveOf(settings);
    const best = settings.compares && lastOf(frames.at(-1), prompt, textOf);

    function draw() {
      play.moved();
      const frame = frames[stop.get()];
      text.replaceChildren(el("b", prompt), frame.text);
      status.textContent = curve ? curve.mark(frame) : frame.told;
    }

    draw();
    return el("div.sx-text-slider", [
      stop.element,
      el(
        "div.sx-columns",
        best
          ? [el("div", [status, text]), el("div", [el("p.sx-status", best.about), best.text])]
          : [el("div.sx-main", [text]), el("div.sx-detail", [status, curve ? curve.element : ""])],
      ),
    ]);
  }

  // What is written at the last stop, and what is told of it
  function lastOf({ label, told, text }, prompt, textOf) {
    const written = textOf(label);
    written.append(el("b", prompt), text);
    return { text: written, about: `${label}: ${told[0].toLowerCase()}${told.slice(1)}` };
  }

  // The losses of all stops; `mark` marks one, and returns the sentence about it
  function curveOf({ frames, digits, line, marks, axis }) {
    const [lineName, level] = line;
    const highest = Math.max(level, ...frames.map(({ loss }) => loss));
    const x = ({ at }) => LEFT + at * (RIGHT - LEFT);
    const y = (loss) => heightOf(loss, highest);
    const dot = el("svg:circle", { r: 6 });
    const points = frames.map((frame) => `${x(frame)},${y(frame.loss)}`).join(" ");
    const element = drawing(WIDTH, HEIGHT, { class: "sx-curve" }, [
      way(`M${LEFT} 4V${BOTTOM}H${WIDTH - 6}`, "sx-frame"),
      marks.map((loss) => words(loss, LEFT - 7, y(loss) + 4, "end")),
      frames.map((frame) => words(frame.tick, x(frame), BOTTOM + 16)),
      words(axis, (LEFT + RIGHT) / 2, HEIGHT - 5),
      way(`M${LEFT} ${y(level)}H${RIGHT}`, "sx-guessing"),
      words(lineName, RIGHT, y(level) + 16, "end"),
      el("svg:polyline", { points, class: "sx-path" }),
      dot,
    ]);
    const [first, end] = [frames[0], frames.at(-1)].map(({ loss }) => format(loss, digits));

    function mark(frame) {
      dot.setAttribute("cx", x(frame));
      dot.setAttribute("cy", y(frame.loss));
      const loss = format(frame.loss, digits);
      describe(
        element,
        `The loss on the validation text, from ${first} to ${end}; marked: ${loss} ` +
          `${frame.told[0].toLowerCase()}${frame.told.slice(1)}. ` +
          `A dashed line: ${lineName}, ${format(level, digits)}.`,
      );
      return (
        `${frame.told} the loss is ${loss}, as if it gave ` +
        `${(100 * shareOf(frame.loss)).toFixed(0)} % to each character that really comes.`
      );
    }

    return { element, mark };
  }

  course.figures.first_sample = build;
  course.figures.rungs_write = build;
});
