// Needs: real_model/model_figure.js
// What one head of SmolLM2 has found in a sentence about one country, put into the same sentence about
// another one: the chances of both capitals.

course.define("capitalPatch", () => {
  const { el, choice, label } = course.live;

  // recorded: {countries: [reads, from], next: for each head and for none, [capital, p of the first, p of the second]}
  function build({ block, heads, chosen, capitals, frame, recorded }) {
    const { newModelFigure, chanceTable } = course.modelFigure;
    const names = heads.map((head) => `${block}.${head}`);
    const countries = Object.keys(capitals);
    const chances = el("div");
    const says = el("p.sx-text");
    const textOf = (country) => frame.replace("{}", country);
    const head = choice(
      "Head",
      names,
      () => (figure.isOpen() ? figure.again() : draw()),
      heads.indexOf(chosen),
    );
    const select = (country) =>
      el(
        "select.sx-with-model",
        { onchange: () => figure.again() },
        countries.map((name) => el("option", { selected: name === country && "" }, name)),
      );
    const [reads, from] = recorded.countries.map(select);
    let next = recorded.next;

    function draw() {
      const [before, after] = next[head.at()];
      const pair = [reads.value, from.value].map((country) => ` ${capitals[country]}`);
      chances.replaceChildren(
        chanceTable(
          ["as it is", `with ${names[head.at()]} of ${from.value}`],
          pair.map((capital, i) => [capital, before.p[i], after.p[i]]),
        ),
      );
      says.replaceChildren(el("b", textOf(reads.value)), after.says);
    }

    async function work(model) {
      const own = [block, heads[head.at()]];
      const pair = [reads.value, from.value];
      const wanted = { chances: pair.map((country) => ` ${capitals[country]}`), top: 1 };
      const asked = { ask: { vectors: [own] } };
      const [there, before] = [
        await model.read({ text: textOf(pair[1]), ...asked }),
        await model.read({ text: textOf(pair[0]), ...wanted }),
      ];
      const vectors = there.vectors[own.join(".")];
      const vector = vectors.slice(-vectors.length / there.ids.length);
      const place = before.ids.length - 1;
      const change = { vectors: [{ block, head: own[1], place, vector }] };
      const after = await model.read({ text: textOf(pair[0]), change, ...wanted });
      const shown = ({ chances: p, top }) => ({ p, says: top[0].text });
      next = heads.map(() => [shown(before), shown(after)]);
      draw();
    }

    const showRecorded = () => {
      [reads.value, from.value] = recorded.countries;
      next = recorded.next;
      draw();
    };
    const figure = newModelFigure(
      { work, recorded: showRecorded },
      el("div.sx-bar.sx-patch", [
        el("span", label("It reads about ", reads), reads),
        el("span", label("64 numbers from ", from), from),
        head.element,
      ]),
      chances,
      says,
    );
    return figure.element;
  }

  course.figures.capital_patch = build;
  return {};
});
