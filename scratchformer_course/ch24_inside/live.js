// A stored film of one run on songs: the loss, the maps of eight heads on one song, and the notes
// that are expected. At its end heads can be averaged, each choice of them, since all are stored.

course.define("ch24_inside", () => {
  const { el, shadedMap, button, sliderOver, note, format, listed, title, table } = course.live;
  const { newStatus, region, drawing, words, way, circle, path, describe } = course.live;
  const LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"; // of a weight, from 0 to 1
  const SHADES = 5; // in which weights are drawn
  const [WIDTH, HEIGHT, LEFT, BOTTOM] = [330, 170, 34, 142]; // of the loss curve
  const TOP_LOSS = 4;

  // ---- calculations ----

  // For each note but the first: whether it has followed the one before it already
  function repeats(song) {
    const pairs = [...song].slice(1).map((next, i) => song[i] + next);
    return pairs.map((pair, i) => pairs.indexOf(pair) < i);
  }

  // How many of the repeated notes are expected, and how many there are
  function copied(song, best) {
    const isRepeat = repeats(song);
    const right = isRepeat.filter((is, i) => is && best[i] === song[i + 1]);
    return [right.length, isRepeat.filter(Boolean).length];
  }

  // What is on show: a frame of the run, or its end with the mean of some heads
  function shown({ song, frames, losses, best: all, second }, step, silenced) {
    const frame = frames[step];
    if (!silenced) return frame;
    const n = song.length - 1;
    const [loss, best] = [losses[silenced], all.slice(n * silenced, n * (silenced + 1))];
    const { maps, after } = second[silenced & 15]; // block 2 hangs on block 1
    return { ...frame, loss, best, after, maps: [...frame.maps.slice(0, 4), ...maps] };
  }

  // A map is stored row by row, up to the diagonal
  const shadeOf = (map) => (t, s) =>
    (LEVELS.indexOf(map[(t * (t + 1)) / 2 + s]) / 35) * SHADES - 0.2;

  function sentence({ heads, song, frames }, frame, silenced) {
    const [right, total] = copied(song, frame.best);
    const loss = format(frame.loss, 2);
    const names = heads.filter((_, i) => (silenced >> i) & 1);
    const end = `${right} of ${total} repeated notes expected.`;
    if (!names.length) return `Step ${frame.step}, all heads: loss ${loss}, ${end}`;
    const before = format(frames.at(-1).loss, 2);
    const who = names.length === heads.length ? "every head" : `head ${listed(names)}`;
    return `With the mean of ${who}: loss ${loss} instead of ${before}, ${end}`;
  }

  // ---- the figure ----

  function curve({ frames }) {
    const last = frames.at(-1).step;
    const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - 16);
    const y = (loss) => BOTTOM - (loss / TOP_LOSS) * (BOTTOM - 10);
    const points = frames.map(({ step, loss }) => [x(step), y(loss)]);
    const dot = circle(0, 0, 6, "sx-song-dot");
    const line = el("svg:path.sx-song-up");
    const svg = drawing(WIDTH, HEIGHT, { class: "sx-song-curve" }, [
      way(`M${LEFT} 10V${BOTTOM}H${WIDTH - 16}`, "sx-song-axis"),
      [0, 1, 2, 3].map((loss) => words(loss, LEFT - 7, y(loss) + 5, "end")),
      [0, 100, 200, 300].map((step) => words(step, x(step), BOTTOM + 19)),
      words("loss where notes repeat", WIDTH - 14, 20, "end"),
      way(path(points), "sx-song-line"),
      line,
      dot,
    ]);
    function mark({ step, loss }, before) {
      const top = Math.min(loss, TOP_LOSS);
      dot.setAttribute("cx", x(step));
      dot.setAttribute("cy", y(top));
      line.setAttribute("d", `M${x(step)} ${y(before)}V${y(top)}`);
      describe(
        svg,
        `The loss falls from ${format(frames[0].loss, 2)} at the start to ` +
          `${format(frames.at(-1).loss, 2)} at step ${last}. Marked: ${format(loss, 2)}.`,
      );
    }
    return { svg, mark };
  }

  function build(settings) {
    const { song, frames, heads } = settings;

    const [n, last, isRepeat] = [song.length - 1, frames.length - 1, repeats(song)];
    let silenced = 0; // a bit for each head
    const run = curve(settings);
    const status = newStatus();
    const steps = frames.map(({ step }) => String(step));
    const at = sliderOver("Steps", steps, moved, last);
    function moved() {
      if (at.get() !== last) silenced = 0;
      draw();
    }
    const tiles = heads.map((name, i) => {
      const picture = el("svg:svg", { viewBox: `0 0 ${n} ${n}`, "aria-hidden": "true" });
      const score = el("span.sx-song-score");
      const tile = button([el("b", name), score, picture], () => {
        silenced ^= 1 << i;
        at.set(last); // which draws
      });
      return { tile, picture, score, name };
    });
    const all = button("All heads back", () => {
      silenced = 0;
      draw();
    });
    const strip = el("table.sx-song-strip");

    function drawTiles(frame) {
      tiles.forEach(({ tile, picture, score, name }, i) => {
        const isOut = Boolean((silenced >> i) & 1);
        const value = i < 4 ? frame.before[i] : frame.after[i - 4];
        const colour = i < 4 ? "query" : "key";
        score.textContent = isOut ? "mean" : format(value, 2);
        tile.setAttribute("aria-pressed", String(isOut));
        const what = i < 4 ? "weight on the note before" : "induction score";
        describe(tile, `Average head ${name}, ${what} ${format(value, 2)}`);
        picture.replaceChildren(
          el("svg:path", { d: `M0 0L${n} ${n}H0z`, class: "sx-song-half" }),
          ...shadedMap(n, SHADES, shadeOf(frame.maps[i]), { fill: `var(--sx-${colour})` }),
        );
      });
    }

    function drawNotes(frame) {
      function kind(i) {
        if (!isRepeat[i]) return "sx-song-new";
        return frame.best[i] === song[i + 1] ? "sx-song-right" : "sx-song-wrong";
      }
      const expected = [...frame.best].map((letter, i) => el("td", { class: kind(i) }, letter));
      const rows = [
        ["song", ...song],
        ["expected", "", ...expected],
      ];
      strip.replaceChildren(...table([], rows).children);
    }

    function draw() {
      const frame = shown(settings, at.get(), silenced);
      drawTiles(frame);
      drawNotes(frame);
      run.mark(frame, frames[at.get()].loss);
      status.textContent = sentence(settings, frame, silenced);
    }

    const row = (name, from) =>
      el("div.sx-song-block", { role: "group", "aria-label": name }, [
        title(name),
        el("div.sx-song-tiles", [tiles.slice(from, from + 4).map(({ tile }) => tile)]),
      ]);
    draw();
    return el("div.sx-song", [
      el("div.sx-columns", [
        el("div.sx-song-maps", [
          row("Block 1: weight on the note before", 0),
          row("Block 2: induction score", 4),
        ]),
        el("div.sx-song-side", [at.element, run.svg, status, all]),
      ]),
      region("div.sx-song-out", "Song", strip),
      note(
        "Press a head to average it: its mean over many songs stands in for what it gives. " +
          "Below the song stands the note that the model expects there: green, it repeats what it " +
          "has heard, orange, it should have; grey, nothing could be copied. A stored run.",
      ),
    ]);
  }

  course.figures.silence = build;
  return { repeats, copied, shown };
});
