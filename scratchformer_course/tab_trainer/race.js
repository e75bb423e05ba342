// Training in the page: a button, a curve that grows beside what the model writes, and what the run
// says of itself on the way. The parts of the page are in owntext.js, controls.js, plot.js, film.js,
// score.js, talk.js, picture.js and result.js; session.js computes, and browser_store.js keeps.
//
// Needs: page_model/explorer.js page_model/views/attention.js page_model/views/next.js
// Needs: page_model/views/switches.js page_model/views/lens.js
// Needs: kernels.js matrix.js trainer.js text.js counts.js session.js export.js kit/figure/workers.js owntext.js
// Needs: controls.js plot.js film.js score.js talk.js picture.js browser_store.js link.js result.js

course.define("race", () => {
  /** @type {{ last: any, counts: any }} */
  const measured = { last: null, counts: null }; // what the last run gave, for whoever measures
  const { el, format, button, note, fold, newStatus } = course.live;
  const { newPlot, curveTable } = course.plot;
  const { inHundred } = course.film;
  const TRAIN = "Train a GPT in this tab";
  const UNTRAINED = "Nothing is trained yet.";
  const KEPT_NOTHING =
    "This browser keeps nothing here, as in a private window: text and model are gone when you " +
    "leave. Save for Python, below, makes a file of the model.";
  // what a worker needs
  const PARTS = ["model", "kernels", "matrix", "trainer", "text", "export", "counts", "session"];
  const DRAWN_EVERY = 100; // milliseconds: the worker needs the processor

  function badLoss(step, loss, V) {
    const what = Number.isFinite(loss) ? format(loss, 2) : "no number";
    return (
      `The loss is ${what} at step ${step}. ` +
      `A blind guess among ${V} characters has ${format(Math.log(V), 2)}. ` +
      "The steps are too long: they jump across the valley and land higher up on its other " +
      "side. Choose lower rates."
    );
  }
  const isBad = (step, loss, V) =>
    !(loss <= Math.log(V) + 1) && (step > 8 || !Number.isFinite(loss));

  // ---- the state -----------------------------------------------------------------------------

  // The run under way, the number of runs so far, text and curve of the last one, and what the browser
  // keeps, with the last run that came to its end. `transitions` make a new state of it
  /** @type {any} */
  const EMPTY = { text: "", chosen: {}, run: null };
  /** @type {any} */
  const START = { phase: "idle", run: null, number: 0, text: null, curve: [], stored: EMPTY };
  const ofRun = (state, parts) => ({ ...state, run: { ...state.run, ...parts } });
  const transitions = {
    begin: (state, { order, time }) => {
      const number = state.number + 1;
      const run = { ...order, number, started: time, drawn: 0, curve: [] };
      return { ...state, phase: "running", number, run };
    },
    pause: (state, { time }) => ({ ...ofRun(state, { since: time }), phase: "paused" }),
    resume: (state, { time }) => {
      const { started, since } = state.run;
      return { ...ofRun(state, { started: started + time - since }), phase: "running" };
    },
    // losses on another text are other numbers
    begun: (state, { characters, config, first }) => {
      const { text, curve } = state.run;
      const before = text === state.text ? state.curve : [];
      return { ...ofRun(state, { characters, config, first, before }), text, curve };
    },
    stop: (state) => ({ ...state, phase: "idle", run: null }),
    keep: (state, parts) => ({ ...state, stored: { ...state.stored, ...parts } }),
    forget: (state) => ({ ...state, stored: EMPTY }),
  };

  // ---- the figure ----------------------------------------------------------------------------

  function build(settings, host) {
    const packed = course.described(host.dataset.models, "the text");
    const { curves, goal, floor, prompt } = settings;
    const hasAddress = course.scene.hasAddress(host);
    let state = START;
    let mayKeep = true; // until the reader forgets it
    let send = null; // the way to the worker

    const wide = (host.firstElementChild ?? host).clientWidth;
    const room = wide > 560 ? wide / 2 - 12 : wide; // its own, so that nothing slides at the start
    let plot = newPlot({ curves, goal, floor, guess: settings.guess, room });
    const controls = course.controls.newControls(settings, begin);
    const needed = () => {
      const { config, training } = controls.read();
      return course.text.needed(config, training);
    };
    const ownText = course.owntext.newOwnText(settings.corpus, needed, begin, () => {
      if (status.dataset.is === "refused") say("");
    });
    const film = course.film.newFilm();
    const score = course.score.newScore(settings.ease);
    const result = course.result.newResult(settings.why, () => {
      controls.element.open = true;
      controls.element.scrollIntoView({ block: "nearest" });
      controls.element.querySelector("summary").focus();
    });
    const picture = el("div", plot.element);
    const runButton = button(TRAIN, () => (state.run ? pause() : begin()), { class: "sx-go" });
    const stopButton = button("Stop", () => giveUp("Stopped."), { hidden: "" });
    const label = "How much of the training is done";
    const progress = el("progress", { max: 1, value: 0, "aria-label": label });
    const status = newStatus(UNTRAINED);
    const progressText = el("p.sx-status");
    const memory = newStatus();
    const forget = button("Forget it", async () => {
      mayKeep = false;
      change("forget");
      await course.browserStore.clear();
      memory.textContent = "Forgotten. What you see now is gone when you leave the page.";
      runButton.focus({ preventScroll: true }); // since the button is gone
    });
    const numbers = el("div", note(UNTRAINED));
    const stage = el("div.sx-stage", [
      el(
        "div",
        el("div.sx-bar.sx-start", runButton, stopButton, progress),
        status,
        progressText,
        memory,
      ),
      film.element,
      ownText.element,
      el("div.sx-curve", [
        picture,
        note(
          "While it learns: how much the next character surprises it, which is called the loss. " +
            "Lower is better. Each mark of time is ten times the one before.",
        ),
      ]),
    ]);
    const table = fold("The curve as a table", numbers);
    const after = [controls, score, result].map((part) => part.element);
    const element = el("div", stage, after, film.list, film.looks, table);
    controls.element.addEventListener("input", ownText.tell);
    element.addEventListener("change", () => mayKeep && keep());
    ownText.tell();
    if (hasAddress) controls.choose(course.scene.asked());
    course.browserStore.read().then((stored) => {
      if (state.run) return;
      if (stored) restore(stored);
      if (hasAddress) follow(stored !== null);
    });

    function change(name, event = {}) {
      state = transitions[name](state, { time: performance.now(), ...event });
      const isIdle = state.phase === "idle";
      runButton.textContent = { idle: TRAIN, running: "Pause", paused: "Resume" }[state.phase];
      if (isIdle && document.activeElement === stopButton) runButton.focus();
      stopButton.hidden = isIdle;
      controls.allow(isIdle);
      ownText.allow(isIdle);
    }
    function say(words, is = "") {
      status.textContent = words;
      status.dataset.is = is;
    }
    const showResult = (isShown) => {
      for (const part of [score, result]) part.element.hidden = !isShown;
    };

    // A plot for this run; stored runs are of the page's own text
    function redraw(run, longest = 200, highest = 0) {
      const stored = run.isOwnText
        ? { curves: [], goal: null, floor: null }
        : { curves, goal, floor };
      const scales = { guess: Math.log(run.config.vocab_size), longest, highest };
      plot = newPlot({ ...stored, ...scales, before: run.before, room: picture.clientWidth });
      plot.draw(run.curve);
      picture.replaceChildren(plot.element);
    }

    // Whether the browser keeps it
    function keep() {
      change("keep", { text: ownText.read(), chosen: controls.chosen() });
      return course.browserStore.write(state.stored).then(
        () => true,
        () => false,
      );
    }

    // What an earlier visit left; the address, if it asks for settings, comes first
    function restore({ text, chosen, run }) {
      try {
        ownText.write(text.slice()); // throws if it is no text
        if (!hasAddress || !location.hash.includes("=")) controls.choose(chosen);
        if (run) {
          progress.value = 1;
          redraw(run, Math.max(200, 1.2 * run.seconds));
          film.start(run);
          run.frames.forEach(film.add);
          show(run);
          say(`Trained earlier: ${scoreInWords(run)}`);
          if (run.tables) score.count(...run.tables);
        }
        const { text: learned = null, curve = [] } = run ?? {};
        state = { ...state, text: learned, curve, stored: { text, chosen, run } };
        const all = run ? "your text, your settings and your model" : "your text and settings";
        memory.replaceChildren(`This browser kept ${all} from last time. `, forget);
      } catch {
        course.browserStore.clear(); // of another version
        result.clear();
      }
    }

    // A link with settings, perhaps with a text: what it will train, before it is pressed
    async function follow(isKept) {
      const packed = new URLSearchParams(location.hash.slice(1)).get("text");
      if (packed === null && (isKept || !location.hash.includes("="))) return;
      const text = packed && (await course.link.unpack(packed));
      if (packed !== null) ownText.write(text ?? "");
      const bad = "The text in this link is damaged or too long, and cannot be read. ";
      const corpus = text ? "the text that you see here" : settings.corpus;
      const pairs = controls.inWords().map((pair) => pair.join(" "));
      say(
        `${packed !== null && !text ? bad : ""}This link trains a GPT on ${corpus}, with the ` +
          `settings and the seed of whoever sent it: ${pairs.join(", ")}. One press begins it.`,
      );
    }

    // ---- what a reader asks for ----

    function begin() {
      const text = ownText.read();
      const { config, training, seed } = controls.read();
      const isOwnText = text !== "";
      const corpus = isOwnText ? "your text" : settings.corpus;
      const choices = [["Text", isOwnText ? "your own" : corpus], ...controls.inWords()];
      const hadFocus = controls.element.contains(document.activeElement);
      Object.assign(measured, { last: null, counts: null });
      const chosen = controls.chosen();
      change("begin", { order: { training, isOwnText, text, choices, chosen } });
      if (hasAddress) course.scene.setAddress(chosen);
      mayKeep = true;
      if (hadFocus) runButton.focus({ preventScroll: true });
      const seen = stage.offsetHeight < innerHeight - 80 ? stage : film.element;
      seen.scrollIntoView({ block: "nearest" });
      send ??= course.workers.startWork(PARTS, receive).send;
      send({
        do: "start",
        run: state.number,
        ...(isOwnText ? { text } : { packed: packed.text_gzip }),
        config,
        fixed: settings.fixed,
        settings: training,
        seed,
        prompt: isOwnText ? "" : prompt,
        every: Math.max(1, Math.round(training.steps / 8)),
      });
      say(`Training on ${corpus}. The first steps are slow.`);
    }

    function pause() {
      const event = state.phase === "paused" ? "resume" : "pause";
      change(event);
      send({ do: event });
      say(event === "pause" ? "Paused." : "It goes on.");
    }

    // A run that has not come to its end: the model before it comes back
    function giveUp(words) {
      const { run } = state.stored;
      stop(run ? `${words} Your earlier model is kept, below the settings.` : words);
      status.scrollIntoView({ block: "nearest" });
    }

    function stop(words, is = "") {
      send({ do: "stop" });
      change("stop");
      showResult(state.stored.run);
      progress.value = 0;
      progressText.textContent = "";
      say(words, is);
    }

    // ---- what the worker answers ----

    const handlers = {
      failed: ({ why }) => giveUp(`It did not work: ${why}.`),
      refused: ({ why }) => stop(why, "refused"),

      begun(message) {
        change("begun", message);
        showResult(false); // the model before gives way
        film.start(state.run);
        redraw(state.run);
      },

      step({ step, loss, seconds, kind }) {
        const { run } = state;
        const { steps } = run.training;
        const V = run.config.vocab_size;
        const left = (seconds / step) * (steps - step);
        run.kind = kind;
        if (Number.isFinite(loss)) run.curve.push([seconds, loss]); // or the curve ends before it
        if (seconds + left > plot.longest && step > 3) redraw(run, 10 * plot.longest, plot.highest);
        if (loss > plot.highest && loss < Infinity) redraw(run, plot.longest, 1.3 * loss);
        const isEnd = step === steps || isBad(step, loss, V);
        if (isEnd || performance.now() > run.drawn + DRAWN_EVERY) {
          run.drawn = performance.now();
          plot.draw(run.curve);
          progress.value = (0.9 * step) / steps;
          const rest = left ? `about ${format(left, 1)} s left` : "trained";
          progressText.textContent = `Step ${step} of ${steps}, ${rest}`;
        }
        if (isBad(step, loss, V)) giveUp(badLoss(step, loss, V));
      },

      look(frame) {
        film.add(frame);
        if (!frame.step) return;
        const { curve } = state.run;
        const [seconds, loss] = curve.at(-1);
        numbers.replaceChildren(curveTable(curve));
        plot.describe(
          `At step ${frame.step} the loss is ${format(loss)}, after ${format(seconds, 1)} seconds.`,
        );
      },

      score({ share }) {
        progressText.textContent = `Now it is asked about new text: ${Math.round(100 * share)} %`;
        progress.value = 0.9 + 0.1 * share;
      },

      async done({ loss, right, weights, description }) {
        if (!Number.isFinite(loss)) {
          return giveUp("The run ended with a loss that is no number. Choose lower rates.");
        }
        const { run } = state;
        const all = (performance.now() - run.started) / 1000;
        const judged = { loss, right, seconds: run.curve.at(-1)[0], all };
        measured.last = { ...judged, kind: run.kind, curve: run.curve };
        film.settle({ loss, right });
        // what it writes after, and all that is needed to show it once more
        const given = Array.from(run.first, (id) => run.characters[id]).join("");
        const config = { ...settings.fixed, ...run.config };
        const model = { config, weights, description, given, frames: film.frames() };
        change("keep", { run: { ...run, ...model, ...judged, before: [] } });
        stop(`Trained in ${format(judged.seconds, 1)} s. ${scoreInWords(judged, "It")}`);
        progress.value = 1;
        show(state.stored.run);
        const isKept = await keep();
        const words = "This browser keeps your text, your settings and your model. ";
        memory.replaceChildren(...(isKept ? [words, forget] : [KEPT_NOTHING]));
      },

      counted({ tables, seconds }) {
        score.count(tables, seconds);
        measured.counts = tables;
        const { run } = state.stored;
        if (!run) return; // forgotten meanwhile
        change("keep", { run: { ...run, tables: [tables, seconds] } });
        keep();
      },
    };
    function receive(message) {
      // those of a stopped run are of no use; the counts come behind a run's end
      const { run, number } = state;
      const isWanted = run !== null || message.is === "counted";
      if (isWanted && (message.run ?? number) === number) handlers[message.is](message);
    }

    const scoreInWords = ({ right }, subject = "it") =>
      `${subject} gets the next character right ${inHundred(right)} times in 100.`;

    // A run that has ended, now or on an earlier visit
    function show(run) {
      const { frames, isOwnText } = run;
      const [untrained, sample] = [frames[0].right, frames.at(-1).text];
      score.show({ ...run, untrained, sample, reads: run.config.context_length });
      const rivals =
        goal && !isOwnText
          ? [["nanoGPT (stored)", format(goal.seconds, 0), format(goal.loss)]]
          : [];
      const how =
        "From the press of the button, with samples and the score but without pauses: " +
        `${format(run.all, 1)} s.`;
      const corpus = isOwnText ? "a text of my own" : settings.corpus;
      result.show(run, rivals, how, () =>
        course.picture.draw({ ...run, corpus, last: film.shown() }, state.stored.run?.tables),
      );
    }

    return element;
  }
  course.figures.race = build;
  return measured;
});
