// A network that learns to write: one slider over the steps of a stored run, under it the text
// that it writes at this step, its loss, and which character it expects after an opening.
"use strict";

scratchformerLive.figures.first_sample = (() => {
  const { el, slider, title, note, table, bar, format, visible } = scratchformerLive;
  const WIDTH = 340;
  const LEFT = 34;
  const RIGHT = 318;
  const TOP = 14;
  const BOTTOM = 150;
  const HEIGHT = 190;

  // ---- calculations ----

  // Where steps stand from left to right, 0 to 1: the first ones need more room than the last
  const place = (step, last) => Math.log1p(step) / Math.log1p(last);

  // The probability that a network gives to the right character when its loss is this
  const shareOf = (loss) => Math.exp(-loss);

  // ---- the figure ----

  const thousands = (step) => step.toLocaleString("en-US");

  function build({ prompt, opening, guessing, frames }) {
    const last = frames.length - 1;
    const highest = Math.max(guessing, ...frames.map(({ loss }) => loss));
    const x = (step) => LEFT + place(step, frames[last].step) * (RIGHT - LEFT);
    const y = (loss) => BOTTOM - (loss / highest) * (BOTTOM - TOP);
    const step = slider(
      "Steps of training",
      { min: 0, max: last, step: 1, value: 0, show: (i) => thousands(frames[i].step) },
      draw,
    );
    const text = el("p", { class: "sx-text", tabindex: 0, role: "group" });
    text.setAttribute("aria-label", "What the network writes");
    const status = el("p", { class: "sx-status", role: "status" });
    const dot = el("svg:circle", { r: 6 });
    const curve = drawing();
    const expected = el("div");

    function drawing() {
      const label = (words, x, y, anchor) => el("svg:text", { x, y, "text-anchor": anchor }, words);
      const points = frames.map((frame) => `${x(frame.step)},${y(frame.loss)}`).join(" ");
      return el("svg:svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "sx-curve", role: "img" }, [
        el("svg:path", { d: `M${LEFT} 4V${BOTTOM}H${WIDTH - 6}`, class: "sx-frame" }),
        [1, 2, 3, 4].map((loss) => label(loss, LEFT - 7, y(loss) + 4, "end")),
        frames
          .filter((_, i) => i !== 1 && i !== last - 1) // too near to their neighbours
          .map((frame) => label(thousands(frame.step), x(frame.step), BOTTOM + 16, "middle")),
        label("step", (LEFT + RIGHT) / 2, HEIGHT - 5, "middle"),
        el("svg:path", { d: `M${LEFT} ${y(guessing)}H${RIGHT}`, class: "sx-guessing" }),
        label("knows nothing", RIGHT, y(guessing) + 16, "end"),
        el("svg:polyline", { points, class: "sx-path" }),
        dot,
      ]);
    }

    function draw() {
      const frame = frames[step.get()];
      text.replaceChildren(el("b", {}, prompt), frame.text);
      dot.setAttribute("cx", x(frame.step));
      dot.setAttribute("cy", y(frame.loss));
      const loss = format(frame.loss, 2);
      const steps = `${thousands(frame.step)} ${frame.step === 1 ? "step" : "steps"}`;
      status.textContent =
        `After ${steps} the loss is ${loss}, as if it gave ` +
        `${(100 * shareOf(frame.loss)).toFixed(0)} % to each character that really comes.`;
      curve.setAttribute(
        "aria-label",
        `The loss on the validation text, from ${format(frames[0].loss, 2)} to ` +
          `${format(frames[last].loss, 2)}; marked: ${loss} after ${steps}.`,
      );
      const rows = frame.next.map(([c, p]) => [visible(c), format(p, 2), bar(p)]);
      expected.replaceChildren(
        title(`What comes after “${opening}”?`),
        table(["", "p", ""], rows, { class: "sx-bars" }),
        note("The characters that it expects most, and their probabilities."),
      );
    }

    draw();
    return el("div", {}, [
      step.element,
      el("div", { class: "sx-columns" }, [
        el("div", { class: "sx-main" }, [text]),
        el("div", { class: "sx-detail" }, [status, curve, expected]),
      ]),
    ]);
  }

  if (typeof module !== "undefined") module.exports = { place, shareOf }; // Node
  return build;
})();
