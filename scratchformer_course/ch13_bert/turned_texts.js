// Networks whose German texts put the object first now and then, more often as the slider moves: how
// many subjects each finds, by the article that shows who acts, and what it writes into the gap of a
// sentence of each kind. Stored runs.

course.define("turnedTexts", () => {
  const { el, sliderOver, table, bar, newStatus } = course.live;

  function build({ runs, texts, tested }) {
    const shares = runs.map(([share]) => share.replace("%", " %"));
    const at = sliderOver("Object first", shares, draw);
    const host = el("div");
    const status = newStatus();

    function draw() {
      const [, found, ...kinds] = runs[at.get()];
      const rows = kinds.map(([right, of, word], i) => {
        const [german, english] = texts[i];
        const parts = german
          .split("*")
          .map((part, j) => (j % 2 ? el(`strong.sx-${part}`, part) : part));
        const [before, after] = english.split("_");
        return [
          [...parts, el("small", before, el("em", word), after)],
          `${right} of ${of}`,
          bar(right / of),
        ];
      });
      host.replaceChildren(table(["", "found", ""], rows, { class: "sx-bars" }));
      status.textContent =
        `A network of its own, trained with the object first in ${shares[at.get()]} of the texts ` +
        `that allow it, finds ${found} of ${tested} subjects.`;
    }

    draw();
    return el("div.sx-turned-texts", [at.element, host, status]);
  }

  course.figures.turned_texts = build;
  return {};
});
