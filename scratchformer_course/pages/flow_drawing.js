// What a model computes on the way from a text to the next character, and the drawing of it: as in
// flow_numbers.py and flow.py, whose words are not repeated here.

course.define("flowDrawing", () => {
  const { visible, ranked, listOf, mean } = course.live;
  const [CELLS, CHANCES] = [8, 5];

  // Of the last tokens, `most` of them; `which` are the two heads, as [block, head]
  function measure({ model, tokenizer, ids, run }, which, most) {
    const C = model.config.d_model;
    const { readOut, probabilities } = course.model;
    const [S, T] = [ids.length, Math.min(ids.length, most)];
    const letter = (id) => visible(tokenizer.decode([id]));
    const vector = (x, i) => x.subarray((S - T + i) * C, (S - T + i + 1) * C);
    const lens = run.stream.slice(1).map((x) => probabilities(readOut(model, vector(x, T - 1))));
    const named = (p) => (id) => [letter(id), p[id]];
    return {
      letters: ids.slice(-T).map(letter),
      ids: ids.slice(-T),
      vectors: listOf(T, (i) => [...vector(run.stream[0], i).subarray(0, CELLS)]),
      heads: which.map(([block, h]) => {
        const row = (i) => (h * S + S - T + i) * S + S - T;
        return listOf(T, (i) => [...run.attention[block].subarray(row(i), row(i) + T)]);
      }),
      lengths: run.stream.map((x) => listOf(T, (i) => Math.hypot(...vector(x, i)))),
      guesses: lens.map((p) => named(p)(ranked(p)[0])),
      chances: ranked(lens.at(-1))
        .slice(0, CHANCES)
        .map(named(lens.at(-1))),
    };
  }

  // What stands for {names} in the sentences
  function wordsOf({ letters, heads: [back, wide], guesses, chances }, read) {
    const shares = back.map((row, i) => row[i - 1]).slice(1);
    const percent = (share) => (100 * share).toFixed(0);
    return {
      text: letters.join("").replaceAll("␣", " "),
      read,
      drawn: letters.length,
      left_out: "",
      back: percent(shares.length ? mean(shares) : 0),
      most: percent(Math.max(...wide.at(-1))),
      blocks: guesses.length,
      first: guesses[0][0],
      last: guesses.at(-1)[0],
      next: chances[0][0],
    };
  }

  // ---- the drawing -------------------------------------------------------------------------

  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const round = (x) => Number(x.toFixed(1));

  // Shapes of one look are one path; `a` is along the flow, `c` across it
  function newPen(isVertical) {
    const paths = {};
    let words = "";
    const at = (a, c) => (isVertical ? [c, a] : [a, c]).map(round);
    function path(look, command, ...points) {
      const [first, ...rest] = points.map(([a, c]) => at(a, c).join(" "));
      paths[look] = `${paths[look] ?? ""}M${first}${command}${rest.join(" ")}`;
    }
    const line = (look, a, c, to) => path(look, "L", [a, c], [to, c]);
    function curve(look, a, c, toA, toC) {
      const middle = (a + toA) / 2;
      path(look, "C", [a, c], [middle, c], [middle, toC], [toA, toC]);
    }
    function box(look, a, c, length, breadth) {
      const [low, high, end] = [c - breadth / 2, c + breadth / 2, a + length];
      path(look, "L", [a, low], [end, low], [end, high], [a, high], [a, low]);
    }
    function word(a, c, text, kind = "") {
      const [x, y] = at(a, c);
      const named = kind && ` class="${kind}"`;
      words += `<text x="${x}" y="${y}" dy=".35em"${named}>${escaped(text)}</text>`;
    }
    const shape = (look) => `<path ${look} d="${paths[look]}"/>`;
    const drawn = () => Object.keys(paths).map(shape).join("") + words;
    return { path, line, curve, box, word, drawn };
  }

  // The shapes of each stage, as SVG
  function draw(n, { edges, lane, margin, lanes, is_vertical, number: [gap, room] }, colours) {
    const T = n.ids.length;
    const shared = (i) => margin + lane * (i + 0.5);
    const across = (i) => shared(i + lanes - T); // a short text is at the end, beside the next token
    const stroke = (colour, width = 1, opacity = 1) =>
      `fill="none" stroke="${colours[colour]}" stroke-width="${width}" stroke-opacity="${opacity}"`;
    const filled = (colour, opacity, line = 0) =>
      `fill="${colours[colour]}" fill-opacity="${opacity}" stroke="${colours[colour]}" stroke-width="${line}"`;
    const strand = (i) => (i === T - 1 ? stroke("stream", 2) : stroke("stream", 1, 0.5));
    return [tokens, vectors, heads, blocks, chances].map((part, k) => {
      const pen = newPen(is_vertical);
      part(pen, edges[k], edges[k + 1]);
      return pen.drawn();
    });

    function tokens(pen, start, end) {
      [...n.letters, n.chances[0][0]].forEach((letter, i) => {
        const slot = i === T ? ' class="flow-slot" stroke-dasharray="3 2"' : "";
        pen.box(filled("token", 0.16, 1.3) + slot, start + 4, across(i), 20, lane - 4);
        pen.word(start + 14, across(i), letter, slot ? "flow-letter flow-next" : "flow-letter");
        if (i === T) return;
        pen.word(start + 42, across(i), String(n.ids[i]));
        pen.line(strand(i), start + 56, across(i), end);
      });
    }

    function vectors(pen, start, end) {
      const largest = Math.max(...n.vectors.flat().map(Math.abs));
      const size = (end - start - 16) / CELLS;
      n.vectors.forEach((vector, i) => {
        vector.forEach((x, j) => {
          const look = filled(
            x > 0 ? "stream" : "key",
            Math.max(0.1, round(Math.abs(x) / largest)),
          );
          pen.box(look, start + size * j, across(i), size - 1, lane - 3);
        });
        pen.line(strand(i), end - 16, across(i), end);
      });
    }

    function heads(pen, start, end) {
      const half = (end - start) / 2;
      for (const i of n.ids.keys()) pen.line(strand(i), start, across(i), end);
      n.heads.forEach((weights, k) => {
        const begin = start + half * k + 8;
        weights.forEach((row, i) => {
          row.forEach((weight, j) => {
            if (weight < 0.03) return;
            const look = stroke("query", 1.8, round(weight ** 0.5 * (i === T - 1 ? 1 : 0.6)));
            pen.curve(look, begin, across(j), begin + half - 16, across(i));
          });
        });
      });
    }

    function blocks(pen, start, end) {
      const step = (end - start) / n.guesses.length;
      const [middle, high] = [across((T - 1) / 2), lane * (T + 0.2)];
      const thick = (length) => stroke("stream", round(length / 2.5), 0.8);
      n.guesses.forEach((_, k) => {
        const a = start + step * k;
        pen.box(filled("query", 0.3, 1.3), a + 0.1 * step, middle, 0.2 * step, high);
        pen.box(filled("value", 0.3, 1.3), a + 0.31 * step, middle, 0.2 * step, high);
        n.ids.forEach((_, i) => {
          pen.line(thick(n.lengths[k][i]), a, across(i), a + 0.3 * step);
          pen.line(thick(n.lengths[k + 1][i]), a + 0.3 * step, across(i), a + step);
        });
      });
      const guessed = `fill="var(--pst-color-background, Canvas)" stroke="${colours.stream}" stroke-width="1.5"`;
      n.guesses.forEach(([guess], k) => {
        pen.box(guessed, start + step * (k + 0.57), across(T - 1), 0.38 * step, lane - 3);
        pen.word(start + step * (k + 0.76), across(T - 1), guess, "flow-letter");
      });
    }

    function chances(pen, start, end) {
      const [begin, space] = [start + 0.2 * (end - start), lanes / n.chances.length];
      const longest = end - begin - gap - room - 42;
      n.chances.forEach(([letter, p], k) => {
        const [c, bar] = [shared(space * (k + 0.5) - 0.5), (longest * p) / n.chances[0][1]];
        pen.curve(stroke("query", 1 + 12 * p, 0.6), start, across(T - 1), begin, c);
        pen.word(begin + 14, c, letter, "flow-large");
        pen.box(filled("query", 0.85), begin + 28, c, Math.max(bar, 1), lane);
        pen.word(begin + 28 + bar + gap, c, `${(100 * p).toFixed(1)} %`, "flow-chance");
      });
      const [c, back, far] = [shared(space / 2 - 0.5), across(T), end - 6];
      pen.path(stroke("token", 1.8), "L", [end - 14, c], [far, c], [far, back], [30, back]);
      pen.path(stroke("token", 1.8), "L", [38, back - 5], [30, back], [38, back + 5]);
    }
  }

  return { measure, wordsOf, draw };
});
