// A picture of a run to share: its curve, its score, and what it wrote at first and at last.

course.define("picture", () => {
  const { inHundred } = course.film;
  const [WIDTH, HEIGHT] = [1200, 630]; // what pages that show a link's picture ask for
  const [INK, PAPER, FAINT, LINE] = ["#1d2733", "#fdfcf8", "#5c6773", "#b34700"];
  const COLUMNS = 48; // letters of a sample's line

  // The first `most` lines of a text, broken where words end; only a longer word is cut
  function wrapped(text, most) {
    const parts = new RegExp(`.{1,${COLUMNS}}(?=\\s|$)|.{1,${COLUMNS}}`, "g");
    const lines = text.split("\n").flatMap((line) => line.match(parts) ?? [""]);
    return lines.map((line) => line.trimStart()).slice(0, most);
  }

  // [seconds, loss] of a curve as a line in a box of this size
  function curvePath(points, width, height) {
    const losses = points.map(([, loss]) => loss);
    const [low, high] = [Math.min(...losses), Math.max(...losses)];
    const end = points.at(-1)[0] || 1;
    const places = points.map(([seconds, loss]) => {
      return [(seconds / end) * width, 10 + ((high - loss) / (high - low || 1)) * (height - 20)];
    });
    return new Path2D(course.live.path(places));
  }

  // A run, `last` the frame of its film that is in sight, and [tables of counts, seconds] if they
  // are there -> a canvas
  /** @type {(run: any, counts?: any[][]) => HTMLCanvasElement} */
  function draw({ curve, frames, last, given, right, seconds, corpus }, [tables] = [[]]) {
    const canvas = course.el("canvas", { width: WIDTH, height: HEIGHT, role: "img" });
    /** @type {any} */
    const context = canvas.getContext("2d");
    const say = (words, x, y, size, colour = FAINT, family = "system-ui, sans-serif") => {
      context.font = `${size} ${family}`;
      context.fillStyle = colour;
      context.fillText(words, x, y);
    };
    const named = `It gets the next character right ${inHundred(right)} times in 100`;
    const counted = Math.max(0, ...tables.map((table) => table.right));
    const rival = counted ? `; counting alone gets ${inHundred(counted)}` : "";
    const how = `${seconds.toFixed(1)} seconds of training on ${corpus}${rival}`;
    context.fillStyle = PAPER;
    context.fillRect(0, 0, WIDTH, HEIGHT);
    say("I trained a GPT in a browser tab", 50, 78, "700 44px", INK);
    say(named, 50, 126, "600 28px", LINE);
    say(how, 50, 162, "24px");
    say(`loss over ${curve.length} steps`, 50, 534, "22px");
    const samples = [
      [frames[0], "Before training it writes", 214, 3],
      [last, last.step ? `After ${last.step} steps it writes` : "And at first", 364, 6],
    ];
    for (const [{ text }, words, top, most] of samples) {
      say(words, 500, top, "600 22px");
      wrapped(given + text, most).forEach((line, i) => {
        say(line, 500, top + 34 + 29 * i, "22px", INK, "ui-monospace, monospace");
      });
    }
    const address = course.scene.address().replace(/^https?:\/\/|#.*/g, "");
    const name = ["Transformers from Scratch", address].filter(Boolean).join(" · ");
    say(name, 50, 596, "600 24px", INK);
    context.translate(50, 200);
    context.strokeStyle = FAINT;
    context.strokeRect(0, 0, 400, 300);
    context.strokeStyle = LINE;
    context.lineWidth = 4;
    context.stroke(curvePath(curve, 400, 300));
    course.live.describe(canvas, `${named}. ${how}.`);
    return canvas;
  }

  return { draw };
});
