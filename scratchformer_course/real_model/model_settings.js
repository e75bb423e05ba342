// Needs: model_panel.js
// What the model's file says of itself, as it was recorded, and as this browser reads it from the
// file that is there.

course.define("modelSettings", () => {
  const { el } = course;
  const HEAD = 16384; // bytes: the settings are in front of the tokenizer, which is long
  const [WHOLE, STRING] = [4, 8]; // GGUF's kinds of values

  // The setting of this name in the first bytes of a GGUF file, or undefined. A string, such as a
  // name, has its length in front, in 8 bytes
  function settingOf(buffer, name) {
    const [view, text] = [new DataView(buffer), new TextDecoder("latin1").decode(buffer)];
    const marked = `${String.fromCharCode(name.length)}${"\0".repeat(7)}${name}`;
    const place = text.indexOf(marked);
    const start = place + marked.length;
    if (place < 0) return undefined;
    if (view.getUint32(start, true) === WHOLE) return view.getUint32(start + 4, true);
    const string = new Uint8Array(buffer, start + 12, view.getUint32(start + 4, true));
    return view.getUint32(start, true) === STRING ? new TextDecoder().decode(string) : undefined;
  }

  // settings: {rows: [words, setting's name, its recorded value]}
  course.figures.model_settings = ({ rows }) => {
    const { table, grouped } = course.live;
    const shown = (value) => (typeof value === "number" ? grouped(value) : value);
    const cells = rows.map(() => el("td", "–"));
    async function fill(blob) {
      const head = await blob.slice(0, HEAD).arrayBuffer();
      for (const [i, [, name]] of rows.entries()) {
        cells[i].textContent = shown(settingOf(head, name) ?? "not there");
      }
    }
    function empty() {
      for (const cell of cells) cell.textContent = "–";
    }
    const lines = rows.map(([words, , value], i) => [words, shown(value), cells[i]]);
    return el("div", [
      course.modelPanel.newModelPanel(fill, empty),
      table(["", "recorded", "in your file"], lines),
    ]);
  };
  return { settingOf };
});
