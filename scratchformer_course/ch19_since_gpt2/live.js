// Needs: real_model/model_figure.js
// Four lines of SmolLM2 with a switch each, and what the model then answers: to some questions as it was
// recorded, and to any question where the model is there. A switch that is turned while it answers holds
// from the next token on.

course.define("ch19_since_gpt2", () => {
  const { el, button, choice, format, newSwitch } = course.live;

  // ---- calculations ----

  // What was stored for this set of lines: the loss, and an answer to each question
  const storedRun = (runs, on) =>
    runs.find(([names]) => names.length === on.size && names.every((name) => on.has(name)));

  // ---- the figure ----

  function build({ parts, questions, said, most }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const on = new Set();
    const asked = choice(
      "Questions",
      questions,
      () => figure.fill(questions[asked.at()]) || draw(),
    );
    const rows = parts.map(([name, part, original, elsewhere]) => {
      const state = el("span.sx-lin-is");
      const { box, element: row } = newSwitch(
        [el("b", part), state],
        (isOn) => switchLine(name, isOn),
        {
          class: "sx-lin-row",
        },
      );
      const refresh = () => {
        box.checked = on.has(name);
        state.textContent = on.has(name) ? elsewhere : original;
        row.classList.toggle("sx-lin-on", on.has(name));
      };
      return { row, refresh };
    });
    const question = el("p.sx-lin-asks");
    const answer = el("p.sx-lin-says");
    const loss = el("p.sx-lin-loss");
    const back = button("All as in SmolLM2", () => {
      on.clear();
      draw();
      follow();
    });
    const change = () => ({ lines: [...on] });

    function switchLine(name, isOn) {
      if (isOn) on.add(name);
      else on.delete(name);
      draw();
      follow();
    }
    // the model goes on with the lines as they are now
    function follow() {
      if (asking.isWriting()) figure.model.steer({ change: change() });
      else if (figure.isOpen()) asking.start();
    }

    function draw() {
      for (const { refresh } of rows) refresh();
      const [, nats, answers] = storedRun(said, on);
      const [, healthy] = storedRun(said, new Set());
      if (!figure?.isOpen()) {
        question.textContent = questions[asked.at()];
        answer.textContent = answers[asked.at()].trim() || "(nothing)";
      }
      const more = on.size ? `, ${format(nats - healthy, 2)} more than its own` : "";
      loss.textContent = `Loss on lines of Shakespeare: ${format(nats, 2)} nats a token${more}.`;
    }

    async function ask(signal) {
      question.textContent = figure.text();
      answer.textContent = "";
      const settings = { change: change(), rules: { temperature: 0 }, most, top: 0 };
      const { text } = await figure.model.write(
        { chat: figure.text(), ...settings },
        (step) => answer.append(step.text),
        signal,
      );
      if (!text.trim()) answer.textContent = "(nothing)";
    }

    const asking = newWriteButton("Ask", ask, (words) => figure.say(words));
    let figure = null;
    figure = newModelFigure(
      { label: "Your question", text: questions[0], recorded: draw },
      el("div.sx-lin", [
        el("div.sx-lin-talk", [
          el("div.sx-bar", asked.element, asking.element),
          question,
          answer,
          loss,
        ]),
        el("div.sx-lin-rows", [rows.map(({ row }) => row), el("div.sx-bar", back)]),
      ]),
    );
    return figure.element;
  }

  course.figures.lines = build;
  return { storedRun };
});
