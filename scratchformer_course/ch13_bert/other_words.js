// One of twenty sentences, the same in other words, and another meaning in nearly the same words:
// how near a real BERT holds them to each other, as measured.

course.define("otherWords", () => {
  const { el, sliderOver, table, bar, title, newStatus } = course.live;

  function build({ triples, first }) {
    const numbers = triples.map((_, i) => `${i + 1} of ${triples.length}`);
    const at = sliderOver("Sentence", numbers, draw, first);
    const sentence = title();
    const host = el("div");
    const status = newStatus();

    function draw() {
      const [said, texts, cosines] = triples[at.get()];
      const names = ["the same, in other words", "another meaning"];
      sentence.textContent = said;
      const rows = cosines.map((cosine, i) => [
        i < 2 ? [texts[i], el("small", names[i])] : "these two, compared with each other",
        cosine.toFixed(2),
        bar(cosine),
      ]);
      host.replaceChildren(table(["", "cosine", ""], rows, { class: "sx-bars" }));
      const nearer = names[Number(cosines[1] > cosines[0])];
      status.textContent = `MiniLM holds ${nearer} for nearer: ${Math.max(...cosines.slice(0, 2)).toFixed(2)}.`;
    }

    draw();
    return el("div.sx-other-words", [at.element, sentence, host, status]);
  }

  course.figures.other_words = build;
  return {};
});
