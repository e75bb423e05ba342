// Needs: real_model/model_figure.js
// How fast SmolLM2 should write in this tab by each of two limits, and how fast it does. The
// forecasts come with the model, and nothing is written before the button is pressed.

course.define("tabSpeed", () => {
  const { el, table, format } = course.live;
  const [READ, WRITTEN] = [128, 40]; // tokens

  // of: {bytes, weights, copied, multiplied, read, written}: bytes a token and what memory copies a
  // second; weights a token and those that are unpacked and multiplied a second; tokens a second
  const RATES = {
    "forecast by memory": (of) => of.copied / of.bytes,
    "forecast by arithmetic": (of) => of.multiplied / of.weights,
    "both, one after the other": (of) => 1 / (of.bytes / of.copied + of.weights / of.multiplied),
    "measured: writes": (of) => of.written,
    "measured: reads": (of) => of.read,
  };

  function build({ prompt, recorded: stored }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const shown = el("div");
    let tab = {}; // as `recorded`, as far as it is known

    function draw() {
      const rate = (number) => (number ? format(number, 1) : "–");
      const row = ([name, of]) => [name, rate(of(stored)), rate(of(tab))];
      const head = ["tokens a second", "recorded, Node.js", "this tab"];
      shown.replaceChildren(table(head, Object.entries(RATES).map(row)));
    }

    function recorded() {
      tab = {};
      draw();
    }

    async function foretell(model) {
      if (!tab.copied) tab = await model.limits();
      draw();
      return tab.written ? "" : "The forecasts are made. Now let it write.";
    }

    async function measure(signal) {
      const { model } = figure;
      await foretell(model);
      const { ids } = await model.encode({ text: prompt });
      if (signal.aborted) return;
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
      if (signal.aborted) return;
      say(`Reading ${READ} tokens …`);
      const long = Array.from({ length: READ }, (_, i) => ids[i % ids.length]);
      start = performance.now();
      await model.read({ ids: long, top: 0 });
      tab.read = (1000 * READ) / (performance.now() - start);
      draw();
    }

    const say = (words) => figure.say(words);
    const writing = newWriteButton(`Write ${WRITTEN} tokens`, measure, say);
    const figure = newModelFigure({ work: foretell, recorded }, shown, writing.element);
    return figure.element;
  }

  course.figures.tab_speed = build;
  return {};
});
