// Needs: real_model/model_figure.js wager.js
// The wager's end: the forecast on the card is made final, and only then does the figure show how fast
// SmolLM2 should write in this tab by each of two limits, and how fast it does.

course.define("tabSpeed", () => {
  const { el, button, table, format } = course.live;
  const WRITTEN = 40; // tokens
  const WON = 1.25; // the factor by which a forecast may be off
  const FIRST = "Write your forecast on the card, and make it final. That uncovers the table.";

  // The seconds that a token's weights take: to be read, and to be unpacked and multiplied
  const reading = (of) => of.bytes / of.copied;
  const multiplying = (of) => of.weights / of.multiplied;

  // of: {bytes, weights, copied, multiplied, written}: bytes a token and what memory copies a second;
  // weights a token and those that are unpacked and multiplied a second; tokens a second.
  // between: the seconds of everything else
  const newRates = (between) => ({
    "bandwidth over bytes": (of) => 1 / reading(of),
    "unpacking and multiplying alone": (of) => 1 / multiplying(of),
    "both, one after the other": (of) => 1 / (reading(of) + multiplying(of)),
    [`and ${format(1000 * between, 0)} ms between`]: (of) =>
      1 / (reading(of) + multiplying(of) + between),
    "measured: it writes": (of) => of.written,
  });

  function build({ prompt, between, recorded: stored, why }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const rates = newRates(between);
    const shown = el("div");
    const explained = el("p.sx-caption.sx-wager-why");
    let now = {}; // the card
    let stake = 0; // the forecast that is final
    let tab = {}; // as `recorded`, as far as it is known
    const card = course.wager.newCard((written) => {
      now = written;
      draw();
    });
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
      const rate = (number) => (number ? format(number, number < 1000 ? 1 : 0) : "–");
      const said = [
        now.bandwidth && (1e9 * now.bandwidth) / stored.bytes,
        "",
        "",
        "",
        stake || now.forecast,
      ];
      const rows = Object.entries(rates).map(([name, of], i) => [
        name,
        said[i] ? rate(said[i]) : "",
        isOpen ? rate(of(stored)) : "?",
        isOpen ? rate(of(tab)) : "?",
      ]);
      shown.replaceChildren(
        table(["tokens a second", "your card", "recorded, Node.js", "this tab"], rows),
      );
      final.disabled = isOpen;
      explained.textContent = isOpen ? why : FIRST;
    }

    function recorded() {
      tab = {};
      draw();
    }

    async function foretell(model) {
      if (!stake) return FIRST;
      if (!tab.copied) tab = await model.limits();
      draw();
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
