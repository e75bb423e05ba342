// Needs: real_model/model_figure.js
// SmolLM2 with one of its weights set to 0, or with fewer bits, and what it then answers.

course.define("oneWeight", () => {
  const { el, choice, format } = course.live;

  // weights: [name on its button, null or {name, row, column}, what it is in the file]; recorded: for each of
  // the bits an answer with each of these weights set
  function build({ question, bits, weights, recorded, most }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const redo = () => (figure.isOpen() ? asking.start() : draw());
    const weight = choice(
      "Set to 0",
      weights.map(([name]) => name),
      redo,
    );
    const fineness = choice(
      "Bits",
      bits.map((n) => `${n} bits`),
      redo,
    );
    const [about, answer] = [el("p.sx-caption"), el("p.sx-text.sx-answer")];
    let lowered = bits[0];

    function tell() {
      const [, place, number] = weights[weight.at()];
      const changed = place
        ? `${place.name}[${place.row}, ${place.column}] is ${format(number, 3)} in the file, and here 0.`
        : "All 134,515,008 weights are there.";
      about.textContent = `${changed} Matrices have ${bits[fineness.at()]} bits${fineness.at() ? "" : ", as in the file (the table of tokens 8)"}.`;
    }

    function draw() {
      tell();
      answer.textContent = recorded[fineness.at()][weight.at()];
    }

    async function ask(signal) {
      tell();
      const { model } = figure;
      const [, place] = weights[weight.at()];
      if (lowered !== bits[fineness.at()]) {
        figure.say("Rounding all weights …");
        lowered = bits[fineness.at()];
        await model.lower(lowered);
        figure.say("");
      }
      answer.textContent = "";
      const change = { weights: place ? [{ ...place, value: 0 }] : [] };
      await model.write(
        { chat: figure.text(), change, rules: { temperature: 0 }, most, top: 0 },
        (step) => answer.append(step.text),
        signal,
      );
    }

    const asking = newWriteButton("Ask", ask, (words) => figure.say(words));
    const figure = newModelFigure(
      { label: "Your question", text: question, recorded: draw },
      el("div.sx-bar.sx-weights", weight.element, fineness.element, asking.element),
      about,
      answer,
    );
    return figure.element;
  }

  course.figures.one_weight = build;
  return {};
});
