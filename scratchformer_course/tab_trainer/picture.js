// A picture of a run to share: its curve, its score, and what it wrote at first and at last.

course.define("picture", () => {
  const { inHundred } = course.film;
  const [WIDTH, HEIGHT] = [1200, 630]; // what pages that show a link's picture ask for
  const [INK, PAPER, FAINT, LINE] = ["#1d2733", "#fdfcf8", "#5c6773", "#b34700"];

  // The first `most` lines of a text, each of at most `width` characters; only a longer word is cut
  function wrapped(text, width, most) {
    const parts = new RegExp(`.{1,${width}}(?=\\s|$)|.{1,${width}}`, "g");
    const lines = text.split("\n").flatMap((line) => line.match(parts) ?? [""]);
    return lines.map((line) => line.trimStart()).slice(0, most);
  }

  // points: [seconds, loss], in a box of the picture
  function drawCurve(context, points, left, top, width, height) {
    const losses = points.map(([, loss]) => loss);
    const [low, high] = [Math.min(...losses), Math.max(...losses)];
    const end = points.at(-1)[0] || 1;
    context.strokeStyle = FAINT;
    context.lineWidth = 1.5;
    context.strokeRect(left, top, width, height);
    context.strokeStyle = LINE;
    context.lineWidth = 4;
    context.beginPath();
    for (const [seconds, loss] of points) {
      const y = top + 10 + ((high - loss) / (high - low || 1)) * (height - 20);
      context.lineTo(left + (seconds / end) * width, y);
    }
    context.stroke();
  }

  // The curve's points, the frames before training and `last`, which is the one in sight, what they
  // are `given`, and the score, with the share that a table of counts has `counted` -> a canvas
  function draw({ points, first, last, given, right, seconds, corpus, counted }) {
    const canvas = document.createElement("canvas");
    canvas.width = WIDTH;
    canvas.height = HEIGHT;
    /** @type {any} */
    const context = canvas.getContext("2d");
    const say = (words, x, y, font, colour = INK) => {
      context.font = font;
      context.fillStyle = colour;
      context.fillText(words, x, y);
    };
    const SANS = "system-ui, sans-serif";
    const MONO = "22px ui-monospace, monospace";
    context.fillStyle = PAPER;
    context.fillRect(0, 0, WIDTH, HEIGHT);
    say("I trained a GPT in a browser tab", 50, 78, `700 44px ${SANS}`);
    const named = `It gets the next character right ${inHundred(right)} times in 100`;
    say(named, 50, 126, `600 28px ${SANS}`, LINE);
    const rival = counted > 0 ? `; counting alone gets ${inHundred(counted)}` : "";
    const how = `${seconds.toFixed(1)} seconds of training on ${corpus}${rival}`;
    say(how, 50, 162, `24px ${SANS}`, FAINT);
    drawCurve(context, points, 50, 200, 400, 300);
    say(`loss over ${points.length} steps`, 50, 534, `22px ${SANS}`, FAINT);
    const samples = [
      [first, "Before training it writes", 200, 3],
      [last, last.step ? `After ${last.step} steps it writes` : "And at first", 350, 6],
    ];
    for (const [frame, words, top, most] of samples) {
      say(words, 500, top + 14, `600 22px ${SANS}`, FAINT);
      context.font = MONO;
      const width = Math.floor(650 / context.measureText("m").width);
      wrapped(given + frame.text, width, most).forEach((line, i) => {
        say(line, 500, top + 48 + 29 * i, MONO);
      });
    }
    const [found] = course.scene
      .address()
      .replace(/^https?:\/\//, "")
      .split("#");
    const address = found && ` · ${found}`;
    say(`Transformers from Scratch${address}`, 50, 596, `600 24px ${SANS}`);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${named}. ${how}.`);
    return canvas;
  }

  return { draw };
});
