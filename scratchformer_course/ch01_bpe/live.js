// Merges: a text that the reader types grows from bytes to tokens, one merge at a time.
//
// The tokenizer makes the merges; here they are put in order and drawn.
// Step n has done the first n merges of learning, so it is the state of a tokenizer with
// 256 + n tokens. A piece is a tree: {id, bytes, step, from}, `from` the pieces it was made of.
//
// Needs: page_model/tokenizer.js

course.define("ch01_bpe", () => {
  const BYTES = 256;
  const stepOf = (id) => Math.max(0, id - BYTES + 1); // the merge that makes the token `id`

  // ---- calculations ------------------------------------------------------------------------

  function load({ merged, pattern }) {
    const bytes = listOf(BYTES, (i) => String.fromCharCode(i));
    return course.tokenizer.load({
      tokenizer: "ByteBPE",
      tokens: [...bytes, ...merged],
      special_tokens: {},
      pattern,
    });
  }

  // What happens to a chunk, in order. A merge may make room for one that was learned before it;
  // that one happens in the same step.
  function changesOf(tokenizer, chunk) {
    const changes = [];
    let step = 0;
    tokenizer.merge(chunk, (place, n, id) => {
      step = Math.max(step, stepOf(id));
      changes.push({ step, place, n, id });
    });
    return changes;
  }

  // The chunks of a text, each with its changes; equal ones share them
  function read(tokenizer, text) {
    const known = new Map();
    return tokenizer.cut(text).map((chunk) => {
      if (!known.has(chunk)) known.set(chunk, { chunk, changes: changesOf(tokenizer, chunk) });
      return known.get(chunk);
    });
  }

  // The pieces of a chunk after so many merges
  function piecesAt({ chunk, changes }, step) {
    /** @type {any[]} */
    const pieces = Array.from(chunk, (bytes) => {
      return { id: bytes.charCodeAt(0), bytes, step: 0, from: [] };
    });
    for (const change of changes) {
      if (change.step > step) break;
      const from = pieces.slice(change.place, change.place + change.n);
      const bytes = from.map((piece) => piece.bytes).join("");
      pieces.splice(change.place, change.n, { id: change.id, bytes, step: change.step, from });
    }
    return pieces;
  }

  // The steps that change the text: [{step, from: ids, id, times, left: number of tokens}], by step
  function summary(chunks) {
    const merges = new Map();
    function visit({ id, step, from }) {
      if (!from.length) return;
      from.forEach(visit);
      const ids = from.map((piece) => piece.id);
      const key = [step, id, ...ids].join();
      if (!merges.has(key)) merges.set(key, { step, from: ids, id, times: 0 });
      merges.get(key).times++;
    }
    for (const chunk of chunks) piecesAt(chunk, Infinity).forEach(visit);
    let left = chunks.reduce((n, { chunk }) => n + chunk.length, 0);
    const rows = [...merges.values()].sort((a, b) => a.step - b.step || b.id - a.id);
    return rows.map((row) => {
      left -= row.times * (row.from.length - 1);
      return { ...row, left };
    });
  }

  // A token as a reader can see it; bytes that are no text are written as numbers
  function label(bytes) {
    const numbers = Array.from(bytes, (byte) => byte.charCodeAt(0));
    const signs = { " ": "·", "\n": "⏎", "\t": "⇥" };
    try {
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
      const text = decoder.decode(Uint8Array.from(numbers)).replaceAll(/[ \n\t]/g, (c) => signs[c]);
      if (!/[\p{C}\p{Z}]/u.test(text)) return text;
    } catch {
      // a part of a character
    }
    return numbers.map((number) => `<${number}>`).join("");
  }

  const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${n} times`);

  // ---- drawing -----------------------------------------------------------------------------

  const { el, button, slider, note, title, scrolling, table, rovingLine, fold } = course.live;
  const { listOf, newStatus, drawing, words, line, circle, way, press, player } = course.live;
  const { grouped } = course.live;

  // Bytes above, the piece below, a line from each part to what it became
  function tree(root) {
    const parts = [];
    const lines = [];
    const merges = [];
    const level = 62;
    const wide = [...root.bytes].some((byte) => label(byte).length > 1) ? 52 : 36;
    let leaves = 0;
    function place(piece) {
      const from = piece.from.map(place);
      const height = from.length ? 1 + Math.max(...from.map((part) => part.height)) : 0;
      const x = from.length ? (from[0].x + from.at(-1).x) / 2 : (leaves++ + 0.5) * wide;
      const y = 2 + height * level;
      const text = label(piece.bytes);
      const width = Math.max(text.length * 8.6, String(piece.id).length * 8) + 8;
      for (const part of from) {
        lines.push(line(part.x, 44 + part.height * level, x, y));
      }
      parts.push(
        el("svg:rect", { x: x - width / 2, y, width, height: 42, rx: 5, class: "sx-token" }),
        el("svg:text.sx-mono", { x, y: y + 17, "text-anchor": "middle" }, text),
        words(piece.id, x, y + 35),
      );
      if (from.length)
        merges.push(`${piece.from.map((p) => label(p.bytes)).join(" + ")} = ${text}`);
      return { x, height };
    }
    const tall = 48 + place(root).height * level;
    const width = leaves * wide + 40;
    const name = merges.length ? `Merges, first to last: ${merges.join("; ")}` : "A single byte";
    const frame = { viewBox: `-20 0 ${width} ${tall}`, width, height: tall };
    return drawing(0, 0, { ...frame, "aria-label": `${name}, id ${root.id}.` }, lines, parts);
  }

  // The number of tokens against the number of merges
  function chart(rows, bytes, step, most, left) {
    const [x0, y0, width, height] = [44, 132, 250, 100];
    const x = (n) => x0 + (n / most) * width;
    const y = (n) => y0 - (n / (bytes || 1)) * height;
    const path = rows.map((row) => `H${x(row.step).toFixed(1)}V${y(row.left).toFixed(1)}`);
    const late = step > 0.85 * most; // where the number has no room on the right
    const name =
      `Tokens of the text against merges: ${bytes} without a merge, ` +
      `${left} after ${step}, ${rows.at(-1)?.left ?? bytes} after all ${most}.`;
    return drawing(320, 174, { width: 320, "aria-label": name }, [
      way(`M${x0} ${y0 - height}V${y0}H${x0 + width}`, "sx-axis"),
      way(`M${x0} ${y(bytes)}${path.join("")}H${x0 + width}`, "sx-curve"),
      line(x(step), y0, x(step), y(left), "sx-now"),
      circle(x(step), y(left), 5),
      step > 0 && bytes
        ? el(
            "svg:g.sx-left",
            words(left, x(step) + (late ? 5 : 8), y(left) - 9, late ? "end" : "start"),
          )
        : null,
      words(bytes, x0 - 6, y(bytes) + 4, "end"),
      words(0, x0 - 6, y0 + 4, "end"),
      words(0, x0, y0 + 19),
      words(most, x0 + width, y0 + 19),
      words("merges learned", x0 + width / 2, y0 + 37),
      words("tokens of the text", x0 - 36, y0 - height - 18, "start"),
    ]);
  }

  function build(settings) {
    const tokenizer = load(settings);
    const most = settings.merged.length;
    const name = (id) => label(tokenizer.tokens[id]);
    const joined = ({ from, id }) => `${from.map(name).join(" + ")} → ${name(id)}, id ${id}`;
    let chunks;
    let rows;
    let bytes;
    let chosen; // a byte's place: its piece is the one looked at

    const field = el("textarea", { rows: 2, spellcheck: "false", oninput: () => typed() });
    field.value = settings.text;
    const warning = el("p.sx-caption", { role: "status" });
    const merge = slider("Merges", { max: most, value: settings.start }, () => {
      draw();
      play.moved();
    });
    const status = newStatus();
    const list = el("div.sx-pieces", { role: "group", "aria-label": "Pieces" });
    const heading = title();
    const made = scrolling("sx-scroll", "What the piece was made of");
    const curve = el("div");
    const history = scrolling("sx-scroll", "All merges of this text");
    const details = fold("All merges of this text as a table", history);
    details.addEventListener("toggle", drawHistory);
    let buttons = [];
    rovingLine(list, () => buttons);

    // Where nothing moves by itself, *Next merge* does the same
    const play = player(merge, () => (merge.get() < most ? after() : 0));

    const before = () => rows.findLast((row) => row.step < merge.get())?.step ?? 0;
    const after = () => rows.find((row) => row.step > merge.get())?.step ?? most;

    // The longest token of the text is the piece that is looked at first
    function typed() {
      const letters = Array.from(field.value);
      const text = letters.slice(0, settings.longest).join("");
      chunks = read(tokenizer, text);
      rows = summary(chunks);
      bytes = chunks.reduce((n, { chunk }) => n + chunk.length, 0);
      let place = 0;
      let longest = 0;
      for (const piece of chunks.flatMap((chunk) => piecesAt(chunk, Infinity))) {
        if (piece.bytes.length > longest) [chosen, longest] = [place, piece.bytes.length];
        place += piece.bytes.length;
      }
      const faults = [];
      if (letters.length > settings.longest) {
        const [read, all] = [settings.longest, letters.length].map(grouped);
        faults.push(`Only the first ${read} of ${all} characters are read.`);
      }
      if (tokenizer.wellFormed(text) !== text) faults.push("Half a character was read as �.");
      if (!bytes) faults.push("Type a text.");
      warning.textContent = faults.join(" ");
      drawHistory();
      draw();
    }

    function draw() {
      const step = merge.get();
      const now = rows.filter((row) => row.step === step);
      const pieces = chunks.map((chunk) => piecesAt(chunk, step));
      const left = pieces.reduce((n, ofChunk) => n + ofChunk.length, 0);
      status.textContent = `${stepInWords(step, now)} ${left} ${left === 1 ? "token" : "tokens"}.`;
      drawPieces(pieces, step);
      curve.replaceChildren(chart(rows, bytes, step, most, left));
    }

    function stepInWords(step, now) {
      if (step === 0) return "No merge yet: each byte is a piece.";
      const merges = now.map((row) => `${joined(row)}, ${times(row.times)} in this text`);
      if (now.length) return `Merge ${step}: ${merges.join("; ")}.`;
      const id = step + BYTES - 1;
      const chunk = tokenizer.tokens[id];
      const from = piecesAt({ chunk, changes: changesOf(tokenizer, chunk) }, step - 1);
      return `Merge ${step}: ${joined({ from: from.map((piece) => piece.id), id })}, not in this text.`;
    }

    function drawPieces(pieces, step) {
      let place = 0;
      let reached = /** @type {any} */ (null); // what choose() is given
      buttons = [];
      list.replaceChildren(
        ...pieces.flatMap((ofChunk) => {
          const drawn = ofChunk.map((piece) => {
            const at = place;
            const column = buttons.length;
            place += piece.bytes.length;
            const parts = [el("span", label(piece.bytes)), el("small", piece.id)];
            const pieceButton = button(parts, () => choose(piece, at, column), {
              "data-column": column,
            });
            pieceButton.classList.add("sx-piece", column % 2 ? "sx-odd" : "sx-even");
            pieceButton.classList.toggle("sx-new", step > 0 && piece.step === step);
            buttons.push(pieceButton);
            if (at <= chosen && chosen < place) reached = [piece, at, column];
            return pieceButton;
          });
          const ends = ofChunk.some((piece) => piece.bytes.includes("\n"));
          return [el("span.sx-chunk", drawn), ...(ends ? [el("span.sx-break")] : [])];
        }),
      );
      if (reached) choose(...reached);
      else for (const element of [heading, made]) element.replaceChildren();
    }

    function choose(piece, place, column) {
      chosen = place;
      press(buttons, column, true);
      const n = piece.bytes.length;
      heading.textContent = piece.from.length
        ? `${label(piece.bytes)} was made of ${n} bytes`
        : `${label(piece.bytes)} is a single byte, as it was at the start`;
      made.replaceChildren(tree(piece));
    }

    function drawHistory() {
      history.replaceChildren();
      if (!details.open) return; // it may be long
      const lines = rows.map(({ step, from, id, times, left }) => {
        return [step, from.map(name).join(" + "), name(id), id, times, left];
      });
      history.append(table(["merge", "pieces", "token", "id", "times", "tokens left"], lines));
    }

    const element = el("div.sx-merges", [
      el("div.sx-prompt", course.live.label("Text", field), field, warning),
      merge.element,
      el("div.sx-bar", [
        play.button,
        button("Back", () => merge.set(before())),
        button("Next merge", () => merge.set(after())),
        button("All merges", () => merge.set(most)),
      ]),
      status,
      el("div.sx-columns", [
        el("div.sx-main", [
          list,
          el("p.sx-caption.sx-legend", [
            el("span.sx-new", "made by the last merge"),
            el("span.sx-chosen", "the piece that you chose"),
          ]),
          note(
            "A dot stands for a space, and <159> for a " +
              "byte that is no character by itself. A grey field is a chunk: no merge leaves it. " +
              "Merges are numbered as they were learned, from the plays.",
          ),
          curve,
        ]),
        el("div.sx-detail", [
          heading,
          note("Choose another piece to see what it was made of."),
          made,
        ]),
      ]),
      details,
    ]);
    typed();
    return element;
  }

  course.figures.merges = build;
  return { load, read, piecesAt, summary, label };
});
