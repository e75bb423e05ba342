// What a model writes while it learns, as a film: every sample is kept, from the noise at step 0 to
// the end, and can be looked at again.

course.define("film", () => {
  const { el, button, rovingLine, title, note, table, listOf, drawing, fold } = course.live;
  const { press } = course.live;
  const FAINTEST = 0.02; // weights that are no larger are not drawn
  const OPENING = 60; // characters of a sample that stand in the table

  const inHundred = (share) => Math.round(100 * share);

  // Attention weights (T, T) of one head as a small map; what is above the diagonal stays empty
  function mapOf(weights, T, name) {
    const cells = Array.from(weights, (w, i) =>
      w > FAINTEST
        ? el("svg:rect", {
            ...{ x: i % T, y: Math.floor(i / T), width: 1, height: 1 },
            "fill-opacity": w.toFixed(3),
          })
        : null,
    );
    const label = `Attention weights of ${name}: rows ask, columns answer`;
    return drawing(T, T, { "aria-label": label }, cells);
  }

  // start(run) begins a new film, add(frame) shows its next frame: {step, right, loss, ids, maps},
  // where `ids` are written after those of run.first, and `maps` hold (H, T, T) weights of each
  // block. frames() gives these again, each with its text, and shown() the one in sight
  function newFilm() {
    const scene = course.scene.newScene("What the model writes");
    const heading = title("What it writes");
    const about = note("");
    scene.show(["", "Press the button. The first thing that it writes here is noise."]);
    const copy = course.scene.copyButton("Copy this scene", scene.plain);
    copy.disabled = true;
    const strip = el("div.sx-strip", { role: "group", "aria-label": "The film" });
    const maps = el("div.sx-maps");
    const bar = el("div.sx-bar", heading, copy);
    const element = el("div.sx-film", bar, strip, scene.element, about);
    const help = note(
      "Each row is a character of the shaded words, from the first to the last. Its cells are " +
        "the characters up to it. A stronger colour is more attention.",
    );
    const looks = fold("Where it looks", maps, help);
    const samples = el("div");
    const list = fold("The whole film", samples);
    let run = null;
    let frames = [];
    let buttons = [];
    let shown = -1;

    const textOf = (ids) => Array.from(ids, (id) => run.characters[id]).join("");

    function start(newRun) {
      [run, frames, buttons, shown] = [newRun, [], [], -1];
      strip.replaceChildren();
      looks.hidden = list.hidden = true;
    }

    function show(i) {
      const { step, right, text, maps: weights } = frames[i];
      shown = i;
      heading.textContent = step ? `After ${step} steps` : "Before training";
      scene.show([textOf(run.first), text]);
      scene.element.scrollTop = 0;
      about.textContent =
        `Shaded: what it is given. It gets the next character right about ${inHundred(right)} ` +
        "times in 100.";
      press(buttons, i, true);
      const T = run.first.length;
      const heads = weights.flatMap((ofBlock, block) =>
        listOf(run.config.n_heads, (head) => {
          const name = `block ${block + 1}, head ${head + 1}`;
          const ofHead = ofBlock.subarray(head * T * T, (head + 1) * T * T);
          return el("div", mapOf(ofHead, T, name), note(name));
        }),
      );
      maps.replaceChildren(...heads);
    }

    // What the model is worth at the end, asked about more text than the frames before were
    function settle(judged) {
      Object.assign(frames.at(-1), judged);
      drawList();
      if (shown === frames.length - 1) show(shown);
    }

    function drawList() {
      const rows = frames.map(({ step, right, text }) => {
        const opening = text.trim().slice(0, OPENING).replaceAll(/\s+/g, " ");
        return [step, inHundred(right), el("code", opening)];
      });
      const columns = ["step", "right in 100", "it writes"];
      samples.replaceChildren(table(columns, rows, { class: "sx-frames" }));
    }

    // A reader who looks at an older frame is not taken away from it
    function add(frame) {
      const isAtEnd = shown === frames.length - 1;
      const i = frames.push({ ...frame, text: textOf(frame.ids) }) - 1;
      const names = { "aria-label": `Step ${frame.step}`, "data-column": i };
      buttons.push(button(String(frame.step), () => show(i), names));
      strip.append(buttons[i]);
      looks.hidden = list.hidden = copy.disabled = false;
      drawList();
      if (isAtEnd) show(i);
      else buttons[i].tabIndex = -1;
    }

    looks.hidden = list.hidden = true;
    rovingLine(strip, () => buttons);
    const seen = { frames: () => frames, shown: () => frames[shown] };
    return { element, looks, list, start, add, settle, ...seen };
  }

  return { newFilm, inHundred };
});
