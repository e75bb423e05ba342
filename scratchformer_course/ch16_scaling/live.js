// A budget to spend: the reader chooses a size, the law says what it reaches, and what of the
// budget the best size would not have needed.

course.define("ch16_scaling", () => {
  const { el, newId, sliderOver, button, note, table, listOf, newStatus, drawing } = course.live;
  const { words, way, path, describe } = course.live;
  const POINTS = 80; // of the curve

  // ---- the law -----------------------------------------------------------------------------

  const loss = ([E, N0, alpha, D0, beta, gamma], N, D) =>
    E + ((N0 / N) ** alpha + (D0 / D) ** beta) ** gamma;

  // The size of least loss for 6 N D operations
  const best = ([, N0, alpha, D0, beta], budget) =>
    ((alpha / beta) * N0 ** alpha * (budget / 6 / D0) ** beta) ** (1 / (alpha + beta));

  const reached = (law, budget, N) => loss(law, N, budget / 6 / N);

  // The share of the budget that the best size does not need for the loss of size N
  function wasted(law, budget, N) {
    const wanted = reached(law, budget, N);
    let [low, high] = [Math.log(budget) - 30, Math.log(budget)];
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      const less = Math.exp(middle);
      if (reached(law, less, best(law, less)) > wanted) low = middle;
      else high = middle;
    }
    return Math.max(0, 1 - Math.exp(high) / budget);
  }

  // ---- numbers in words --------------------------------------------------------------------

  const grouped = (x) => Number(x.toPrecision(3)).toLocaleString("en-US");
  const billions = (x) => `${grouped(x / 1e9)} billion`;
  const millions = (x) => `${Number((x / 1e6).toPrecision(2))} million`;
  const nats = (x) => x.toFixed(3);
  const percent = (x) => `${Math.round(100 * x)} %`;

  // ---- the chart: loss against size, for one budget -------------------------------------------

  function chart({ sizes, low, high }) {
    const [left, right, top, bottom] = [50, 392, 10, 226];
    const [from, to] = [sizes[0], sizes[sizes.length - 1]];
    const px = (N) => left + ((right - left) * Math.log(N / from)) / Math.log(to / from);
    const py = (v) => bottom - ((bottom - top) * (v - low)) / (high - low);
    const clip = newId("clip");
    const inner = el("svg:g", { "clip-path": `url(#${clip})` });
    const ticks = [0, 1, 2, 3, 4].map((i) => low + ((high - low) * i) / 4);
    const svg = drawing(400, 272, { class: "sx-chart" }, [
      el("svg:clipPath", { id: clip }, [
        el("svg:rect", { x: left, y: top, width: right - left, height: bottom - top }),
      ]),
      way(`M${left} ${top}V${bottom}H${right}`, "sx-frame"),
      [1e4, 1e5].map((N) => [
        words(`${N / 1000} k`, px(N), bottom + 18),
        way(`M${px(N)} ${bottom}v4`, "sx-frame"),
      ]),
      ticks.map((v) => words(v.toFixed(2), left - 6, py(v) + 5, "end")),
      words("parameters, N", (left + right) / 2, bottom + 38),
      words("loss", left + 8, top + 12, "start"),
      inner,
    ]);
    const curve = (f) => {
      const points = listOf(POINTS + 1, (i) => {
        const N = from * (to / from) ** (i / POINTS);
        return [px(N), py(Math.min(f(N), 2 * high))];
      });
      return way(path(points), "sx-curve");
    };
    const shapes = {
      tried: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
      over: "M0-7L6 4H-6z", // higher than the chart
      star: "M0-8L2-2.7L7.6-2.5L3.2 1L4.7 6.5L0 3.3L-4.7 6.5L-3.2 1L-7.6-2.5L-2-2.7z",
    };
    const mark = (N, v, kind) =>
      el("svg:path", {
        d: shapes[kind === "tried" && v > high ? "over" : kind],
        transform: `translate(${px(N).toFixed(1)} ${Math.max(py(v), top + 8).toFixed(1)})`,
        class: `sx-${kind}`,
      });
    const chosenLine = (N) => way(`M${px(N).toFixed(1)} ${top}V${bottom}`, "sx-here");
    return { svg, inner, curve, mark, chosenLine };
  }

  // ---- the figure --------------------------------------------------------------------------

  function build({ law, tested, budgets, sizes }) {
    const first = sizes.findIndex((N) => N > 3.2 * best(law, tested[0][0])); // wastes half
    let [tries, shown] = [[sizes[first]], false];
    const spend = sliderOver("Budget", budgets.map(billions), begin, budgets.indexOf(tested[0][0]));
    const size = sliderOver("Size", sizes.map(grouped), draw, first);
    function begin() {
      tries = [];
      shown = false;
      draw();
    }
    const reads = el("p.sx-caption");
    const status = newStatus();
    const chartAt = el("div");
    const triesAt = el("div");
    const train = button("Train it", () => {
      const N = sizes[size.get()];
      tries = [...tries.filter((tried) => tried !== N), N];
      draw();
    });
    const show = button("", () => {
      shown = !shown;
      draw();
    });

    function verdict(budget, N) {
      const least = reached(law, budget, best(law, budget));
      const mine = reached(law, budget, N);
      if (mine - least < 0.0015) return `Loss ${nats(mine)}: no size does better.`;
      return (
        `Loss ${nats(mine)}, which is ${nats(mine - least)} more than the best size reaches. ` +
        `The best size needs ${percent(1 - wasted(law, budget, N))} of the budget to get where ` +
        "yours got with all of it."
      );
    }

    function draw() {
      const budget = budgets[spend.get()];
      const N = sizes[size.get()];
      const D = budget / 6 / N;
      const least = reached(law, budget, best(law, budget));
      const c = chart({ sizes, low: law[0], high: law[0] + 3 * (least - law[0]) + 0.05 });
      reads.textContent =
        `${grouped(N)} parameters can read ${millions(D)} characters, ` +
        `${grouped(D / N)} for each parameter.`;
      c.inner.append(c.chosenLine(N));
      const stars = shown ? (tested.find((test) => test[0] === budget)?.[1] ?? []) : [];
      if (shown) c.inner.append(c.curve((n) => reached(law, budget, n)));
      c.inner.append(
        ...stars.map(([n, was]) => c.mark(n, was, "star")),
        ...tries.map((n) => c.mark(n, reached(law, budget, n), "tried")),
      );
      const last = tries[tries.length - 1];
      status.textContent = last
        ? `${grouped(last)} parameters. ${verdict(budget, last)}`
        : "Nothing is trained yet.";
      const chosen = shown ? `The best size is ${grouped(best(law, budget))}. ` : "";
      const measured = stars.length ? "Stars are trained runs." : "";
      describe(
        c.svg,
        `Loss against size at ${billions(budget)} operations. ` +
          tries.map((n) => `${grouped(n)}: ${nats(reached(law, budget, n))}. `).join("") +
          (shown ? `The law is a bowl. ${chosen}${measured}` : "The law is hidden."),
      );
      chartAt.replaceChildren(c.svg, note(`${chosen}${measured}`));
      const rows = tries.map((n) => {
        return [grouped(n), nats(reached(law, budget, n)), percent(wasted(law, budget, n))];
      });
      triesAt.replaceChildren(
        rows.length ? table(["size", "loss", "wasted"], rows, { class: "sx-tries" }) : "",
      );
      show.setAttribute("aria-pressed", String(shown));
      show.textContent = shown ? "Hide the law" : "Show all sizes";
    }

    draw();
    return el("div.sx-law", [
      el("div.sx-columns", [
        el("section.sx-half", [
          spend.element,
          size.element,
          reads,
          el("div.sx-bar", [train, show]),
          status,
          triesAt,
        ]),
        el("section.sx-half", [chartAt]),
      ]),
    ]);
  }

  course.figures.law = build;
  return { loss, best, wasted };
});
