// Needs: real_model/model_figure.js
// Two beginnings, five rules: SmolLM2 writes on by the rule that is chosen. What it has said before is
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

  // texts: a beginning, and a circle; rules: [name, the rule, what was recorded after each, as tokens]
  function build({ texts, rules, most }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const names = rules.map(([name]) => name);
    let written = [];
    const rule = choice("Rules", names, draw);
    const place = choice("Where it begins", ["from the beginning", "from the circle"], (i) => {
      if (writing.isWriting()) writing.element.click();
      figure.fill(texts[i]);
      recorded();
    });
    const seed = seedField(0);
    const story = el("p.sx-text.sx-story", {
      tabindex: 0,
      role: "group",
      "aria-label": "The text",
    });
    const counted = el("p.sx-caption");

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
      const { pieces } = written[at];
      const settings = { rules: rules[at][1], seed: seed.get(), most, top: 0 };
      await figure.model.write(
        { text: begin, ...settings },
        (step) => {
          pieces.push(step.text);
          draw();
          story.scrollTop = story.scrollHeight;
        },
        signal,
      );
    }

    const recorded = () => {
      const i = place.at();
      written = rules.map(([, , said]) => ({ begin: texts[i], pieces: said[i] }));
      draw();
    };
    const writing = newWriteButton("Write", write, (words) => figure.say(words));
    const figure = newModelFigure(
      { label: "A beginning", text: texts[0], recorded },
      el("div.sx-bar.sx-rules", place.element),
      el("div.sx-bar.sx-rules", rule.element, seed.element, writing.element),
      story,
      counted,
    );
    return figure.element;
  }

  course.figures.five_rules = build;
  return { repeats };
});
