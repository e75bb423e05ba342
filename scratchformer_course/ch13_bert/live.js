// Fill the gap: two texts with worn-away words, and what the shipped BERT would write in each gap.
//
// Needs: page_model/model.js page_model/bert.js

course.define("ch13_bert", () => {
  const { el, label, percent, button, table, bar, fold, title, ranked, scrolling } = course.live;
  const { newStatus } = course.live;
  const { load, row, gaps, MASK } = course.bert;
  const FEW = 5; // candidates that are shown for each gap
  const GAP = /^[_▢…?]+$/;

  // A text -> its pieces, words and gaps; a comma is a piece, and marks at a sentence's end are none
  const cut = (text) =>
    text
      .replaceAll(",", " , ")
      .replaceAll(/[.!;:"]/g, " ")
      .split(/\s+/)
      .filter(Boolean);

  // The id of a piece: of the word as it stands, or in the other case; a gap's, or undefined
  function idOf(words, piece) {
    if (GAP.test(piece)) return MASK;
    const lower = piece.toLowerCase();
    const ways = [piece, lower, lower.charAt(0).toUpperCase() + lower.slice(1)];
    return ways.map((way) => words.indexOf(way, MASK + 1)).find((id) => id >= 0);
  }

  // What the model reads of two texts: its row; for each gap its text and piece; and the words that
  // it does not know, read as gaps. Pieces that do not fit are left out, from the end of the longer.
  function reading(words, texts, most) {
    const pieces = texts.map(cut);
    const length = () => row(...pieces).ids.length;
    let dropped = 0;
    for (; length() > most; dropped++) pieces[Number(pieces[1].length > pieces[0].length)].pop();
    const unknown = pieces.flat().filter((piece) => idOf(words, piece) === undefined);
    const ids = pieces.map((piecesOfText) =>
      piecesOfText.map((piece) => idOf(words, piece) ?? MASK),
    );
    const gapPlaces = ids.flatMap((idsOfText, text) =>
      idsOfText.flatMap((id, piece) => (id === MASK ? [{ text, piece }] : [])),
    );
    return { pieces, row: row(...ids), found: gapPlaces, unknown, dropped };
  }

  // The gaps of a reading, with the likeliest words first: [{text, piece, best: [[id, p], …]}]
  function candidates(model, read) {
    return gaps(model, read.row).map(({ p }, i) => {
      const best = ranked(p).slice(0, FEW);
      return { ...read.found[i], best: best.map((id) => [id, p[id]]) };
    });
  }

  // The gap of which the model is surest
  const surest = (shown) => shown.reduce((a, b) => (b.best[0][1] > a.best[0][1] ? b : a));

  // ---- the figure --------------------------------------------------------------------------

  function build({ texts, names, examples }, host) {
    const description = course.described(host.dataset.models);
    const { words } = description;
    const model = load(description);
    const most = model.config.context_length;
    let example = 0; // of the examples
    let read;
    let shown;

    const plain = { type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off" };
    const fields = texts.map((value) => el("input", { ...plain, value, oninput: () => draw() }));
    const second = fields[1];
    const hide = button(`Hide the ${names[1]} text`, () => {
      second.disabled = !second.disabled;
      hide.setAttribute("aria-pressed", String(second.disabled));
      draw();
    });
    hide.setAttribute("aria-pressed", String(false));
    const fill = button("Fill the surest gap", () => {
      if (shown.length) write(surest(shown));
    });
    const status = newStatus();
    const list = scrolling("sx-scroll", "Gaps");
    list.classList.add("sx-fill-gaps");
    const known = words.slice(MASK + 1);
    const element = el("div.sx-fill", [
      fields.map((field, i) => el("div", label(names[i], field), field)),
      el("div.sx-bar", [
        fill,
        hide,
        button("Another sentence", () => {
          example = (example + 1) % examples.length;
          set(examples[example]);
        }),
      ]),
      status,
      list,
      fold(`The ${known.length} words it knows`, el("p.sx-fill-words", known.join(" · "))),
    ]);

    function set(values) {
      for (const [i, field] of fields.entries()) field.value = values[i];
      draw();
    }

    // A word into a gap: the likeliest, or the one that was chosen
    function write({ text, piece, best }, id = best[0][0]) {
      const pieces = read.pieces[text].map((oldPiece, i) => (i === piece ? words[id] : oldPiece));
      fields[text].value = pieces.join(" ");
      draw(
        `Wrote ${words[id]}, which had ${percent(best.find(([candidate]) => candidate === id)[1])}.`,
      );
    }

    // A gap with its neighbours, as a title
    function around({ text, piece }) {
      const shownPieces = read.pieces[text].map((shownPiece) =>
        GAP.test(shownPiece) ? "▢" : shownPiece,
      );
      const [before, after] = [shownPieces[piece - 1], shownPieces[piece + 1]];
      return [before ? `${before} ` : "", el("b", "▢"), after ? ` ${after}` : ""];
    }

    // With a sentence on what was written
    function draw(written = "") {
      const typed = fields.map((field) => (field.disabled ? "" : field.value));
      read = reading(words, typed, most);
      shown = candidates(model, read);
      const focused = list.contains(document.activeElement) && document.activeElement.dataset.place;
      list.replaceChildren(
        ...shown.map((gap, n) => {
          const name = title([`Gap ${n + 1} · `, around(gap)]);
          const rows = gap.best.map(([id, p], place) => [
            button(words[id], () => write(gap, id), {
              "aria-label": `Write ${words[id]} into gap ${n + 1}`,
              "data-place": place,
            }),
            percent(p),
            bar(p),
          ]);
          return el("div", name, table(["word", "probability", ""], rows, { class: "sx-bars" }));
        }),
      );
      status.textContent = say(written);
      if (focused) (list.querySelector(`[data-place="${focused}"]`) ?? fill).focus();
    }

    function say(written) {
      const sentences = [written];
      if (read.unknown.length) {
        const which = [...new Set(read.unknown)].map((word) => `“${word}”`).join(", ");
        sentences.push(`It does not know ${which} and reads a gap there.`);
      }
      if (read.dropped) sentences.push(`Only ${most} tokens fit: the end is left out.`);
      if (!shown.length) sentences.push("No gap: type _ in place of a word.");
      else {
        const gap = surest(shown);
        const [id, p] = gap.best[0];
        const where = shown.length > 1 ? `Surest of gap ${shown.indexOf(gap) + 1}: ` : "";
        sentences.push(`${where}${words[id]}, ${percent(p)}.`);
      }
      return sentences.filter(Boolean).join(" ");
    }

    draw();
    return element;
  }

  course.figures.fill_gaps = build;
  return { reading, candidates };
});
