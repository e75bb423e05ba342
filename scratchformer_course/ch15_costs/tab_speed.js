// Needs: real_model/model_figure.js
// How fast SmolLM2 should write in this tab by each of two limits, and how fast it does.

course.define("tabSpeed", () => {
  const { el, table, format } = course.live;
  const [READ, WRITTEN] = [128, 40]; // tokens

  // recorded: {bytes, weights, copied, multiplied, read, written}: bytes a token and what memory copies a
  // second; weights a token and those that are unpacked and multiplied a second; tokens a second
  function build({ prompt, recorded }) {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const shown = el("div");

    function draw(named) {
      const rate = (number) => (number ? format(number, 1) : "–");
      const columns = Object.keys(named);
      const row = (words, of) => [words, ...columns.map((name) => rate(of(named[name])))];
      shown.replaceChildren(
        table(
          ["tokens a second", ...columns],
          [
            row("forecast by memory", ({ copied, bytes }) => copied / bytes),
            row("forecast by arithmetic", ({ multiplied, weights }) => multiplied / weights),
            row(
              "both, one after the other",
              (of) => of.copied && 1 / (of.bytes / of.copied + of.weights / of.multiplied),
            ),
            row("measured: writes", ({ written }) => written),
            row("measured: reads", ({ read }) => read),
          ],
        ),
      );
    }

    async function measure(signal) {
      const { model } = figure;
      figure.say("Two limits …");
      const tab = await model.limits();
      const drawTab = () => draw({ "recorded, Node.js": recorded, "this tab": tab });
      drawTab();
      const { ids } = await model.encode({ text: prompt });
      let [start, n] = [0, 0];
      figure.say(`Writing ${WRITTEN} tokens …`);
      await model.write(
        { ids, rules: { temperature: 0 }, most: WRITTEN + 1, top: 0 },
        () => {
          if (n++) tab.written = (1000 * (n - 1)) / (performance.now() - start);
          else start = performance.now(); // the first has read the prompt
          drawTab();
        },
        signal,
      );
      figure.say(`Reading ${READ} tokens …`);
      start = performance.now();
      await model.read({
        ids: Array.from({ length: READ }, (_, i) => ids[i % ids.length]),
        top: 0,
      });
      tab.read = (1000 * READ) / (performance.now() - start);
      drawTab();
    }

    const measuring = newWriteButton("Measure this tab", measure, (words) => figure.say(words));
    const figure = newModelFigure(
      { recorded: () => draw({ "recorded, Node.js": recorded, "this tab": {} }) },
      shown,
      measuring.element,
    );
    return figure.element;
  }

  course.figures.tab_speed = build;
  return {};
});
