// Training in the page: a button, a curve that grows beside what the model writes, and what the run
// says of itself on the way. The parts of the page are in owntext.js, controls.js, plot.js, film.js,
// score.js, talk.js, picture.js and result.js; workers.js computes, and kept.js keeps.
//
// Needs: page_model/explorer.js page_model/views/attention.js page_model/views/next.js
// Needs: page_model/views/switches.js page_model/views/lens.js
// Needs: kernels.js matrix.js trainer.js text.js counts.js session.js export.js workers.js owntext.js
// Needs: controls.js plot.js film.js score.js talk.js picture.js kept.js result.js

course.define("race", () => {
  /** @type {{ last: any, counts: any }} */
  const found = { last: null, counts: null }; // what the last run gave, for whoever measures
  const { el, format, button, note, fold } = course.live;
  const { startWork } = course.workers;
  const { newControls } = course.controls;
  const { newOwnText } = course.owntext;
  const { newPlot, curveTable } = course.plot;
  const { newFilm, inHundred } = course.film;
  const { newScore } = course.score;
  const { newResult } = course.result;
  const TRAIN = "Train a GPT in this tab";
  const UNTRAINED = "Nothing is trained yet.";
  const DRAWN_EVERY = 100; // milliseconds: the workers need the processor

  // ---- words ---------------------------------------------------------------------------------

  function badLoss(step, loss, V) {
    const what = Number.isFinite(loss) ? format(loss, 2) : "no number";
    return (
      `The loss is ${what} at step ${step}. ` +
      `A blind guess among ${V} characters has ${format(Math.log(V), 2)}. ` +
      "The steps are too long: they jump across the valley and land higher up on its other " +
      "side. Choose lower rates."
    );
  }

  // How many workers computed, and what that was worth: the median step of each way
  function shared(together, usual) {
    if (!usual.together || !usual.alone) return "One worker computed it.";
    const [both, alone] = [usual.together, usual.alone].map((s) => format(1000 * s, 0));
    const times = `A step took ${both} ms with two and ${alone} ms with one (medians)`;
    return together
      ? `Two workers shared each step. ${times}.`
      : `One worker computed it, because two were no quicker. ${times}.`;
  }

  // ---- the figure ----------------------------------------------------------------------------

  function build(settings, host) {
    const packed = course.described(host.dataset.models, "the text");
    const { curves, goal, floor, prompt } = settings;
    const hasAddress = course.scene.hasAddress(host);
    // In this browser, until the reader forgets it
    /** @type {{ text: string, chosen: any, run: any }} */
    let kept = { text: "", chosen: {}, run: null };
    let mayKeep = true;
    let send = null; // the way to the workers
    let lastText = null; // what the run before was trained on
    let runs = 0; // how many there were
    /** @type {any} */
    let now = null; // the run that is under way
    let scored = null; // the number of the run whose counts are on the way
    let refusal = ""; // why the last text or settings were not taken

    const wide = (host.firstElementChild ?? host).clientWidth;
    const room = wide > 560 ? wide / 2 - 12 : wide; // its own, so that nothing slides at the start
    let plot = newPlot({ curves, goal, floor, guess: settings.guess, room });
    const controls = newControls(settings, () => begin());
    const needed = () => {
      const { config, training } = controls.read();
      return course.text.needed(config, training);
    };
    const ownText = newOwnText(settings.corpus, needed, begin, () => {
      if (refusal && status.textContent === refusal) say("");
      refusal = "";
    });
    const film = newFilm();
    const score = newScore(settings.ease);
    const result = newResult(settings.why, () => {
      controls.element.open = true;
      controls.element.scrollIntoView({ block: "nearest" });
      controls.element.querySelector("summary").focus();
    });
    const picture = el("div", plot.element);
    const go = button(TRAIN, () => (now ? pause() : begin()), { class: "sx-go" });
    const again = button("Stop", () => giveUp("Stopped."), { hidden: "" });
    const label = "How much of the training is done";
    const progress = el("progress", { max: 1, value: 0, "aria-label": label });
    const status = el("p.sx-status", { role: "status" }, UNTRAINED);
    const progressText = el("p.sx-status");
    const memory = el("p.sx-status", { role: "status" });
    const forget = button("Forget it", async () => {
      mayKeep = false;
      kept = { text: "", chosen: {}, run: null };
      await course.kept.forget();
      memory.textContent = "Forgotten. What you see now is gone when you leave the page.";
    });
    const numbers = el("div", note(UNTRAINED));
    const stage = el("div.sx-stage", [
      el("div", el("div.sx-bar.sx-start", go, again, progress), status, progressText, memory),
      ownText.element,
      film.element,
      el("div.sx-curve", [
        picture,
        note(
          "While it learns: how much the next character surprises it, which is called the loss. " +
            "Lower is better. Each mark of time is ten times the one before.",
        ),
      ]),
    ]);
    const element = el("div", [
      stage,
      controls.element,
      score.element,
      result.element,
      film.list,
      film.looks,
      fold("The curve as a table", numbers),
    ]);
    controls.element.addEventListener("input", () => ownText.tell());
    element.addEventListener("change", () => mayKeep && keep());
    ownText.tell();
    if (hasAddress) controls.choose(course.scene.asked());
    course.kept.recall().then((found) => found && !now && bringBack(found));

    const say = (words) => {
      status.textContent = words;
    };

    // A plot for this run, empty or with its points; stored runs are of the page's own text
    function redraw(points = [], longest = 200, highest = 0) {
      const own = { guess: Math.log(now.config.vocab_size), before: now.before, longest, highest };
      const room = picture.clientWidth;
      const stored = now.own ? { curves: [], goal: null, floor: null } : { curves, goal, floor };
      plot = newPlot({ ...stored, ...own, room });
      plot.points.push(...points);
      picture.replaceChildren(plot.element);
    }

    // ---- what the browser keeps ----

    // Whether it is kept now
    async function keep() {
      Object.assign(kept, { text: ownText.read(), chosen: controls.chosen() });
      try {
        await course.kept.keep(kept);
        return true;
      } catch {
        return false;
      }
    }

    // What an earlier visit left; the address, if it asks for settings, comes first
    function bringBack(found) {
      try {
        const { text, chosen, run } = found;
        ownText.write(text.slice()); // throws if it is no text
        kept = { text, chosen, run };
        if (!hasAddress || !location.hash.includes("=")) controls.choose(kept.chosen);
        if (kept.run) {
          now = kept.run;
          progress.value = 1;
          redraw(now.curve, Math.max(200, 1.2 * now.seconds));
          plot.draw();
          film.start(now);
          for (const frame of now.frames) film.add(frame);
          lastText = now.text;
          show(now);
          say(
            `Trained earlier: it gets the next character right ${inHundred(now.right)} times in 100.`,
          );
          if (now.tables) score.count(...now.tables);
        }
        const all = kept.run ? "your text, your settings and your model" : "your text and settings";
        memory.replaceChildren(`This browser kept ${all} from last time. `, forget);
      } catch {
        course.kept.forget(); // of another version
        result.clear();
      }
      now = null;
    }

    // ---- what a reader asks for ----

    function begin() {
      const text = ownText.read();
      const { config, training, seed } = controls.read();
      const own = text !== "";
      const choices = [["Text", own ? "your own" : settings.corpus], ...controls.inWords()];
      const started = performance.now();
      now = { run: ++runs, training, own, text, choices, started, paused: 0, drawn: 0 };
      Object.assign(found, { last: null, counts: null });
      if (hasAddress) course.scene.setAddress(controls.chosen());
      mayKeep = true;
      if (controls.element.contains(document.activeElement)) go.focus({ preventScroll: true });
      allow(false);
      const seen = stage.offsetHeight < innerHeight - 80 ? stage : film.element;
      seen.scrollIntoView({ block: "nearest" });
      send ??= startWork(receive);
      send({
        do: "start",
        run: now.run,
        ...(own ? { text } : { packed: packed.text_gzip }),
        config,
        fixed: settings.fixed,
        settings: training,
        seed,
        prompt: own ? "" : prompt,
        every: Math.max(1, Math.round(training.steps / 8)),
      });
      again.hidden = false;
      go.textContent = "Pause";
      say(`Training on ${own ? "your text" : settings.corpus}. The first steps are slow.`);
    }

    function allow(may) {
      controls.allow(may);
      ownText.allow(may);
    }

    function pause() {
      now.waiting = !now.waiting;
      if (now.waiting) now.since = performance.now();
      else now.paused += performance.now() - now.since;
      send({ do: now.waiting ? "pause" : "resume" });
      go.textContent = now.waiting ? "Resume" : "Pause";
      say(now.waiting ? "Paused." : "It goes on.");
    }

    // A run that has not come to its end: the model before it comes back
    function giveUp(words) {
      stop(kept.run ? `${words} Your earlier model is kept, below the settings.` : words);
      status.scrollIntoView({ block: "nearest" });
    }

    function stop(words) {
      send?.({ do: "stop" });
      now = null;
      allow(true);
      for (const part of [score, result]) part.element.hidden = !kept.run;
      go.textContent = TRAIN;
      if (document.activeElement === again) go.focus();
      again.hidden = true;
      progress.value = 0;
      progressText.textContent = "";
      say(words);
    }

    // ---- what the workers answer ----

    function receive(message) {
      if (message.is === "counted" && message.run === scored) counted(message);
      if (!now || now.run !== (message.run ?? now.run)) return; // of a run that was stopped
      if (message.is === "failed") giveUp(`It did not work: ${message.why}.`);
      if (message.is === "refused") {
        refusal = message.why;
        stop(refusal);
      }
      if (message.is === "begun") begun(message);
      if (message.is === "step") stepped(message);
      if (message.is === "look") looked(message);
      if (message.is === "score") isScoring(message);
      if (message.is === "done") finished(message);
    }

    // The text is read
    function begun({ characters, config, first }) {
      const isComparable = now.text === lastText; // losses on another text are other numbers
      Object.assign(now, { characters, config, first });
      now.before = isComparable ? plot.points : [];
      lastText = now.text;
      for (const part of [score, result]) part.element.hidden = true; // the model before gives way
      film.start(now);
      redraw();
    }

    function stepped({ step, loss, seconds, kind, together, usual }) {
      Object.assign(now, { kind, together, usual });
      const { steps } = now.training;
      const V = now.config.vocab_size;
      const left = (seconds / step) * (steps - step);
      if (seconds + left > plot.longest && step > 3) {
        redraw(plot.points, 10 * plot.longest, plot.highest);
      }
      const isNumber = Number.isFinite(loss);
      if (isNumber && loss > plot.highest) redraw(plot.points, plot.longest, 1.3 * loss);
      if (isNumber) plot.points.push([seconds, loss]); // or the curve ends before it
      const isBad = !isNumber || (step > 8 && loss > Math.log(V) + 1);
      if (performance.now() > now.drawn + DRAWN_EVERY || step === steps || isBad) {
        now.drawn = performance.now();
        plot.draw();
        progress.value = (0.9 * step) / steps;
        progressText.textContent = `Step ${step} of ${steps}, ${left ? `about ${format(left, 1)} s left` : "trained"}`;
      }
      if (isBad) giveUp(badLoss(step, loss, V));
    }

    function looked(frame) {
      const { step } = frame;
      film.add(frame);
      if (!step) return;
      numbers.replaceChildren(curveTable(plot.points));
      const [seconds, loss] = plot.points.at(-1);
      plot.describe(
        `At step ${step} the loss is ${format(loss)}, after ${format(seconds, 1)} seconds.`,
      );
    }

    function isScoring({ share }) {
      progressText.textContent = `Now it is asked about new text: ${Math.round(100 * share)} %`;
      progress.value = 0.9 + 0.1 * share;
    }

    async function finished({ loss, right, weights, description }) {
      const { run, started, paused, kind, together, usual, characters, first, own } = now;
      if (!Number.isFinite(loss)) {
        return giveUp("The run ended with a loss that is no number. Choose lower rates.");
      }
      const all = (performance.now() - started - paused) / 1000;
      const [curve, seconds] = [[...plot.points], plot.points.at(-1)[0]];
      film.settle({ loss, right });
      found.last = { loss, right, seconds, all, kind, together, usual, curve };
      scored = run;
      // what it writes after, and all that is needed to show it once more
      const given = Array.from(first, (id) => characters[id]).join("");
      const { text, choices } = now;
      const config = { ...settings.fixed, ...now.config };
      const model = { config, weights, characters, first, given, description };
      const judged = { loss, right, seconds, all, together, usual };
      kept.run = { ...model, ...judged, own, text, choices, curve, frames: film.frames() };
      stop(
        `Trained in ${format(seconds, 1)} s. It gets the next character right ` +
          `${inHundred(right)} times in 100.`,
      );
      progress.value = 1;
      show(kept.run);
      memory.replaceChildren(
        ...((await keep())
          ? ["This browser keeps your text, your settings and your model. ", forget]
          : [
              "This browser keeps nothing here, as in a private window: text and model are gone when " +
                "you leave. Save for Python, below, makes a file of the model.",
            ]),
      );
    }

    // A run that has ended, now or on an earlier visit
    function show(run) {
      const { frames, config, own, all, together, usual, curve, right, seconds, given } = run;
      const corpus = own ? "a text of my own" : settings.corpus;
      const [untrained, sample] = [frames[0].right, frames.at(-1).text];
      score.show({ ...run, untrained, sample, reads: config.context_length });
      const rivals =
        goal && !own ? [["nanoGPT (stored)", format(goal.seconds, 0), format(goal.loss)]] : [];
      result.show(
        run,
        rivals,
        "From the press of the button, with samples and the score but without pauses: " +
          `${format(all, 1)} s. ${shared(together, usual)}`,
        () => {
          const [tables] = run.tables ?? [[]];
          const counted = Math.max(...tables.map((one) => one.right));
          const last = film.shown();
          const how = { right, seconds, corpus, counted };
          return course.picture.draw({ points: curve, first: frames[0], last, given, ...how });
        },
      );
    }

    function counted({ tables, seconds }) {
      score.count(tables, seconds);
      found.counts = tables;
      if (!kept.run) return; // forgotten meanwhile
      kept.run.tables = [tables, seconds];
      keep();
    }

    return element;
  }
  course.figures.race = build;
  return found;
});
