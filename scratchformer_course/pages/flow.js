// A prompt on its way through a model. It moves by itself, once, when it is in sight; keys and buttons
// step through its stages, and whoever asked for less motion sees all of it and steps.
//
// The drawing that Python wrote is kept: stages become faint or full, and spots move along it.

course.define("flow", () => {
  const { el, button } = course.live;
  const STAGE = 1400; // milliseconds for each stage
  const SLOWEST = 100; // milliseconds between two pictures: a hidden page does not run ahead
  const FAINT = 0.13;

  function build(_settings, host) {
    const flow = host.querySelector(".flow");
    const drawings = [...flow.querySelectorAll("svg")].map((svg) => ({
      svg,
      edges: svg.dataset.edges.split(" ").map(Number),
      isTall: svg.matches(".flow-tall"),
      way: svg.querySelector(".flow-way"),
      parts: [...svg.querySelectorAll("a:has(.flow-band)")],
      spots: [...svg.querySelectorAll(".flow-spot")],
    }));
    const texts = [...flow.querySelectorAll("li")];
    const last = texts.length - 1;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const stageText = el("p.flow-now", { "aria-live": "polite" });
    let at = last; // the stage that is told
    let time = 0; // in stages: 2.5 is the middle of the third
    let drawing = 0; // what is asked of the browser while it moves
    let drawn = 0; // when the picture before was drawn

    // The flow has come through this share of a stage; null: it is not shown where it is
    function show(i, share, isMarked = true) {
      if (i !== at || !stageText.hasChildNodes()) {
        at = i;
        stageText.replaceChildren(...texts[i].cloneNode(true).childNodes);
      }
      flow.classList.toggle("flow-ended", i === last && share === 1);
      for (const { svg, edges, isTall, way, parts, spots } of drawings) {
        parts.forEach((part, k) => {
          const full = k < i ? 1 : k > i ? 0 : Math.min(1, 2 * share);
          part.querySelector(".flow-drawn").style.opacity = FAINT + (1 - FAINT) * full;
          part.classList.toggle("flow-here", isMarked && k === i);
        });
        svg.classList.toggle("flow-moves", isMarked);
        if (!svg.checkVisibility()) continue; // no place on a way that is not drawn
        const [start, end] = [edges[i], edges[i + 1]];
        const along = Math.max(0, start + (end - start) * share - 14);
        for (const spot of spots) {
          spot.setAttribute("transform", `translate(${isTall ? `0 ${along}` : `${along} 0`})`);
          spot.style.opacity = i < last ? 1 : 0;
        }
        if (i < last) continue; // the last token alone goes on
        const spot = spots.at(-1);
        const { x, y } = way.getPointAtLength(way.getTotalLength() * share);
        const [x0, y0] = ["cx", "cy"].map((name) => Number(spot.getAttribute(name)));
        spot.setAttribute("transform", `translate(${x - x0} ${y - y0})`);
        spot.style.opacity = share < 1 ? 1 : 0;
      }
    }

    function draw(now) {
      // a browser may count a picture's time from before the press
      time += Math.max(0, Math.min(now - drawn, SLOWEST)) / STAGE;
      drawn = now;
      if (time > last + 1) return end();
      show(Math.floor(time), time % 1);
      drawing = requestAnimationFrame(draw);
    }

    function stop() {
      seen.disconnect();
      cancelAnimationFrame(drawing);
      drawing = 0;
      control.textContent = "Play again";
    }
    function end() {
      stop();
      show(last, 1, false);
    }
    function play() {
      stop();
      if (isStill) return end();
      [time, drawn] = [0, performance.now()];
      control.textContent = "Stop";
      drawing = requestAnimationFrame(draw);
    }
    function go(i) {
      stop();
      show((i + last + 1) % (last + 1), 1);
    }

    const control = button("Play again", () => (drawing ? end() : play()));
    const back = button("‹", () => go(at - 1), { "aria-label": "The stage before" });
    const next = button("›", () => go(at + 1), { "aria-label": "The next stage" });
    const keys = {
      ArrowLeft: () => go(at - 1),
      ArrowRight: () => go(at + 1),
      Home: () => go(0),
      End: () => go(last),
      " ": play,
    };
    flow.addEventListener("keydown", (event) => {
      const isPress = event.key === " " && event.target.matches("button");
      if (!keys[event.key] || isPress || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    // what is told is below the drawing: who sees it sees most of the drawing, too
    const seen = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && play());
    flow.tabIndex = 0;
    flow.setAttribute("role", "group");
    flow.setAttribute(
      "aria-label",
      "The way to the next character: arrow keys go from stage to stage",
    );
    flow.querySelector(".flow-said").append(stageText);
    flow.querySelector(".flow-controls").replaceChildren(control, back, next);
    show(last, 1, false);
    control.hidden = isStill;
    if (!isStill) seen.observe(stageText);
    return flow;
  }

  course.figures.flow = build;
});
