// Two sentences that a reader puts together from nouns and verbs: how near a real BERT holds them, as
// measured, beside whether they say the same; and what the reader has found so far.

course.define("twoSentences", () => {
  const { el, table, bar, newStatus } = course.live;

  // Every sentence that can be put together, in the order of composed.py
  const sentencesOf = (nouns, verbs) =>
    nouns.flatMap(([first, who]) =>
      verbs.flatMap(([verb, done, isTurned]) =>
        nouns
          .filter(([, other]) => other !== who)
          .map(([second, other]) => ({
            text: `The ${first} ${verb} the ${second}.`,
            says: [done, ...(isTurned ? [other, who] : [who, other])].join(),
          })),
      ),
    );

  // The stored cosine of two of n sentences, i before j
  function cosineOf(cosines, n, i, j) {
    const at = 3 * (i * n - (i * (i + 1)) / 2 + j - i - 1);
    return Number(cosines.slice(at, at + 3)) / 1000;
  }

  function build({ nouns, verbs, cosines, first }) {
    const sentences = sentencesOf(nouns, verbs);
    const names = nouns.map(([name]) => name);
    const whoIs = (field) => nouns[field.selectedIndex][1];
    const host = el("div");
    const status = newStatus();
    let farthest; // of those that say the same
    let nearest; // of those that say different things

    function sentenceFields(name, start) {
      const { text } = sentences[start];
      const choice = (what, texts, chosen, onchange) =>
        el(
          "select",
          { "aria-label": `${name}: ${what}`, onchange },
          texts.map((option) => el("option", { selected: option === chosen }, option)),
        );
      const [, one, verb, two] = text.match(/^The (\S+) (.+) the (\S+)\.$/);
      const a = choice("first noun", names, one, () => settle(a, b));
      const does = choice(
        "verb",
        verbs.map(([words]) => words),
        verb,
        draw,
      );
      const b = choice("second noun", names, two, () => settle(b, a));
      const at = () => `The ${a.value} ${does.value} the ${b.value}.`;
      return { element: el("div.sx-sentence", "The", a, does, "the", b), at };
    }

    // Both nouns mean different ones: the one that was not chosen gives way
    function settle(chosen, other) {
      if (whoIs(chosen) === whoIs(other)) {
        other.selectedIndex = nouns.findIndex(([, who]) => who !== whoIs(chosen));
      }
      draw();
    }

    const lines = first.map((start, i) => sentenceFields(`Sentence ${i + 1}`, start));
    const row = (name, found) => [
      [name, el("small", found ? found.texts.join(" ") : "none yet")],
      found ? found.cosine.toFixed(3) : "",
      found ? bar(found.cosine) : "",
    ];

    function draw() {
      const chosen = lines.map(({ at }) => sentences.findIndex(({ text }) => text === at()));
      const [i, j] = chosen.toSorted((a, b) => a - b);
      const isSame = sentences[i].says === sentences[j].says;
      const cosine = i === j ? 1 : cosineOf(cosines, sentences.length, i, j);
      const found = { cosine, texts: chosen.map((n) => sentences[n].text) };
      if (i !== j && isSame && !(cosine >= farthest?.cosine)) farthest = found;
      if (!isSame && !(cosine <= nearest?.cosine)) nearest = found;
      const rows = [
        row("the lowest that you found of two that say the same", farthest),
        row("the highest of two that say different things", nearest),
      ];
      host.replaceChildren(table(["", "cosine", ""], rows, { class: "sx-bars" }));
      const what = isSame ? "These two say the same" : "These two say different things";
      const verdict = i === j ? "These are the same words" : what;
      const isFooled = nearest?.cosine > farthest?.cosine;
      status.textContent =
        `${verdict}, and their cosine is ${cosine.toFixed(3)}.` +
        (isFooled ? " You have fooled it: the different ones are nearer than the same." : "");
    }

    draw();
    return el("div.sx-two-sentences", [lines.map(({ element }) => element), status, host]);
  }

  course.figures.two_sentences = build;
  return { sentencesOf, cosineOf };
});
