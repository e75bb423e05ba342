// Networks whose German texts put the object first now and then, more often as the slider moves: how
// many subjects each finds, and what it writes into the gap of the chapter's sentence. Stored runs.

course.define("turnedTexts", () => {
  const { el, sliderOver, table, bar, newStatus, percent } = course.live;

  function build({ runs, orders, tested }) {
    const shares = runs.map(([share]) => share);
    const at = sliderOver("Texts with the object first", shares, draw);
    const host = el("div");
    const status = newStatus();

    function draw() {
      const [share, found, ...said] = runs[at.get()];
      const rows = orders.map((order, i) => [
        order,
        said[i][0],
        percent(said[i][1]),
        bar(said[i][1]),
      ]);
      const head = ["beside “the ▢ sees every cat”", "it writes", "", ""];
      host.replaceChildren(table(head, rows, { class: "sx-bars" }));
      status.textContent =
        `Trained with the object first in ${share} of the texts that allow it, ` +
        `it finds ${found} of ${tested} subjects when the object comes first.`;
    }

    draw();
    return el("div.sx-turned-texts", [at.element, host, status]);
  }

  course.figures.turned_texts = build;
  return {};
});
