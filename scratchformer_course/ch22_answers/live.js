// Stored films: one question asked of a model that continues, and of one that answers; and what the
// answers become when the reader sets the reward.

course.define("ch22_answers", () => {
  const { el, sliderOver, note, format, title, newStatus, choice, drawing, words } = course.live;
  const { way, sum } = course.live;
  const visible = (text) => text.replaceAll("\n", "⏎");

  // Whether "47+38" answers 85, and whether it needs a borrow; null for what is no sum
  function judge(n, text) {
    const match = /^(\d\d)\+(\d\d)/.exec(text);
    if (!match) return null;
    const [a, b] = [Number(match[1]), Number(match[2])];
    return { right: a + b === n, borrow: n % 10 < a % 10 };
  }

  function listed(n, texts) {
    return el(
      "ul.sx-ans-list",
      texts.map((text) => {
        const judged = judge(n, text);
        const kind = judged ? (judged.right ? "right" : "wrong") : "no sum";
        const parts = [el("code", visible(text)), el("span", kind)];
        return el("li", { class: judged ? `sx-ans-${kind}` : null }, parts);
      }),
    );
  }

  // The chances of a right answer, of one that needs a borrow, and of a wrong one
  function chances(n, [right, wrong]) {
    const hard = right.filter((_, a) => n % 10 < a % 10);
    const [r, h, w] = [right, hard, wrong].map((numbers) => sum(numbers) / 1e4);
    return { right: r, hard: h, wrong: w };
  }

  // Bars over the first number: right below, wrong on top; marks where a borrow is needed
  function bars(n, [right, wrong], name) {
    const width = 440 / (n + 1);
    const all = right.map((r, a) => r + wrong[a]);
    const top = Math.max(...all, 1);
    // A box over the number a, from y on
    const box = (a, y, wide, tall) => {
      const [x, down, right, up] = [width * a, y, wide, tall].map((size) => size.toFixed(1));
      return `M${x} ${down}h${right}v${up}h-${right}z`;
    };
    const boxes = (numbers, from) =>
      numbers.map((p, a) => {
        const tall = (80 * p) / top;
        const y = 90 - (80 * (from ? from[a] : 0)) / top;
        return tall < 0.2 ? "" : box(a, y, 0.86 * width, -tall);
      });
    const marks = all.map((_, a) => (n % 10 < a % 10 ? box(a, 93, width, 4) : ""));
    const chance = chances(n, [right, wrong]);
    const about =
      `First numbers of the answers to ${n} by the ${name}: ${format(chance.right, 2)} right, ` +
      `of which ${format(chance.hard, 2)} need a borrow, ${format(chance.wrong, 2)} wrong.`;
    return drawing(440, 120, { class: "sx-ans-bars", "aria-label": about }, [
      el("svg:path", { d: boxes(right).join(""), fill: "var(--sx-value)" }),
      el("svg:path", { d: boxes(wrong, right).join(""), fill: "var(--sx-key)" }),
      way(marks.join(""), "sx-ans-mark"),
      way("M0 90.5H440", "sx-ans-axis"),
      [0, Math.round(n / 2), n].map((a, i) =>
        words(a, width * (a + 0.5), 113, ["start", "middle", "end"][i]),
      ),
    ]);
  }

  function answers({ stages, asked }) {
    const host = el("div.sx-ans-out");
    const questions = asked.map((n) => `${n}?`);
    const at = sliderOver("Question", questions, draw, Math.max(0, asked.indexOf(85)));
    const names = stages.map(([, name]) => name);
    const stage = choice("Model", names, () => draw(), names.length - 1);

    function draw() {
      const [, name, film] = stages[stage.at()];
      const { n, answers: texts, bars: numbers } = film[at.get()];
      const { right, hard, wrong } = chances(n, numbers);
      const chance =
        right + wrong < 0.01
          ? "It continues with questions: the chance of a sum is below 0.01."
          : `Right: ${format(right, 2)}. Of the right answers ${format(hard / Math.max(right, 1e-9), 2)} need a borrow.`;
      host.replaceChildren(
        el("div.sx-columns", [
          el("div.sx-ans-left", title(`${n}?`), listed(n, texts)),
          el("div.sx-ans-side", [bars(n, numbers, name), newStatus(chance)]),
        ]),
      );
    }

    draw();
    return el("div.sx-ans", [
      el("div.sx-bar.sx-ans-start", stage.buttons),
      at.element,
      host,
      note(
        "Eight sampled answers, and the chance of every first number: green right, orange wrong. " +
          "Grey marks show where the sum needs a borrow. Stored runs of one seed.",
      ),
    ]);
  }

  // pupils: [name, runs]; the first run is the model before any reward
  function tunedReward({ n, pupils }) {
    const host = el("div.sx-ans-out");
    const runs = () => pupils[who.at()][1];
    const of = (key) => [...new Set(pupils[0][1].slice(1).map((run) => run[key]))];
    const [worths, betas] = [of("worth"), of("beta")];
    const names = pupils.map(([name]) => `${name} pupils`);
    const who = choice("Pupils", names, () => draw(), 0);
    const penalties = betas.map((beta) => (beta ? `β = ${beta}` : "no KL penalty"));
    const penalty = choice("KL penalty", penalties, () => draw(), 0);
    const worth = sliderOver("A right answer that borrows earns", worths.map(String), draw, 0);

    const shares = ({ right, with_borrow: borrow }) =>
      `Right: ${format(right, 2)}. Of the right answers ${format(borrow, 2)} borrow.`;

    function draw() {
      const [wanted, beta] = [worths[worth.get()], betas[penalty.at()]];
      const before = runs()[0];
      const after = runs().find((run) => run.worth === wanted && run.beta === beta);
      host.replaceChildren(
        title(`Before the reward: ${n}?`),
        bars(n, before.bars, "model before the reward"),
        newStatus(shares(before)),
        title("After it"),
        bars(n, after.bars, "model after the reward"),
        newStatus(shares(after)),
      );
    }

    draw();
    return el("div.sx-ans", [
      el("div.sx-bar.sx-ans-start", [who.element, penalty.element]),
      worth.element,
      host,
      note(
        `Each bar is the chance of a first number in the answers to ${n}, to its own scale: green ` +
          "right, orange wrong. Grey marks show where the sum needs a borrow. A right answer " +
          "without a borrow earns 1. The shares are of all 90 questions. Stored runs of one seed.",
      ),
    ]);
  }

  course.figures.answers = answers;
  course.figures.tuned_reward = tunedReward;
  return { judge };
});
