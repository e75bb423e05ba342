// A small GPT learning to write: eight steps of a stored run under one slider. It plays by itself,
// once, when it is in sight; whoever asked for less motion sees its end, and moves the slider.
//
// The still figure that Python wrote is kept, and its text, its map and its curve are changed.

course.define("opening_film", () => {
  const { el, sliderOver, button } = course.live;
  const STAGE = 1400; // milliseconds for each step shown,
  const TYPED = 0.6; // of which the text takes this share,
  const DRAWN = 0.35; // and the curve this one
  const SLOWEST = 100; // milliseconds between two pictures: a hidden page does not run ahead

  // The part of a curve up to x: its points rise in x, and the last one returned stands at x
  function upTo(curve, x) {
    const i = Math.max(
      1,
      curve.findIndex(([end]) => end >= x),
    );
    const [[x0, y0], [x1, y1]] = [curve[i - 1], curve[i]];
    return [...curve.slice(0, i), [x, y0 + ((y1 - y0) * (x - x0)) / (x1 - x0)]];
  }

  // The mean weight of the character just before: of each row, the last but one
  const before = (weights) =>
    weights.slice(1).reduce((sum, row) => sum + row.at(-2), 0) / (weights.length - 1);

  function build({ frames, curve }, host) {
    const film = host.querySelector(".film");
    const part = (name) => film.querySelector(`.film-${name}`);
    const [caption, text, run] = [part("told"), part("text").lastChild, part("curve")];
    const line = run.querySelector("path:last-child");
    const cells = [...part("map").querySelectorAll("[style]")];
    const last = frames.length - 1;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const steps = ({ step }) => (step === 1 ? "1 step" : `${step.toLocaleString("en-US")} steps`);
    const often = ({ right }) => `${Math.round(100 * right)} times in 100`;
    let at = null; // the frame on the screen
    let time = 0; // in stages: 2.5 is the middle of the third
    let drawing = 0; // what is asked of the browser while the film plays
    let drawn = 0; // when the picture before was drawn

    // A frame, all of it or the beginning of its stage
    function show(i, share = 1) {
      const frame = frames[i];
      if (i !== at) {
        at = i;
        caption.replaceChildren(
          i ? "After " : "Before its ",
          el("b", i ? steps(frame) : "first step"),
          " a GPT gets the next character right ",
          el("b", often(frame)),
          ":",
        );
        frame.weights.flat().forEach((weight, n) => {
          cells[n].style.setProperty("--w", weight);
        });
        part("before").textContent = `${Math.round(100 * before(frame.weights))}\u00a0%`;
        if (chosen.get() !== i) chosen.set(i);
      }
      const from = frames[Math.max(0, i - 1)].x;
      const x = from + (frame.x - from) * Math.min(1, share / DRAWN);
      const points = upTo(curve, x);
      line.setAttribute("d", `M${points.map((point) => point.join(" ")).join("L")}`);
      run.style.setProperty("--x", x.toFixed(4));
      run.style.setProperty("--y", points.at(-1)[1].toFixed(4));
      text.textContent = frame.text.slice(0, frame.text.length * Math.min(1, share / TYPED));
    }

    function draw(now) {
      // a browser may count a picture's time from before the press
      time += Math.max(0, Math.min(now - drawn, SLOWEST)) / STAGE;
      drawn = now;
      if (time >= last + 1) return stop();
      const i = Math.floor(time);
      show(i, isStill ? 1 : time - i);
      drawing = requestAnimationFrame(draw);
    }

    function play() {
      if (time >= last + 1) time = 0;
      drawn = performance.now();
      control.textContent = "Pause";
      drawing = requestAnimationFrame(draw);
    }

    // All of the frame stands there, and the film would go on with the next
    function stop() {
      cancelAnimationFrame(drawing);
      drawing = 0;
      show(at);
      time = at + 1;
      control.textContent = at === last ? "Play again" : "Play";
    }

    const control = button("Play again", () => {
      seen.disconnect();
      if (drawing) stop();
      else play();
    });
    const chosen = sliderOver("Training", frames.map(steps), moved, last);
    function moved() {
      if (chosen.get() === at) return; // the film moved it
      seen.disconnect();
      show(chosen.get());
      stop();
    }
    const seen = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        if (!isIntersecting) return;
        seen.disconnect();
        play();
      },
      { threshold: 0.3 },
    );
    show(last);
    time = last + 1;
    part("controls").replaceChildren(control, chosen.element);
    if (!isStill) seen.observe(host);
    return film;
  }

  course.figures.opening_film = build;
});
