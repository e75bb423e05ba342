// Needs: real_model/model_figure.js
// Where one head of SmolLM2 looks, from any token of a text, and what comes next with it and without.

course.define("realHead", () => {
  const { el, choice, percent, visible } = course.live;
  const NEXT = 3; // tokens in the table

  // recorded: {text, pieces, maps: for each head (T, T), next: [text, p, p without the head]}
  function build({ block, heads, chosen, recorded }) {
    const { newModelFigure, newTokens, chanceTable } = course.modelFigure;
    const [words, chances] = [el("p.sx-caption"), el("div.sx-real-next")];
    const tokens = newTokens("The text: the tokens that the pressed one looks at", ask);
    const names = heads.map((head) => `${block}.${head}`);
    const head = choice("Head", names, draw, heads.indexOf(chosen));
    let asks = recorded.pieces.length - 1; // the place of the token that looks
    let found = recorded;

    function ask(t) {
      asks = t;
      draw();
    }

    function draw() {
      const { pieces, maps, next } = found;
      asks = Math.min(asks, pieces.length - 1);
      const T = pieces.length;
      const weights = maps[head.at()].slice(asks * T, asks * T + asks + 1);
      tokens.show(pieces, weights, asks);
      const most = weights.indexOf(Math.max(...weights));
      words.textContent =
        `Head ${names[head.at()]}, from “${visible(pieces[asks])}” at place ${asks}: ` +
        `most at “${visible(pieces[most])}”, ${percent(weights[most])}.`;
      chances.replaceChildren(
        chanceTable(["with all heads", `without ${names[head.at()]}`], next[head.at()]),
      );
    }

    async function work(model, text) {
      const pairs = heads.map((one) => [block, one]);
      const { pieces, attention, top } = await model.read({
        text,
        ask: { attention: pairs },
        top: NEXT,
      });
      const next = [];
      for (const pair of pairs) {
        const without = await model.read({ text, change: { heads: [pair] }, chances: top });
        next.push(top.map((token, i) => [token.text, token.p, without.chances[i]]));
      }
      const maps = names.map((name) => Array.from(attention[name]));
      if (found.pieces.join("") !== pieces.join("")) asks = pieces.length - 1;
      found = { pieces, maps, next };
      draw();
    }

    return newModelFigure(
      {
        label: "A text that SmolLM2 reads",
        text: recorded.text,
        work,
        recorded: () => {
          found = recorded;
          draw();
        },
      },
      head.element,
      tokens.element,
      words,
      chances,
    ).element;
  }

  course.figures.real_head = build;
  return {};
});
