// Pairs of stored training curves of which one is broken, and a clinic: symptoms, five questions,
// five diagnoses, and what speaks against each wrong one.

course.define("ch25_silent_bugs", () => {
  const { el, button, note, title, format, press, choice, scrolling, drawing } = course.live;
  const { words, way, path } = course.live;

  const signed = (x, digits = 2) => (x < 0 ? "" : "+") + format(x, digits);
  const range = ([mean, least, most]) =>
    `${signed(mean)} nats a token (three seeds: ${signed(least)} to ${signed(most)})`;

  // What a fault does to the loss that its own program reports, and to the one that counts
  function truth({ right, reported, loaded, spread }) {
    const sentences = [];
    const [mean, least, most] = right;
    if (reported && Math.abs(reported[0]) > 0.05 && Math.abs(reported[0] - mean) > 0.05) {
      const size = format(Math.abs(reported[0]), 2);
      const way = reported[0] < 0 ? "lower" : "higher";
      sentences.push(
        `Its own program reports a loss that is ${size} nats ${way} than the other's.`,
      );
      sentences.push(`In use it costs ${range(right)}.`);
    } else sentences.push(`It costs ${range(right)}.`);
    if ((least < 0 && most > 0) || Math.abs(mean) <= (spread ?? 0))
      sentences.push("Three seeds cannot tell this from nothing.");
    if (loaded && Math.abs(mean) < 0.05)
      sentences.push(`With weights that a healthy model has learned it costs ${range(loaded)}.`);
    return sentences.join(" ");
  }

  // ---- curves ----

  const [W, H] = [350, 190];
  // The highest loss shown: the first point is far above the others
  const top = (curves) => Math.max(...curves.flatMap((curve) => curve.slice(1))) + 0.1;

  function plot(curves, names, steps, colours) {
    const high = top(curves);
    const low = Math.min(...curves.flat());
    const x = (i) => 44 + ((W - 60) * (i + 0.5)) / curves[0].length;
    const y = (loss) => 12 + ((H - 48) * (high - Math.min(loss, high))) / (high - low || 1);
    const ticks = [high, (high + low) / 2, low];
    const last = curves.map((curve, i) => `${names[i]} ends at ${format(curve.at(-1), 2)}`);
    const line = (d, i) => {
      const style = `stroke: var(--sx-${colours[i]})`;
      const dashes = { "stroke-dasharray": i ? "7 5" : null };
      return el("svg:path.sx-bug-line", { d, style, ...dashes });
    };
    const about = `Training loss over ${steps} steps: ${last.join(", ")}.`;
    return drawing(W, H, { class: "sx-bug-plot", "aria-label": about }, [
      ticks.map((tick) => [
        way(`M44 ${y(tick)}H${W - 14}`, "sx-bug-axis"),
        words(format(tick, 1), 38, y(tick) + 5, "end"),
      ]),
      curves.map((curve, i) => line(path(curve.map((loss, k) => [x(k), y(loss)])), i)),
      words(`training loss, ${steps} steps`, W - 14, 26, "end"),
      names.map((name, i) => [
        line(`M${44 + 118 * i} ${H - 13}h26`, i),
        words(name, 76 + 118 * i, H - 8, "start"),
      ]),
    ]);
  }

  // ---- two curves, one model is broken ----

  function twoCurves({ pairs, steps }) {
    let at = 0;
    const chosen = pairs.map(() => null);
    const host = el("div.sx-bug-out");
    const verdictLine = el("p.sx-bug-said", { role: "status" });
    const before = button("Pair before", () => go(-1));
    const next = button("Next pair", () => go(1));
    const count = el("span.sx-bug-count");
    const guesses = ["A", "B"].map((name, i) =>
      button(`${name} is broken`, () => {
        chosen[at] ??= i;
        draw();
      }),
    );

    function go(by) {
      at = Math.min(Math.max(at + by, 0), pairs.length - 1);
      draw();
    }

    function draw() {
      const pair = pairs[at];
      const mine = chosen[at];
      const isTold = mine !== null;
      host.replaceChildren(plot(pair.curves, ["model A", "model B"], steps, ["query", "key"]));
      count.textContent = `Pair ${at + 1} of ${pairs.length}`;
      press(guesses, mine);
      for (const guessButton of guesses) guessButton.setAttribute("aria-disabled", String(isTold)); // it keeps the focus
      before.setAttribute("aria-disabled", String(at === 0));
      next.setAttribute("aria-disabled", String(at === pairs.length - 1));
      const all = chosen.filter((guess) => guess !== null).length;
      const right = chosen.filter((guess, i) => guess === pairs[i].broken).length;
      const verdict = `${mine === pair.broken ? "Yes" : "No"}, ${"AB"[pair.broken]} is broken.`;
      verdictLine.textContent = isTold
        ? `${verdict} ${truth(pair)} You meet it again ${pair.where}. So far ${right} of ${all}.`
        : "Which of the two models is broken?";
    }

    draw();
    return el("div.sx-bug", [
      el("div.sx-bar.sx-bug-start", [count, before, next]),
      host,
      el("div.sx-bar.sx-bug-start", guesses),
      verdictLine,
      note(
        "Stored runs. Both models of a pair begin with the same weights and draw the same batches. " +
          "A cost is the loss of text that was not trained on, used as a writing model uses it.",
      ),
    ]);
  }

  // ---- the clinic ----

  const answered = (symptom) => (symptom ? `✗ ${symptom}` : "✓ as it should be");

  function clinic({ patients, questions, steps }) {
    const state = patients.map(() => ({ asked: new Set(), chosen: new Set(), verdict: "" }));
    const host = el("div.sx-bug-out");
    const names = patients.map((_, i) => `Patient ${i + 1}`);
    const tabs = choice("Patients", names, () => draw());

    function draw(focus = "") {
      const patient = patients[tabs.at()];
      const mine = state[tabs.at()];
      const { asked, chosen } = mine;
      const right = patient.choices.findIndex(([, why]) => why === null);
      const isFound = chosen.has(right);
      const item = (text, name, pressed, i, verdict = mine.verdict) => {
        const onpress = () => {
          pressed.add(i);
          mine.verdict = verdict;
          draw(name);
        };
        return button(text, onpress, { "data-name": name, "aria-pressed": pressed.has(i) });
      };
      // What is found takes the room that it will have once the question was asked
      const asks = questions.map((question, i) =>
        el("li", [
          item(question, `ask${i}`, asked, i),
          el("p.sx-bug-found", asked.has(i) ? answered(patient.asked[i]) : "not asked yet"),
        ]),
      );
      const choices = patient.choices.map(([name, why], i) =>
        el("li", item(name, `choose${i}`, chosen, i, why ? `No. ${why}` : `Yes. ${patient.says}`)),
      );
      const verdictBox = scrolling("sx-scroll", "Verdict");
      const verdict = mine.verdict || "What speaks for or against your diagnosis appears here.";
      verdictBox.append(el("p", { role: "status" }, verdict), ...(isFound ? repair(patient) : []));
      host.replaceChildren(
        el("p", patient.symptom),
        el("div.sx-columns", [
          el("div.sx-bug-side", [
            plot(patient.curves, ["patient", "healthy twin"], steps, ["key", "value"]),
            title("Ask"),
            el("ul.sx-bug-list", asks),
          ]),
          el("div.sx-bug-side", [title("Diagnosis"), el("ul.sx-bug-list", choices), verdictBox]),
        ]),
      );
      if (focus) host.querySelector(`[data-name=${focus}]`).focus();
    }

    function repair(patient) {
      const lines = (sign, code) => code.map((line) => `${sign} ${line}`);
      const diff = [...lines("−", patient.broken), ...lines("+", patient.repaired)];
      return [
        title("Repair"),
        el("pre.sx-bug-code", { tabindex: 0 }, diff.join("\n")),
        el("p", truth(patient)),
        el("p", `What would have found it: ${patient.invariant}`),
        el("p", [
          patient.near ? "Others have met a near relation: " : "Others have met it: ",
          el("a", { href: patient.thread }, patient.found),
        ]),
      ];
    }

    draw();
    return el("div.sx-bug", [
      el("div.sx-bar.sx-bug-start", tabs.buttons),
      host,
      note("Stored curves. What a question finds was computed with a small model of each patient."),
    ]);
  }

  course.figures.two_curves = twoCurves;
  course.figures.clinic = clinic;
  return { truth, top };
});
