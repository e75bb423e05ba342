// Networks whose German texts put the object first now and then, more often as the slider moves: how
// many subjects each finds, and what it writes into the gap of the chapter's sentence. Stored runs.

course.define("turnedTexts", () => {
  const { el, sliderOver, table, bar, newStatus, percent } = course.live;

  function build({ runs, orders, tested }) {
    const shares = runs.map(([share]) => share.replace("%", " %"));
    const at = sliderOver("Object first", shares, draw);
    const host = el("div");
    const status = newStatus();

    function draw() {
      const [, found, ...said] = runs[at.get()];
      const rows = said.map(([word, p], i) => [
        [orders[i], el("small", `the ${word} sees every cat`)],
        percent(p),
        bar(p),
      ]);
      host.replaceChildren(table(["", "chance", ""], rows, { class: "sx-bars" }));
      status.textContent =
        `Trained with the object first in ${shares[at.get()]} of the texts that allow it, ` +
        `it finds ${found} of ${tested} subjects when the object comes first.`;
    }

    draw();
    return el("div.sx-turned-texts", [at.element, host, status]);
  }

  course.figures.turned_texts = build;
  return {};
});
