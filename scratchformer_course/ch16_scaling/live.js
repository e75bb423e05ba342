// A law for the loss, with its doubt: the runs that it was fitted to, the laws of a bootstrap,
// what it wants for a budget, and the runs that tested it.
"use strict";

scratchformerLive.figures.law = (() => {
  const { el, newId, format, slider, button, note, table, scrolling } = scratchformerLive;
  const COLOURS = ["query", "key", "value", "stream"]; // of the sizes, from the smallest
  const STEPS = 60; // points of a curve
  const STAR = 4; // the shape of what was measured to test the law

  // ---- the law -----------------------------------------------------------------------------

  const loss = ([E, A, alpha, B, beta], N, D) => E + A / N ** alpha + B / D ** beta;

  // The size of least loss for 6 N D operations; NaN for a law without one of the two prices
  function best([, A, alpha, B, beta], budget) {
    if (!(A > 0 && alpha > 0 && B > 0 && beta > 0)) return NaN;
    return (((alpha * A) / (beta * B)) * (budget / 6) ** beta) ** (1 / (alpha + beta));
  }

  // The range that holds 95 % of the values: percentiles 2.5 and 97.5, straight between two values
  function interval(values) {
    const sorted = values.filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
    return [0.025, 0.975].map((p) => {
      const place = p * (sorted.length - 1);
      const low = Math.floor(place);
      const high = Math.min(low + 1, sorted.length - 1);
      return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
    });
  }

  // The loss of one run: each resampled curve, missed by as much as the fit has missed a run
  const forecast = ({ resampled, missed }, N, D) =>
    interval(resampled.map((law, i) => loss(law, N, D) * Math.exp(missed[i])));

  const sizes = ({ resampled }, budget) => interval(resampled.map((law) => best(law, budget)));

  // Whether N and D lie between the smallest and the largest of the runs
  function inside({ runs }, N, D) {
    const between = (x, all) => Math.min(...all) <= x && x <= Math.max(...all);
    return [
      between(
        N,
        runs.map((run) => run[0]),
      ),
      between(
        D,
        runs.map((run) => run[1]),
      ),
    ];
  }

  // ---- numbers in words --------------------------------------------------------------------

  const grouped = (x) => Number(x.toPrecision(3)).toLocaleString("en-US");
  const exact = (x) => x.toLocaleString("en-US");
  const billions = (x) => `${grouped(x / 1e9)} billion`;
  const short = (x) =>
    x >= 1e6 ? `${Number((x / 1e6).toPrecision(2))} M` : `${Math.round(x / 1e3)} k`;
  const two = (x) => format(x, 2);
  const range = ([low, high], say) => `${say(low)} to ${say(high)}`;

  // ---- a chart -----------------------------------------------------------------------------

  // Axes: x is logarithmic. at(x, y) gives the place of a point; what lies outside is not drawn
  function chart({ x, y, xTicks, yTicks, xName, yName }) {
    const [left, right, top, bottom] = [52, 354, 8, 236];
    const px = (v) => left + ((right - left) * Math.log(v / x[0])) / Math.log(x[1] / x[0]);
    const py = (v) => bottom - ((bottom - top) * (v - y[0])) / (y[1] - y[0]);
    const words = (text, x, y, anchor, more = {}) =>
      el("svg:text", { x, y, "text-anchor": anchor, ...more }, text);
    const clip = newId("clip");
    const inner = el("svg:g", { "clip-path": `url(#${clip})` });
    const outer = el("svg:g");
    const svg = el("svg:svg", { viewBox: "0 0 360 284", role: "img", class: "sx-chart" }, [
      el("svg:clipPath", { id: clip }, [
        el("svg:rect", { x: left, y: top, width: right - left, height: bottom - top }),
      ]),
      el("svg:path", { d: `M${left} ${top}V${bottom}H${right}`, class: "sx-frame" }),
      xTicks.map((v) => [
        words(short(v), px(v), bottom + 18, "middle"),
        el("svg:path", { d: `M${px(v)} ${bottom}v4`, class: "sx-frame" }),
      ]),
      yTicks.map((v) => words(String(v), left - 6, py(v) + 5, "end")),
      words(xName, (left + right) / 2, bottom + 40, "middle"),
      words(yName, 12, (top + bottom) / 2, "middle", {
        transform: `rotate(-90 12 ${(top + bottom) / 2})`,
      }),
      inner,
      outer,
    ]);
    const curve = (f, from, to, attributes) => {
      const points = Array.from({ length: STEPS + 1 }, (_, i) => {
        const v = from * (to / from) ** (i / STEPS);
        return `${px(v).toFixed(1)} ${py(Math.min(f(v), 2 * y[1])).toFixed(1)}`;
      });
      return el("svg:path", { d: `M${points.join("L")}`, fill: "none", ...attributes });
    };
    // A mark of its own shape for each size: a circle, a square, a triangle, a diamond; and a star
    const shapes = [
      "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
      "M-4-4h8v8h-8z",
      "M0-5L5 4H-5z",
      "M0-5.5L5.5 0L0 5.5L-5.5 0z",
      "M0-8L2-2.7L7.6-2.5L3.2 1L4.7 6.5L0 3.3L-4.7 6.5L-3.2 1L-7.6-2.5L-2-2.7z",
    ];
    const mark = (v, w, shape, attributes) =>
      el("svg:path", {
        d: shapes[shape],
        transform: `translate(${px(v).toFixed(1)} ${py(w).toFixed(1)})`,
        ...attributes,
      });
    const up = (v, [low, high], attributes) =>
      el("svg:path", {
        ...attributes,
        d: `M${px(v) - 5} ${py(high)}h10m-5 0V${py(low)}m-5 0h10`,
        fill: "none",
      });
    const across = ([low, high], w, attributes) =>
      el("svg:path", {
        ...attributes,
        d: `M${px(low)} ${py(w) - 5}v10m0-5H${px(high)}m0-5v10`,
        fill: "none",
      });
    return { svg, inner, outer, px, py, words, curve, mark, up, across };
  }

  const stroke = (i) => ({ stroke: `var(--sx-${COLOURS[i]})`, "stroke-width": 2 });

  // The least loss possible, as a dashed line in a chart
  function floorLine(c, floor, [from, to]) {
    return [
      c.curve(() => floor, from, to, { class: "sx-floor" }),
      c.words("best possible", c.px(from) + 5, c.py(floor) + 16, "start"),
    ];
  }

  // ---- the figure --------------------------------------------------------------------------

  function build(settings) {
    const { runs, law, resampled, floor, tested, larger, budgets } = settings;
    const all = [...new Set(runs.map((run) => run[0]))].sort((a, b) => a - b);
    const texts = [...new Set(runs.map((run) => run[1]))].sort((a, b) => a - b);
    const [ends, highest] = [
      [texts[0] / 1.25, texts[texts.length - 1] * 1.4],
      1.1 * Math.max(...runs.map((run) => run[2])),
    ];
    let [drawAll, revealed] = [false, false];

    // left: the runs and the law
    const many = button("", () => {
      drawAll = !drawAll;
      draw();
    });
    const reveal = button("", () => {
      revealed = !revealed;
      draw();
    });
    const runsAt = el("div");
    const told = el("p", { class: "sx-status", role: "status" });
    function drawRuns() {
      const c = chart({
        x: ends,
        y: [0, highest],
        xTicks: texts,
        yTicks: [0, 0.5, 1],
        xName: "characters read, D",
        yName: "loss (nats)",
      });
      const between = forecast(settings, larger[0], larger[1]);
      all.forEach((N, i) => {
        if (drawAll) {
          c.inner.append(
            ...resampled.map((each) =>
              c.curve((D) => loss(each, N, D), ...ends, { ...stroke(i), class: "sx-faint" }),
            ),
          );
        }
      });
      c.inner.append(...floorLine(c, floor, ends));
      all.forEach((N, i) => {
        c.inner.append(c.curve((D) => loss(law, N, D), ...ends, stroke(i)));
        for (const [, D, was] of runs.filter((run) => run[0] === N)) {
          const look = { ...stroke(i), fill: "Canvas", "stroke-width": 1.8 };
          c.inner.append(c.mark(D, was, i, look));
        }
        const y = 22 + 19 * i;
        c.outer.append(
          c.words(exact(N), 334, y, "end"),
          el("svg:g", { transform: `translate(345 ${y - 5})` }, [
            el("svg:path", {
              d: c.mark(1, 1, i, {}).getAttribute("d"),
              fill: "none",
              ...stroke(i),
            }),
          ]),
        );
      });
      const beside = larger[1] * 1.12; // beside the runs, or they would hide each other
      c.outer.append(
        c.up(beside, between, { class: "sx-doubt" }),
        c.mark(beside, loss(law, larger[0], larger[1]), 0, { class: "sx-hollow" }),
      );
      if (revealed) {
        c.outer.append(c.mark(beside * 1.08, larger[2], STAR, { class: "sx-measured" }));
      }
      const says = `${two(loss(law, larger[0], larger[1]))} (${range(between, two)})`;
      const measured = revealed ? ` Its measured loss is ${two(larger[2])} (star).` : "";
      told.textContent =
        `A larger model has ${exact(larger[0])} parameters. The law forecasts ` +
        `${says}: the ring and its whisker, beside the runs.${measured}`;
      c.svg.setAttribute(
        "aria-label",
        `Loss against characters read, for ${all.length} sizes: ` +
          "marks are runs, lines the fitted law. " +
          `${drawAll ? `Faint lines are ${resampled.length} resampled laws. ` : ""}` +
          `${told.textContent} The best possible loss is ${two(floor)}.`,
      );
      runsAt.replaceChildren(c.svg);
      many.setAttribute("aria-pressed", drawAll);
      many.textContent = `${drawAll ? "Hide" : "Draw"} the ${resampled.length} resampled laws`;
      reveal.setAttribute("aria-pressed", revealed);
      reveal.textContent = `${revealed ? "Hide" : "Reveal"} the larger model`;
    }

    // right: a budget, spent on every size
    const first = budgets.indexOf(tested[0][0]);
    const spend = slider(
      "Budget",
      { min: 0, max: budgets.length - 1, step: 1, value: first, show: (i) => billions(budgets[i]) },
      () => drawBudget(),
    );
    const jumps = tested.map(([budget]) =>
      button(billions(budget), () => spend.set(budgets.indexOf(budget))),
    );
    const bowlAt = el("div");
    const answer = el("div", { role: "status" });
    const span = [1e3, 3e6];
    const tallest = 2;
    function drawBudget() {
      const budget = budgets[spend.get()];
      const text = (N) => budget / 6 / N;
      const N = best(law, budget);
      const D = text(N);
      const between = forecast(settings, N, D);
      const chosen = sizes(settings, budget);
      const c = chart({
        x: span,
        y: [0, tallest],
        xTicks: [1e3, 1e4, 1e5, 1e6],
        yTicks: [0, 0.5, 1, 1.5, 2],
        xName: "parameters, N",
        yName: "loss (nats)",
      });
      const ours = (each) => (n) => loss(each, n, text(n));
      if (drawAll) {
        c.inner.append(
          ...resampled.map((each) => c.curve(ours(each), ...span, { class: "sx-faint sx-ink" })),
        );
      }
      const measured = tested.find((test) => test[0] === budget)?.[1] ?? [];
      c.inner.append(
        ...floorLine(c, floor, span),
        c.curve(ours(law), ...span, { stroke: "currentColor", "stroke-width": 2 }),
        c.across(chosen, 0.1, { class: "sx-doubt" }),
        c.up(N, between, { class: "sx-doubt" }),
        c.mark(N, loss(law, N, D), 0, { class: "sx-hollow" }),
        ...measured.flatMap(([n, all]) =>
          all.map((was) => c.mark(n, was, STAR, { class: "sx-measured" })),
        ),
      );
      const [sizeIn, textIn] = inside(settings, N, D);
      const beyond = [sizeIn ? null : "size", textIn ? null : "text"].filter(Boolean).join(" and ");
      const size = `${grouped(N)} (${range(chosen, grouped)})`;
      const says = `${two(loss(law, N, D))} (${range(between, two)})`;
      c.svg.setAttribute(
        "aria-label",
        `Loss by the law for every size at ${billions(budget)} ` +
          `operations, a bowl. It is least at ${size} parameters: ${says} nats. ` +
          measured
            .map(([n, all]) => `Measured at ${exact(n)}: ${all.map(two).join(", ")}.`)
            .join(" "),
      );
      bowlAt.replaceChildren(c.svg);
      jumps.forEach((jump, i) => {
        jump.setAttribute("aria-pressed", tested[i][0] === budget);
      });
      answer.replaceChildren(
        table(
          ["", "by the law", "95 %"],
          [
            ["best size, N", grouped(N), range(chosen, grouped)],
            ["text, D", grouped(D), ""],
            ["loss", two(loss(law, N, D)), range(between, two)],
          ],
          { class: "sx-answer" },
        ),
        note(
          beyond
            ? `Its ${beyond} ${beyond.includes(" ") ? "lie" : "lies"} beyond the runs ` +
                "of the fit."
            : "Size and text lie among the runs of the fit.",
        ),
        measured.length
          ? table(
              ["parameters", "the law says", "measured (stars)"],
              measured.map(([n, all]) => [exact(n), two(ours(law)(n)), all.map(two).join(", ")]),
            )
          : note("No model was trained at this budget."),
      );
    }

    function draw() {
      drawRuns();
      drawBudget();
    }
    draw();
    const allRuns = scrolling("sx-scroll", "All runs");
    allRuns.append(
      table(
        ["parameters", "characters", "measured", "the law says"],
        runs.map(([N, D, was]) => [exact(N), exact(D), two(was), two(loss(law, N, D))]),
      ),
    );
    return el("div", { class: "sx-law" }, [
      el("div", { class: "sx-bar" }, many),
      el("div", { class: "sx-columns" }, [
        el("section", { class: "sx-half" }, [
          el("p", { class: "sx-title" }, "The runs and the law"),
          runsAt,
          told,
          el("div", { class: "sx-bar" }, reveal),
          el("details", {}, el("summary", {}, "All runs as a table"), allRuns),
        ]),
        el("section", { class: "sx-half" }, [
          el("p", { class: "sx-title" }, "One budget, every size"),
          bowlAt,
          spend.element,
          el("div", { class: "sx-choice" }, [
            el("span", {}, "Tested"),
            el("span", { class: "sx-choices" }, jumps),
          ]),
          answer,
        ]),
      ]),
    ]);
  }

  return Object.assign(build, { loss, best, interval, forecast, sizes, inside });
})();
if (typeof module !== "undefined") module.exports = scratchformerLive.figures.law; // Node
