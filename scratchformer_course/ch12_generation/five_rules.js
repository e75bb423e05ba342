// Needs: real_model/model_figure.js
// One beginning, five rules: SmolLM2 writes on by the rule that is chosen. What it has said before is
// marked.

course.define("fiveRules", () => {
  const { el, choice, seedField } = course.live;
  const RUN = 4; // tokens that were said before, side by side

  // ---- calculations ----

  // For each token whether it ends a run of RUN tokens that occurred before
  function repeats(pieces) {
    const runs = pieces.map((_, t) => pieces.slice(Math.max(0, t + 1 - RUN), t + 1).join("\0"));
    return runs.map((run, t) => t + 1 >= RUN && runs.indexOf(run) < t);
  }

  // ---- the figure ----

  // rules: [name, the rule, what was recorded, as tokens]
  function build({ text, rules, most }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const names = rules.map(([name]) => name);
    const rule = choice("Rules", names, draw);
    const seed = seedField(0);
    const story = el("p.sx-text.sx-story", {
      tabindex: 0,
      role: "group",
      "aria-label": "The text",
    });
    const counted = el("p.sx-caption");
    let written = [];

    function draw() {
      const { begin, pieces } = written[rule.at()];
      const said = repeats(pieces);
      const marked = pieces.map((piece, t) => (said[t] ? el("mark", piece) : piece));
      story.replaceChildren(el("b", begin), ...marked);
      const n = said.filter(Boolean).length;
      counted.textContent = `${names[rule.at()]}: ${n} of ${pieces.length} tokens end a run of ${RUN} that it wrote before.`;
    }

    async function write(signal) {
      const at = rule.at();
      const begin = figure.text();
      written[at] = { begin, pieces: [] };
      const settings = { rules: rules[at][1], seed: seed.get(), most, top: 0 };
      await figure.model.write(
        { text: begin, ...settings },
        (step) => {
          written[at].pieces.push(step.text);
          draw();
          story.scrollTop = story.scrollHeight;
        },
        signal,
      );
    }

    const recorded = () => {
      written = rules.map(([, , pieces]) => ({ begin: text, pieces }));
      draw();
    };
    const writing = newWriteButton("Write", write, (words) => figure.say(words));
    const figure = newModelFigure(
      { label: "A beginning", text, recorded },
      el("div.sx-bar.sx-rules", rule.element, seed.element, writing.element),
      story,
      counted,
    );
    return figure.element;
  }

  course.figures.five_rules = build;
  return { repeats };
});
