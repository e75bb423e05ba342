// Needs: real_model/model_figure.js wager.js
// The wager's end: the reader bets that a tab's copying of weights hides behind its products, or that the two
// add up. Only then does the figure show what the products take out of memory, and the token. The tab's own
// times replace the recorded ones as they become known.

course.define("tabSpeed", () => {
  const { el, button, format } = course.live;
  const WRITTEN = 40; // tokens
  const THEORIES = ["Copying hides", "They add up"];
  const FIRST = "Bet on one of the two. That uncovers the rest.";

  // The parts of a token in seconds. of: as model.limits(), with the tokens `written` a second
  function partsOf(of) {
    const near = of.weights / of.multiplied;
    const added = Math.max(0, of.weights / of.products - near);
    const between = Math.max(0, 1 / of.written - near - added);
    return { copied: of.bytes / of.copied, near, added, between };
  }

  // Bars of a token, by both theories and as measured: what is between the products is foretold to be longer
  // in this tab in the same measure as they are
  function barsOf(of, stored) {
    const { copied, near, added, between } = partsOf(of);
    const recorded = partsOf(stored);
    const foretold = (recorded.between * near) / recorded.near;
    const [hidden, copy] = [Math.max(near, copied), ["stream", copied]];
    const bar = (name, ...pieces) => ({
      name,
      pieces,
      seconds: pieces.reduce((sum, [, length]) => sum + length, 0),
    });
    return [
      bar("If copying hides: products, between", ["value", hidden], ["line", foretold]),
      bar("If they add up: products, copy, between", ["value", near], copy, ["line", foretold]),
      bar("Its products, out of memory", ["value", near], ["stream", added]),
      bar("A token, as it writes", ["value", near], ["stream", added], ["line", between]),
    ];
  }

  // Which theory is nearer to the products out of memory, and its milliseconds
  function verdictOf(of) {
    const { copied, near, added } = partsOf(of);
    const said = [Math.max(near, copied), near + copied];
    const off = said.map((length) => Math.abs(length - near - added));
    const [hiding, adding, found] = [...said, near + added].map((t) => format(1000 * t, 1));
    const words = `Hiding says ${hiding} ms, adding up ${adding}, and the products take ${found}.`;
    const isClear = Math.abs(off[0] - off[1]) > (said[1] - said[0]) / 4;
    return { nearer: off[0] < off[1] ? 0 : 1, isClear, words };
  }

  // The account of a token in words: `sentence` with {names} of milliseconds in it
  function accountOf(of, sentence, where) {
    const { copied, near, added, between } = partsOf(of);
    const numbers = { copied, near, products: near + added, added, between };
    return sentence.replaceAll(/{(\w+)}/g, (_, name) =>
      name === "where" ? where : format(1000 * numbers[name], 1),
    );
  }

  function build({ prompt, recorded: stored, account }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const shown = el("div.sx-account");
    const explained = el("p.sx-caption.sx-wager-why");
    let bet = -1; // the number of a theory
    let card = {}; // of the page's beginning
    let tab = {}; // as `recorded`, as far as it is known
    const kept = course.wager.newCard((written) => {
      card = written;
    }, []);
    const choices = THEORIES.map((name, i) =>
      button(`Bet: ${name.toLowerCase()}`, () => {
        if (bet < 0) bet = i;
        draw();
        figure.again();
      }),
    );

    function draw() {
      const of = tab.copied ? tab : stored;
      const bars = barsOf(of, stored);
      const isKnown = ({ seconds }, i) => seconds > 0 && (bet >= 0 || i < THEORIES.length);
      const longest = Math.max(...bars.filter(isKnown).map(({ seconds }) => seconds));
      const rows = bars.map((each, i) => {
        const rate = i === 2 ? "" : `, ${format(1 / each.seconds, 1)} a second`;
        const pieces = each.pieces.map(([colour, length]) => {
          const style = `--colour: var(--sx-${colour}); --w: ${length / longest}`;
          return el("span.sx-p", { style });
        });
        return el("div", [
          el("span", each.name),
          el("span", isKnown(each, i) ? `${format(1000 * each.seconds, 0)} ms${rate}` : "?"),
          el("div", isKnown(each, i) ? pieces : []),
        ]);
      });
      shown.replaceChildren(...rows);
      for (const [i, choice] of choices.entries()) {
        choice.setAttribute("aria-pressed", String(i === bet));
        choice.disabled = bet >= 0 && i !== bet;
      }
      explained.textContent = bet < 0 ? FIRST : explain(of);
    }

    function explain(of) {
      const { nearer, isClear, words } = verdictOf(of);
      const where = of === tab ? "this tab" : "the recorded run";
      const verdict = `you have ${bet === nearer ? "won" : "lost"} the bet`;
      const result = `${words} In ${where} ${isClear ? verdict : "it is too close to call"}.`;
      return of.written ? `${accountOf(of, account, where)} ${result}` : result;
    }

    function recorded() {
      tab = {};
      draw();
    }

    async function foretell(model) {
      if (!tab.copied) tab = await model.limits();
      draw();
      if (bet < 0) return FIRST;
      return tab.written ? outcome() : "The tab's own times are measured. Let it write.";
    }

    // What it wrote, beside the card of the page's beginning
    function outcome() {
      const { bandwidth, forecast } = card;
      const divided =
        bandwidth && `Your bandwidth over its bytes: ${format((1e9 * bandwidth) / tab.bytes, 1)}.`;
      const first = forecast && `Your first forecast: ${format(forecast, 1)}.`;
      const wrote = `It wrote ${format(tab.written, 1)} tokens a second.`;
      return [wrote, first, divided].filter(Boolean).join(" ");
    }

    async function measure(signal) {
      const { model } = figure;
      if (bet < 0) return FIRST;
      await foretell(model);
      const { ids } = await model.encode({ text: prompt });
      if (signal.aborted) return "";
      let [start, n] = [0, 0];
      say(`Writing ${WRITTEN} tokens …`);
      await model.write(
        { ids, rules: { temperature: 0 }, most: WRITTEN + 1, top: 0 },
        () => {
          if (n++) tab.written = (1000 * (n - 1)) / (performance.now() - start);
          else start = performance.now(); // the first has read the prompt
          draw();
        },
        signal,
      );
      return signal.aborted ? "" : outcome();
    }

    const say = (words) => figure.say(words);
    const writing = newWriteButton(`Write ${WRITTEN} tokens`, measure, say);
    /** @type {any} */
    let figure = null;
    kept.show();
    const parts = [shown, el("div.sx-bets", choices), explained, writing.element];
    figure = newModelFigure({ work: foretell, recorded }, ...parts);
    draw();
    return figure.element;
  }

  course.figures.tab_speed = build;
  return {};
});
