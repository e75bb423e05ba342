// Training in the page: a button, a curve that grows beside what the model writes, and what the run
// says of itself on the way. The parts of the page are in owntext.js, controls.js, plot.js, film.js,
// score.js, talk.js, picture.js and result.js; workers.js computes.

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
    let send = null; // the way to the workers
    let lastText = null; // what the run before was trained on
    let runs = 0; // how many there were
    let now = null; // the run that is under way
    let scored = null; // the number of the run whose counts are on the way
    let refusal = ""; // why the last text or settings were not taken

    let plot = newPlot({ curves, goal, floor, guess: settings.guess });
    const controls = newControls(settings);
    const needed = () => {
      const { config, training } = controls.read();
      return course.text.needed(config, training);
    };
    const ownText = newOwnText(settings.corpus, needed, () => {
      if (status.textContent === refusal) say(UNTRAINED);
    });
    const film = newFilm();
    const score = newScore();
    const result = newResult();
    const picture = el("div", plot.element);
    const go = button(TRAIN, () => (now ? pause() : begin()), { class: "sx-go" });
    const again = button("Stop", () => stop(), { hidden: "" });
    const label = "How much of the training is done";
    const progress = el("progress", { max: 1, value: 0, "aria-label": label });
    const status = el("p.sx-status", { role: "status" }, UNTRAINED);
    const progressText = el("p.sx-status");
    const numbers = el("div", note(UNTRAINED));
    const element = el("div", [
      el("div.sx-stage", [
        el("div", el("div.sx-bar.sx-start", go, again, progress), status, progressText),
        ownText.element,
        film.element,
        el("div.sx-curve", [
          picture,
          note(
            "The loss of the batches that it learns from. Each mark of time is ten times the last.",
          ),
        ]),
      ]),
      controls.element,
      score.element,
      result.element,
      film.list,
      film.looks,
      fold("The curve as a table", numbers),
    ]);
    controls.element.addEventListener("input", () => ownText.tell());
    ownText.tell();

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

    // ---- what a reader asks for ----

    function begin() {
      const text = ownText.read();
      const { config, training, seed } = controls.read();
      const own = text !== "";
      const choices = [["Text", own ? "your own" : settings.corpus], ...controls.inWords()];
      const started = performance.now();
      now = { run: ++runs, training, own, text, choices, started, paused: 0, drawn: 0 };
      Object.assign(found, { last: null, counts: null });
      allow(false);
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
      say(
        `Training on ${own ? "your text" : settings.corpus}. ` +
          "The first steps are slow: the browser is still translating the program.",
      );
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

    function stop(words = "Stopped.") {
      send?.({ do: "stop" });
      now = null;
      allow(true);
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
      if (message.is === "failed") stop(`It did not work: ${message.why}.`);
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
      result.clear(); // the model before gives way
      score.element.hidden = true;
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
        progressText.textContent =
          `Step ${step} of ${steps}, loss ${format(loss)}, ${format(seconds, 1)} s, ` +
          (left ? `about ${format(left, 1)} s of training left` : "trained");
      }
      if (isBad) stop(badLoss(step, loss, V));
    }

    function looked(frame) {
      const { step, right } = frame;
      film.add(frame);
      if (step % 3 === 0) say(`Step ${step}: it is right about ${inHundred(right)} times in 100.`);
      if (!step) return;
      numbers.replaceChildren(curveTable(plot.points));
      const [seconds, loss] = plot.points.at(-1);
      plot.describe(
        `At step ${step} the loss is ${format(loss)}, after ${format(seconds, 1)} seconds.`,
      );
    }

    function isScoring({ share }) {
      progressText.textContent = `Trained. It is being asked about text it has not read: ${Math.round(100 * share)} %`;
      progress.value = 0.9 + 0.1 * share;
    }

    function finished({ loss, right, weights, description }) {
      const { run, characters, first, started, own, paused, kind, together, usual, text, choices } =
        now;
      if (!Number.isFinite(loss)) {
        return stop("The run ended with a loss that is no number. Choose lower rates.");
      }
      const config = { ...settings.fixed, ...now.config };
      const given = Array.from(first, (id) => characters[id]).join(""); // before samples
      const all = (performance.now() - started - paused) / 1000;
      const seconds = plot.points.at(-1)[0];
      const curve = [...plot.points];
      const frames = film.frames();
      const corpus = own ? "a text of my own" : settings.corpus;
      film.settle({ loss, right });
      const untrained = frames[0].right;
      const reads = config.context_length;
      const sample = frames.at(-1).text;
      const ended = { choices, untrained, reads, own, text, right, loss, seconds, sample };
      found.last = { loss, right, seconds, all, kind, together, usual, curve };
      scored = run;
      stop(
        `Trained in ${format(seconds, 1)} s. It names the next character ` +
          `${inHundred(right)} times in 100 (${format(loss)} nats a character).`,
      );
      progress.value = 1;
      score.show(ended);
      const rivals = [];
      if (goal && !own)
        rivals.push(["nanoGPT (stored)", format(goal.seconds, 0), format(goal.loss)]);
      result.show(
        { config, weights, characters, loss, seconds, given, description },
        rivals,
        "From the press of the button, with samples and the score but without pauses: " +
          `${format(all, 1)} s. ${shared(together, usual)}`,
        () => course.picture.draw({ points: curve, right, seconds, corpus, frames, given }),
      );
    }

    function counted({ tables, seconds }) {
      score.count(tables, seconds);
      found.counts = tables;
    }

    return element;
  }
  course.figures.race = build;
  return found;
});
