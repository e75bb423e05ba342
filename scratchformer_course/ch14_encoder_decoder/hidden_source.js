// A translation and what each of its words reads, as a map of percents. An English word that is
// pressed is hidden from the decoder: the translation and its map are those that it makes without it.

course.define("hiddenSource", () => {
  const { el, button, note, table, press, newStatus } = course.live;
  const SHOWN = 5; // percents from which a cell has its number

  // The column that each row reads most
  const most = (rows) => rows.map((row) => row.indexOf(Math.max(...row)));

  function build({ words, states }) {
    let hidden = -1; // none
    const names = words.map((word, s) =>
      button(word, () => hide(s), { class: word.length > 1 ? "sx-on-end" : null }),
    );
    const grid = table(["", ...names], []);
    const status = newStatus();

    function hide(s) {
      hidden = hidden === s ? -1 : s;
      draw();
    }

    function draw() {
      const { said, rows } = states[hidden + 1];
      const peaks = most(rows);
      const kind = (t, s) => (s === hidden ? "sx-gone" : s === peaks[t] ? "sx-most" : null);
      const cells = rows.map((row, t) => [
        said[t],
        ...row.map((percent, s) =>
          el(
            "td",
            { style: `--w: ${percent}`, class: kind(t, s) },
            percent < SHOWN ? "" : String(percent),
          ),
        ),
      ]);
      press(names, hidden);
      grid.tBodies[0].replaceWith(table([], cells).tBodies[0]); // the buttons keep the focus
      const without = hidden < 0 ? "It" : `Without “${words[hidden]}” it`;
      status.textContent = `${without} writes: ${said.join(" ")}`;
    }

    draw();
    return el("div", [
      note(
        "Press an English word to hide it, and press it again to bring it back. Numbers are percents of " +
          "a row, with a frame around the largest.",
      ),
      status,
      grid,
    ]);
  }

  course.figures.hidden_source = build;
  return { most };
});
