// Four lines of SmolLM2 with a switch each, and what the model then answers: stored runs of it.

course.define("ch19_since_gpt2", () => {
  const { el, button, choice, note, format, newSwitch } = course.live;

  // ---- calculations ----

  // What was stored for this set of lines: the loss, and an answer to each question
  const storedRun = (runs, on) =>
    runs.find(([names]) => names.length === on.size && names.every((name) => on.has(name)));

  // ---- the figure ----

  function build({ parts, questions, said }) {
    const on = new Set();
    const asked = choice("Questions", questions, draw);
    const rows = parts.map(([name, part, original, elsewhere]) => {
      const state = el("span.sx-lin-is");
      const switchLine = (isOn) => {
        if (isOn) on.add(name);
        else on.delete(name);
        draw();
      };
      const { box, element: row } = newSwitch([el("b", part), state], switchLine, {
        class: "sx-lin-row",
      });
      const refresh = () => {
        box.checked = on.has(name);
        state.textContent = on.has(name) ? elsewhere : original;
        row.classList.toggle("sx-lin-on", on.has(name));
      };
      return { row, refresh };
    });
    const question = el("p.sx-lin-asks");
    const answer = el("p.sx-status.sx-lin-says", { role: "status" });
    const loss = el("p.sx-lin-loss");
    const back = button("All as in SmolLM2", () => {
      on.clear();
      draw();
    });

    function draw() {
      for (const { refresh } of rows) refresh();
      const [, nats, answers] = storedRun(said, on);
      const [, healthy] = storedRun(said, new Set());
      question.textContent = questions[asked.at()];
      answer.textContent = answers[asked.at()].trim() || "(nothing)";
      const more = on.size ? `, ${format(nats - healthy, 2)} more than its own` : "";
      loss.textContent = `Loss on lines of Shakespeare: ${format(nats, 2)} nats a token${more}.`;
    }

    draw();
    return el("div.sx-lin", [
      el("div.sx-lin-talk", [asked.element, question, answer, loss]),
      el("div.sx-lin-rows", [rows.map(({ row }) => row), el("div.sx-bar", back)]),
      note("Stored answers of SmolLM2, up to 16 tokens, always the likeliest next one."),
    ]);
  }

  course.figures.lines = build;
  return { storedRun };
});
