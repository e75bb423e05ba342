// Needs: real_model/model_figure.js wager.js
// The wager's end: the forecast on the card is made final, and only then does the figure show how long
// the products of a token take in this tab, whose weights come out of memory, and how long the token.

course.define("tabSpeed", () => {
  const { el, button, format } = course.live;
  const WRITTEN = 40; // tokens
  const WON = 1.1; // the factor by which a forecast may be off
  const UNCOVERED = 3; // bars that are shown before the forecast is final
  const FIRST = "Write your forecast on the card, and make it final. That uncovers the rest.";

  // The bars of a token. of: as model.limits(), with the tokens `written` a second; stake: the forecast, or 0
  function barsOf(of, stake) {
    const copied = of.bytes / of.copied;
    const near = of.weights / of.multiplied;
    const added = Math.max(0, of.weights / of.products - near);
    const between = Math.max(0, 1 / of.written - near - added);
    const bar = (name, lengths, colours = ["value", "key", "line"]) => ({
      name,
      seconds: lengths.reduce((sum, length) => sum + length, 0),
      pieces: lengths.map((length, i) => ({ colour: colours[i], length })),
    });
    return [
      bar("Your forecast", [stake && 1 / stake], ["line"]),
      bar("Memory copies its bytes", [copied], ["key"]),
      bar("Its products, out of the cache", [near]),
      bar("Its products, out of memory", [near, added]),
      bar("A token, as it writes", [near, added, between]),
    ];
  }

  // The account of a token in words: the bars' milliseconds in a sentence with {places} for them
  function accountOf(of, sentence, where) {
    const [, copied, near, products, token] = barsOf(of, 0).map((bar) => 1000 * bar.seconds);
    const numbers = { copied, near, products, added: products - near, between: token - products };
    return sentence.replaceAll(/{(\w+)}/g, (_, name) =>
      name === "where" ? where : format(numbers[name], 0),
    );
  }

  function build({ prompt, recorded: stored, account }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const shown = el("div.sx-account");
    const explained = el("p.sx-caption.sx-wager-why");
    let now = {}; // the card
    let stake = 0; // the forecast that is final
    let tab = {}; // as `recorded`, as far as it is known
    function write(written) {
      now = written;
      draw();
    }
    const card = course.wager.newCard(write, ["forecast"]);
    const final = button("My forecast is final", () => {
      settle();
      if (stake) figure.again();
      else figure.say(FIRST);
    });

    function settle() {
      stake ||= now.forecast ?? 0;
      draw();
    }

    function draw() {
      const isOpen = stake > 0;
      const of = tab.copied ? tab : stored;
      const bars = barsOf(of, stake || now.forecast || 0);
      const isKnown = ({ seconds }, i) => seconds > 0 && (isOpen || i < UNCOVERED);
      // As long as a recorded token if all added up: a bar that is covered does not change the scale
      const last = barsOf(stored, 0);
      const room = 1 / stored.written - last[3].seconds + last[1].seconds + last[2].seconds;
      const known = bars.slice(1).filter((bar, i) => isKnown(bar, i + 1));
      const longest = Math.max(room, ...known.map(({ seconds }) => seconds));
      const rows = bars.map((each, i) => {
        const { name, seconds, pieces } = each;
        const isToken = i === 0 || i === bars.length - 1; // foretold, or written
        const rate = isToken ? `, ${format(1 / seconds, 1)} a second` : "";
        const said = `${format(1000 * seconds, 0)} ms${rate}`;
        const drawn = pieces.map(({ colour, length }) => {
          const share = Math.min(1, length / longest);
          return el("span.sx-p", { style: `--colour: var(--sx-${colour}); --w: ${share}` });
        });
        return el("div", [
          el("span", name),
          el("span", isKnown(each, i) ? said : "?"),
          el("div", isKnown(each, i) ? drawn : []),
        ]);
      });
      shown.replaceChildren(...rows);
      final.disabled = isOpen;
      const where = of === tab ? "this tab" : "the recorded run";
      explained.textContent = !isOpen ? FIRST : of.written ? accountOf(of, account, where) : "";
    }

    function recorded() {
      tab = {};
      draw();
    }

    async function foretell(model) {
      if (!tab.copied) tab = await model.limits();
      draw();
      if (!stake) return FIRST;
      return tab.written ? outcome() : "The limits are measured. Now let it write.";
    }

    // How far off the forecast was
    function outcome() {
      const off = Math.max(stake / tab.written, tab.written / stake);
      const verdict = off < WON ? "You have won the bet" : "The bet is lost";
      return `It wrote ${format(tab.written, 1)}, and your ${format(stake, 1)} is off by a factor of ${format(off, 2)}. ${verdict}.`;
    }

    async function measure(signal) {
      const { model } = figure;
      settle(); // who lets it write has decided
      if (!stake) return FIRST;
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
    card.show();
    const parts = [card.element, final, shown, explained, writing.element];
    figure = newModelFigure({ work: foretell, recorded }, ...parts);
    return figure.element;
  }

  course.figures.tab_speed = build;
  return {};
});
