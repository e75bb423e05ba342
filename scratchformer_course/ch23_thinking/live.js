// Five cups and a ball: the reader follows eight swaps, then a model that answers at once, and one
// that writes down the ball's cup after each swap. Their answers were recorded.

course.define("ch23_thinking", () => {
  const { el, button, drawing, words, circle, way, describe, newStatus, note } = course.live;
  const [STEP, GAP, TOP, LIFT] = [750, 84, 36, 26]; // milliseconds a swap; and of the drawing

  // ---- calculations ------------------------------------------------------------------------

  // "2-5" as two places from 0
  const places = (pair) => pair.split("-").map((cup) => Number(cup) - 1);

  // The ball's place before the first swap, and after each
  function followed(pairs, game) {
    const at = [Number(game[0]) - 1];
    for (const swap of game.slice(1)) {
      const [a, b] = places(pairs[swap]);
      const ball = at[at.length - 1];
      at.push(ball === a ? b : ball === b ? a : ball);
    }
    return at;
  }

  // How many games each kind has right
  function score(pairs, games) {
    const ends = games.map(([game]) => String(followed(pairs, game)[game.length - 1] + 1));
    const once = games.filter(([, says], i) => says === ends[i]).length;
    const written = games.filter(([, , text], i) => text.endsWith(`=${ends[i]}.`)).length;
    return { once, written };
  }

  // ---- the figure --------------------------------------------------------------------------

  function build({ pairs, games }) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    const cups = [0, 1, 2, 3, 4].map(() =>
      el("svg:g", { class: "sx-cup" }, [way("M-26 46L-19 0H19L26 46Z")]),
    );
    const ball = circle(0, TOP + 36, 9, "sx-ball");
    const svg = drawing(5 * GAP, 116, { class: "sx-table" }, [
      ball,
      cups,
      [0, 1, 2, 3, 4].map((i) => words(`place ${i + 1}`, (i + 0.5) * GAP, 110)),
    ]);
    const status = newStatus();
    const lines = { you: el("p"), once: el("p"), written: el("p") };
    const tally = { played: 0, you: 0 };
    let [at, timer] = [-1, 0];
    let order = []; // order[place] is the cup there
    const all = score(pairs, games);

    const start = button("Swap", play);
    const picks = [0, 1, 2, 3, 4].map((i) => button(String(i + 1), () => pick(i)));
    const once = button("Ask a model", () => tell("once"));
    const written = button("Let it write", () => tell("written"));
    const next = button("Next game", deal);
    const choices = el("span.sx-group", { role: "group", "aria-label": "Your place" }, picks);

    const place = (i) => (i + 0.5) * GAP;
    const moved = (i, up) => `translate(${place(i)}px, ${TOP - up}px)`;
    // Every cup is at its place, the one over a shown ball is lifted
    function put(lifted = -1) {
      for (const [i, cup] of order.entries()) {
        cups[cup].style.transform = moved(i, i === lifted ? LIFT : 0);
      }
    }
    // One cup goes behind the other, so that they can be told apart
    function swap([a, b]) {
      for (const [from, to, up] of [
        [a, b, LIFT],
        [b, a, -LIFT / 2],
      ]) {
        const frames = [moved(from, 0), moved((from + to) / 2, up), moved(to, 0)];
        const ways = frames.map((transform) => ({ transform }));
        cups[order[from]].animate(ways, { duration: 0.8 * STEP, easing: "ease-in-out" });
      }
      [order[a], order[b]] = [order[b], order[a]];
      put();
    }
    function reveal(i, isSeen) {
      ball.style.transform = `translateX(${place(i)}px)`;
      ball.style.visibility = isSeen ? "visible" : "hidden";
      put(isSeen ? i : -1);
    }
    const enable = (...on) => {
      for (const b of [start, once, written, next, ...picks]) b.disabled = !on.includes(b);
    };

    function deal() {
      clearTimeout(timer);
      at = (at + 1) % games.length;
      order = [0, 1, 2, 3, 4];
      const [first] = followed(pairs, games[at][0]);
      reveal(first, true);
      status.textContent = `The ball is at place ${first + 1}. Eight swaps follow.`;
      for (const line of Object.values(lines)) line.textContent = "\u00a0";
      describe(svg, `Five cups; the ball is at place ${first + 1}.`);
      enable(start, next);
    }

    function play() {
      const swaps = [...games[at][0].slice(1)].map((swap) => pairs[swap]);
      reveal(followed(pairs, games[at][0])[0], false);
      enable(next);
      let t = 0;
      const step = () => {
        if (t === swaps.length || calm.matches) return ask(swaps);
        swap(places(swaps[t++]));
        status.textContent = `Swap ${t} of ${swaps.length}: ${swaps[t - 1]}`;
        timer = setTimeout(() => svg.isConnected && step(), STEP);
      };
      step();
    }

    function ask(swaps) {
      status.textContent = `The swaps were ${swaps.join(", ")}. Where is the ball?`;
      describe(svg, `Five cups after the swaps ${swaps.join(", ")}.`);
      enable(next, ...picks);
      picks[0].focus({ preventScroll: true });
    }

    const ending = () => followed(pairs, games[at][0])[8];
    const verdict = (isRight) => (isRight ? "right" : "wrong");

    function pick(i) {
      tally.played++;
      if (i === ending()) tally.you++;
      lines.you.textContent = `You: ${i + 1}, ${verdict(i === ending())}. Right in ${tally.you} of ${tally.played}.`;
      reveal(ending(), true);
      describe(svg, `The ball is at place ${ending() + 1}.`);
      status.textContent = `The ball is at place ${ending() + 1}.`;
      enable(once, next);
      once.focus({ preventScroll: true });
    }

    function tell(kind) {
      const [, says, text] = games[at];
      const n = games.length;
      if (kind === "once") {
        const judged = verdict(Number(says) === ending() + 1);
        lines.once.textContent = `The model, at once: ${says}, ${judged}. Of ${n} games it has ${all.once} right.`;
        enable(written, next);
        written.focus({ preventScroll: true });
        return;
      }
      const judged = verdict(text.endsWith(`=${ending() + 1}.`));
      lines.written.textContent = `One that writes: ${[...text].join(" ")} ${judged}. Of ${n} games it has ${all.written} right.`;
      enable(next);
      next.focus({ preventScroll: true });
    }

    deal();
    return el("div.sx-cups", [
      svg,
      status,
      el("div.sx-bar", [start, el("span", "The ball is at ", choices), once, written, next]),
      el("div.sx-said", Object.values(lines)),
      note(`Answers of two models of the same size, recorded in ${games.length} games.`),
    ]);
  }

  course.figures.cups = build;
  return { followed, score };
});
