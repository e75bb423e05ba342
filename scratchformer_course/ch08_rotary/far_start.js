// Needs: real_model/model_figure.js
// SmolLM2, whose text begins at a position far out: what it then answers, with the angles of its turns in
// float32 or in float64, and with queries that move alone.

course.define("farStart", () => {
  const { el, choice, sliderOver, table, grouped, format } = course.live;

  // recorded: for each of `angles`, of `moved` and of `starts` [answer, by how much a logit differs]
  function build({ question, starts, angles, moved, recorded, most }) {
    const { newModelFigure } = course.modelFigure;
    const redo = () => (figure.isOpen() ? figure.again() : draw());
    const start = sliderOver("The text begins at", starts.map(grouped), redo);
    const angle = choice("Angles", angles, redo);
    const move = choice("Moved", moved, redo);
    const [answer, about] = [el("p.sx-text.sx-answer"), el("div")];
    const place = () => starts[start.get()];

    function tell(apart) {
      const step = stepAt(place(), angle.at() ? 52 : 23);
      const steps = step < 0.001 ? "less than 0.001" : String(step);
      const moved = apart === null ? "…" : `${format(apart, 2)} at most`;
      const rows = [
        ["step from one angle to the next", `${steps} radians`],
        ["change of a logit since position 0", moved],
      ];
      about.replaceChildren(table(["", `position ${grouped(place())}`], rows));
    }
    function draw() {
      const [said, apart] = recorded[angle.at()][move.at()][start.get()];
      answer.textContent = shown(said);
      tell(apart);
    }

    async function work(model, text) {
      tell(null);
      const [here, isAlone] = [place(), move.at() === 1];
      const lines = angle.at() ? [] : ["angles"];
      const change = { starts: [here, isAlone ? 0 : here], lines };
      const asked = [{ lines }, change].map((one) => ({ chat: text, change: one, top: 1 }));
      const [home, away] = [await model.read(asked[0]), await model.read(asked[1])];
      tell(largest(home.logits, away.logits));
      answer.textContent = "";
      const rules = { temperature: 0 };
      const written = await model.write(
        { chat: text, change, rules, most, top: 0 },
        ({ text: piece }) => answer.append(piece),
      );
      answer.textContent = shown(written.text);
    }

    const figure = newModelFigure(
      { label: "Your question", text: question, work, recorded: draw },
      start.element,
      el("div.sx-bar.sx-far", angle.element, move.element),
      answer,
      about,
    );
    return figure.element;
  }

  // The step between numbers near `n` that have so many binary digits after the first
  const stepAt = (n, digits) => 2 ** (Math.floor(Math.log2(Math.max(n, 1))) - digits);
  // By how much two lists of logits differ at most
  const largest = (one, other) =>
    one.reduce((most, z, i) => Math.max(most, Math.abs(z - other[i])), 0);
  // Line breaks can be seen, and nothing is said to be nothing
  const shown = (text) => text.replaceAll("\n", "⏎") || "(it ends without a word)";

  course.figures.far_start = build;
  return { stepAt, largest };
});
