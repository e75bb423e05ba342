// Training in the page: a button, a curve, samples and an attention map on the way, and what the
// trained model can be used for afterwards.
"use strict";

var scratchformerRace = { last: null }; // what the last run gave, for whoever measures

scratchformerLive.figures.race = (() => {
  const { el, newId, format, slider, button, title, note, scrolling, table, visible } =
    scratchformerLive;
  const KEPT = "scratchformer-trained"; // where the browser keeps the last trained model
  const MOST_PAIRS = 10000; // rows of the table of pairs, for a text of many characters
  const HEIGHT = 260,
    LEFT = 40,
    BOTTOM = 30,
    TOP = 22,
    RIGHT = 12; // of the plot, in pixels
  const FROM = 0.05; // seconds at the left end of an axis of tenfold steps

  // ---- the work, in two workers if that is possible --------------------------------------------

  function startWork(onmessage) {
    const sources = `globalThis.scratchformerMatrix = ${scratchformerMatrix.source};
      globalThis.scratchformerTrainer = ${scratchformerTrainer.source};
      const { port1, port2 } = new MessageChannel(), queue = [];
      port1.onmessage = () => queue.shift()();
      const later = (f) => { queue.push(f); port2.postMessage(null); };
      const { receive } = ${scratchformerSession.source}.newSession(
        { trainer: scratchformerTrainer, text: ${scratchformerText.source},
          export: ${scratchformerExport.source} },
        (message, transfer) => postMessage(message, transfer ?? []), later);
      onmessage = ({ data }) => receive(data);`;
    // Where workers are not allowed, the page does the work, between its own
    const onPage = () =>
      scratchformerSession.newSession(
        { trainer: scratchformerTrainer, text: scratchformerText, export: scratchformerExport },
        onmessage, (f) => setTimeout(f, 0),
      ).receive;
    let send, sent = [];
    try {
      const address = URL.createObjectURL(new Blob([sources], { type: "text/javascript" }));
      const worker = new Worker(address);
      send = (message) => {
        sent.push(message);
        worker.postMessage(message);
      };
      worker.onmessage = ({ data }) => onmessage(data);
      worker.onerror = ({ message }) => {
        if (message) return onmessage({ is: "failed", why: message });
        send = onPage(); // the worker could not even start
        for (const old of sent.splice(0)) send(old);
      };
      if (navigator.hardwareConcurrency > 1) {
        const { port1, port2 } = new MessageChannel(), second = new Worker(address);
        second.onerror = () => send({ do: "alone" });
        worker.postMessage({ do: "meet", port: port1 }, [port1]);
        second.postMessage({ do: "help", port: port2 }, [port2]);
      }
    } catch {
      send ??= onPage();
    }
    return (message) => send(message);
  }

  // ---- the plot ------------------------------------------------------------------------------

  // Loss against seconds: stored curves, the points of the run before, and a line that grows
  function newPlot({ curves, goal, floor, guess, before = [], longest = 200, highest = 0 }) {
    const WIDTH = Math.max(330, Math.min(600, innerWidth - 40));
    highest = Math.max(highest, guess + 0.2);
    const lowest = goal ? Math.floor(10 * goal.loss - 2) / 10 : 0;
    const x = (s) =>
      LEFT +
      (Math.log(Math.max(s, FROM) / FROM) / Math.log(longest / FROM)) * (WIDTH - LEFT - RIGHT);
    const y = (loss) =>
      TOP +
      ((highest - Math.max(lowest, Math.min(loss, highest))) / (highest - lowest)) *
        (HEIGHT - TOP - BOTTOM);
    const path = (points) =>
      points
        .map(([s, loss], i) => `${i ? "L" : "M"}${x(s).toFixed(1)} ${y(loss).toFixed(1)}`)
        .join("");
    const text = (words, tx, ty, anchor) =>
      el("svg:text", { x: tx, y: ty, "text-anchor": anchor }, words);
    const level = (loss, kind) =>
      el("svg:line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(loss), y2: y(loss), class: kind });
    const seconds = [0.1, 1, 10, 100, 1000, 10000].filter((s) => s < longest);
    const apart = highest < 13 ? 1 : Math.ceil(highest / 30) * 5; // the lines of the axis
    const losses = Array.from({ length: 13 }, (_, i) => apart * i).filter(
      (loss) => loss >= lowest && loss < highest,
    );
    const own = el("svg:path", { class: "sx-own" }),
      point = el("svg:circle", { r: 4, class: "sx-point", cx: -9, cy: 0 });
    const svg = el(
      "svg:svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "sx-plot" },
      seconds.map((s) => [
        el("svg:line", { x1: x(s), x2: x(s), y1: TOP, y2: HEIGHT - BOTTOM, class: "sx-axis" }),
        text(`${s} s`, x(s), HEIGHT - 10, "middle"),
      ]),
      losses.map((loss) => [
        level(loss, "sx-axis"),
        text(String(loss), LEFT - 8, y(loss) + 4, "end"),
      ]),
      text("loss, nats a character", 4, 13, "start"),
      goal ? level(goal.loss, "sx-level") : [],
      floor ? level(floor, "sx-level sx-floor") : [],
      curves.map(({ seconds: at, losses }, i) =>
        el("svg:path", { d: path(at.map((s, n) => [s, losses[n]])), class: `sx-stored-${i}` }),
      ),
      el("svg:path", { d: path(before), class: "sx-before" }),
      own,
      point,
    );
    const entry = (kind, words) => el("li", { class: kind }, words);
    const legend = el(
      "ul",
      { class: "sx-legend" },
      entry("sx-own", "this tab"),
      before.length ? entry("sx-before", "your run before") : [],
      curves.map(({ label }, i) => entry(`sx-stored-${i}`, label)),
      goal ? entry("sx-level", goal.label) : [],
      floor
        ? entry(
            "sx-level sx-floor",
            `${format(floor, 2)}: the text’s own entropy, which nothing can pass`,
          )
        : [],
    );
    const points = [];
    function draw() {
      const [s, loss] = points.at(-1);
      own.setAttribute("d", path(points));
      point.setAttribute("cx", x(s));
      point.setAttribute("cy", y(loss));
    }
    function describe(words) {
      svg.setAttribute("aria-label", `Loss against seconds of training. ${words}`);
    }
    describe("Nothing is trained yet.");
    return { element: el("div", {}, svg, legend), points, longest, highest, draw, describe };
  }

  // Attention weights (T, T) of one head as a small map; what is above the diagonal stays empty
  function mapOf(weights, T, head, name) {
    const cells = [];
    for (let t = 0; t < T; t++) {
      for (let s = 0; s <= t; s++) {
        const w = weights[(head * T + t) * T + s];
        if (w > 0.02)
          cells.push(
            el("svg:rect", { x: s, y: t, width: 1, height: 1, "fill-opacity": w.toFixed(3) }),
          );
      }
    }
    return el(
      "svg:svg",
      {
        viewBox: `0 0 ${T} ${T}`,
        role: "img",
        "aria-label": `Attention weights of ${name}: rows ask, columns answer`,
      },
      cells,
    );
  }

  // ---- the settings a reader may change --------------------------------------------------------

  function newControls(settings) {
    const changed = () => {};
    const { config, training } = settings;
    const heads = { 1: "1 head", 2: "2 heads", 4: "4 heads" };
    const power = (x) => String(2 ** x);
    const sliders = {
      width: slider(
        "Width",
        { min: 5, max: 7, step: 1, value: Math.log2(config.d_model), show: power },
        changed,
      ),
      heads: slider(
        "Heads",
        { min: 0, max: 2, step: 1, value: Math.log2(config.n_heads), show: power },
        changed,
      ),
      layers: slider("Blocks", { min: 1, max: 4, step: 1, value: config.n_layers }, changed),
      context: slider(
        "Context",
        { min: 4, max: 7, step: 1, value: Math.log2(config.context_length), show: power },
        changed,
      ),
      steps: slider("Steps", { min: 20, max: 400, step: 2, value: training.steps }, changed),
      rate: slider(
        "Rates",
        {
          min: -3,
          max: 5,
          step: 0.5,
          value: 0,
          show: (x) => (x ? `× ${(2 ** x).toPrecision(2)}` : "× 1"),
        },
        changed,
      ),
    };
    const ideas = {
      rotary: "rotary positions (off: learned ones)",
      bigrams: "a vector for each pair of characters",
      smear: "smear: the three characters before mixed in",
      muon: "Muon for the matrices (off: AdamW)",
    };
    const boxes = Object.fromEntries(
      Object.keys(ideas).map((name) => [
        name,
        el("input", { type: "checkbox", id: newId(name), checked: "", onchange: changed }),
      ]),
    );
    const seedId = newId("seed");
    const seed = el("input", { id: seedId, type: "number", min: 0, max: 9999, step: 1, value: 0 });
    const textId = newId("text"),
      text = el("textarea", {
        id: textId,
        rows: 3,
        spellcheck: "false",
        placeholder: `Empty: ${settings.corpus}. ` +
          `Or paste some 10,000 characters or more of your own.`,
      });
    const fields = el(
      "fieldset",
      { class: "sx-fields" },
      Object.values(sliders).map((one) => one.element),
      el("div", { class: "sx-slider" }, el("label", { for: seedId }, "Seed"), seed),
      el(
        "div",
        { class: "sx-checks" },
        Object.entries(ideas).map(([name, words]) => el("label", {}, boxes[name], ` ${words}`)),
      ),
      el("div", { class: "sx-prompt" }, el("label", { for: textId }, "Text"), text),
    );
    const element = el(
      "details",
      {},
      el("summary", {}, "Settings, and a text of your own"),
      fields,
    );

    // Configuration and settings of a run; what depends on its text is added when that is read
    function read() {
      const d_model = 2 ** sliders.width.get(),
        factor = 2 ** sliders.rate.get();
      return {
        seed: Math.max(0, Math.floor(Number(seed.value)) || 0),
        config: {
          ...config,
          d_model,
          n_heads: 2 ** sliders.heads.get(),
          n_layers: sliders.layers.get(),
          context_length: 2 ** sliders.context.get(),
          positions: boxes.rotary.checked ? "rotary" : "learned",
          smear: boxes.smear.checked ? config.smear : 0,
          bigram_rows: boxes.bigrams.checked ? MOST_PAIRS : 0,
        },
        settings: {
          ...training,
          steps: sliders.steps.get(),
          lr: training.lr * factor,
          muon_lr: boxes.muon.checked ? training.muon_lr * factor : null,
          betas: boxes.muon.checked ? training.betas : [0.9, 0.95],
        },
      };
    }
    const allow = (may) => {
      fields.disabled = !may;
    }; // while a run goes on they wait
    return { element, read, allow, text: () => text.value.replaceAll("\r\n", "\n") };
  }

  // ---- the figure ----------------------------------------------------------------------------

  function build(settings, host) {
    const packed = scratchformerDescriptions[host.dataset.models];
    if (!packed) throw new Error("the page does not hold the text");
    const { curves, goal, floor, prompt } = settings;
    let send = null,
      lastText = null, // what the run before was trained on
      now = null,
      runs = 0; // the way to the worker; the run that is under way
    let plot = newPlot({ curves, goal, floor, guess: settings.guess });
    const controls = newControls(settings),
      picture = el("div", {}, plot.element);
    const go = button("Train a GPT in this tab", () => (now ? pause() : begin()), {
      class: "sx-go",
    });
    const again = button("Stop", () => stop(), { hidden: "" });
    const progress = el("progress", {
      max: 1,
      value: 0,
      "aria-label": "How much of the training is done",
    });
    const status = el("p", { class: "sx-status", role: "status" }, "Nothing is trained yet.");
    const told = el("p", { class: "sx-status" });
    const sample = scrolling("sx-text", "What the model writes"),
      maps = el("div", { class: "sx-maps" });
    const result = el("div"),
      numbers = el("div", {}, note("Nothing is trained yet."));
    const seen = el(
      "div",
      { class: "sx-detail", hidden: "" },
      title("What it writes"),
      sample,
      note("The shaded words are given to it. The rest is its own."),
      title("What its heads look at"),
      maps,
      note(
        "Each row is a character of the shaded words, from the first to the last. Its cells are " +
          "the characters up to it. A stronger colour is more attention.",
      ),
    );
    const element = el(
      "div",
      {},
      el("div", { class: "sx-bar sx-start" }, go, again, progress),
      told,
      status,
      el(
        "div",
        { class: "sx-columns" },
        el(
          "div",
          { class: "sx-main sx-wide" },
          picture,
          note(
            "The loss of the batches that are learned. Each mark of the time axis is ten times " +
              "the last. A stored line shows means of several batches. The score on new text " +
              "comes at the end.",
          ),
          el("details", {}, el("summary", {}, "The curve as a table"), numbers),
          controls.element,
        ),
        seen,
      ),
      result,
    );

    function begin() {
      const text = controls.text(), { config, settings: training, seed } = controls.read();
      now = { run: ++runs, training, started: performance.now(), own: text !== "", text };
      Object.assign(now, { paused: 0, drawn: 0 });
      scratchformerRace.last = null;
      controls.allow(false);
      send ??= startWork(receive);
      const source = now.own ? { text } : { packed: packed.text_gzip };
      const every = Math.max(1, Math.round(training.steps / 9));
      send({
        do: "start", run: now.run, ...source, config, fixed: settings.fixed, settings: training,
        seed, prompt, every,
      });
      again.hidden = false;
      go.textContent = "Pause";
      say(
        `Training on ${now.own ? "your text" : settings.corpus}. ` +
          `The first steps are slow: the browser is still translating the program.`,
      );
    }
    // The text is read
    function begun({ characters, config, first }) {
      const isComparable = now.text === lastText; // losses on another text are other numbers
      Object.assign(now, { characters, config, first });
      now.before = isComparable ? plot.points : [];
      lastText = now.text;
      result.replaceChildren(); // the model before gives way
      redraw();
    }
    const say = (words) => {
      status.textContent = words;
    };

    // A plot for this run, empty or with its points; stored runs are of the page's own text
    function redraw(points = [], longest = 200, highest = 0) {
      const own = { guess: Math.log(now.config.vocab_size), before: now.before, longest, highest };
      const stored = now.own ? { curves: [], goal: null, floor: null } : { curves, goal, floor };
      plot = newPlot({ ...stored, ...own });
      plot.points.push(...points);
      picture.replaceChildren(plot.element);
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
      controls.allow(true);
      go.textContent = "Train a GPT in this tab";
      again.hidden = true;
      progress.value = 0;
      told.textContent = "";
      say(words);
    }

    function receive(message) {
      if (now?.run !== (message.run ?? now?.run)) return; // of a run that was stopped
      if (!now) return;
      if (message.is === "failed") return stop(`It did not work: ${message.why}.`);
      if (message.is === "refused") return stop(message.why);
      if (message.is === "begun") begun(message);
      if (message.is === "step") stepped(message);
      if (message.is === "look") looked(message);
      if (message.is === "score") {
        told.textContent = "Scoring the whole validation text: " +
          `${Math.round(100 * message.share)} %`;
        progress.value = 0.9 + 0.1 * message.share;
      }
      if (message.is === "done") finished(message);
    }

    function stepped({ step, loss, seconds, kind, together, usual }) {
      Object.assign(now, { kind, together, usual });
      const { steps } = now.training,
        V = now.config.vocab_size,
        left = (seconds / step) * (steps - step);
      if (seconds + left > plot.longest && step > 3) {
        redraw(plot.points, 10 * plot.longest, plot.highest);
      }
      if (loss > plot.highest && Number.isFinite(loss)) {
        redraw(plot.points, plot.longest, 1.3 * loss);
      }
      plot.points.push([seconds, loss]);
      const isBad = !Number.isFinite(loss) || (step > 8 && loss > Math.log(V) + 1);
      // The page is drawn ten times a second at most: the workers need the processor
      if (performance.now() > now.drawn + 100 || step === steps || isBad) {
        now.drawn = performance.now();
        plot.draw();
        progress.value = (0.9 * step) / steps;
        told.textContent =
          `Step ${step} of ${steps}, loss ${format(loss)}, ${format(seconds, 1)} s, ` +
          `about ${format(left, 1)} s of training left`;
      }
      if (isBad) {
        const bad = Number.isFinite(loss)
          ? `The loss is ${format(loss, 2)} at step ${step}`
          : `The loss is no number at step ${step}`;
        stop(
          `${bad}. ` +
            `A blind guess among ${V} characters has ${format(Math.log(V), 2)}. ` +
            "The steps are too long: they jump across the valley and land higher up on its other " +
            "side. Choose lower rates.",
        );
      }
    }
    function looked({ step, maps: all, sample: ids }) {
      const T = now.first.length,
        { n_heads: H, n_layers } = now.config;
      seen.hidden = false;
      sample.replaceChildren(
        el("mark", {}, Array.from(now.first, (i) => now.characters[i]).join("")),
        ids.map((i) => now.characters[i]).join(""),
      );
      maps.replaceChildren(
        ...Array.from({ length: H * n_layers }, (_, n) => {
          const block = Math.floor(n / H), head = n % H;
          const name = `block ${block + 1}, head ${head + 1}`;
          return el("div", {}, mapOf(all[block], T, head, name), note(name));
        }),
      );
      numbers.replaceChildren(
        table(
          ["step", "seconds", "loss"],
          plot.points
            .map(([s, loss], i) => [String(i + 1), format(s, 2), format(loss)])
            .filter((_, i) => i % Math.ceil(plot.points.length / 12) === 0),
        ),
      );
      plot.describe(
        `At step ${step} the loss is ${format(plot.points.at(-1)[1])}, after ` +
          `${format(plot.points.at(-1)[0], 1)} seconds.`,
      );
      if (step === 1 || step % 3 === 0)
        say(`Step ${step}: loss ${format(plot.points.at(-1)[1], 2)}.`);
    }

    function finished({ loss, weights, description }) {
      const { config, characters, started, own, paused, together, usual } = now;
      if (!Number.isFinite(loss))
        return stop("The run ended with a loss that is no number. Choose lower rates.");
      const all = (performance.now() - started - paused) / 1000,
        trained = plot.points.at(-1)[0];
      scratchformerRace.last = {
        loss,
        seconds: trained,
        all,
        kind: now.kind,
        together,
        usual,
        curve: [...plot.points],
      };
      const full = { ...settings.fixed, ...config };
      const given = Array.from(now.first, (i) => characters[i]).join(""); // before samples
      stop(
        `Trained in ${format(trained, 1)} s. ` +
          `${own ? "Your text's" : "The"} last tenth, which it never saw: ` +
          `${format(loss)} nats a character.`,
      );
      progress.value = 1;
      show(
        { config: full, weights, characters, loss, seconds: trained, given },
        own || !goal ? [] : [["nanoGPT (stored)", format(goal.seconds, 0), format(goal.loss)]],
        `From the press of the button, with samples and the score but without pauses: ` +
          `${format(all, 1)} s. ${shared(together, usual)}`,
      );
      if (description) keep({ ...description, loss, given });
      else forget(); // a weight too large for float16
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
    // What the model scored, and what can be done with it
    function show({ config, weights, characters, loss, seconds, given }, rivals, told) {
      const views = el("div");
      result.replaceChildren(
        title("The trained model"),
        table(
          ["", "training, s", "validation"],
          [["this tab", format(seconds, 1), format(loss)], ...rivals],
        ),
        note(told),
        el(
          "div",
          { class: "sx-bar" },
          button("Look inside", () =>
            attempt(() =>
              open(views, scratchformerExport.describe(config, weights, characters), given),
            ),
          ),
          button("Save for Python", () =>
            download(scratchformerExport.safetensors(config, weights, characters)),
          ),
        ),
        note(
          "The file opens in Python with this course’s package: " +
            "from scratchformer.models import SpeedrunGPT, then " +
            'SpeedrunGPT.from_pretrained("trained-in-a-tab.safetensors").',
        ),
        views,
      );
    }
    // What may fail, such as a weight too large for float16, is said below the table
    function attempt(action) {
      try {
        action();
      } catch (error) {
        result.append(note(`That did not work: ${error.message}.`));
      }
    }
    function open(place, description, given) {
      const hash = `own-${newId("model")}`;
      scratchformerDescriptions[hash] = description;
      const options = {
        prompt: given,
        text: null,
        views: ["attention", "next", "switches", "lens"],
        seed: 1,
      };
      place.replaceChildren(
        scratchformerLive.figures.explorer(options, { dataset: { models: hash } }),
      );
    }
    function download(bytes) {
      const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
      const link = el("a", { href: address, download: "trained-in-a-tab.safetensors" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }

    // ---- the browser keeps the last model, if it may
    function keep(description) {
      try {
        localStorage.setItem(KEPT, JSON.stringify(description));
      } catch {
        // forbidden, or too large for it
        forget();
        result.append(
          note("This browser does not keep this model: save the file to have it again."),
        );
      }
    }
    function kept() {
      try {
        const found = JSON.parse(localStorage.getItem(KEPT));
        scratchformerModel.load(found); // throws if it is no model
        return Number.isFinite(found.loss) ? found : null;
      } catch {
        return null;
      }
    }
    function forget() {
      try {
        localStorage.removeItem(KEPT);
      } catch {
        // nothing was kept
      }
    }
    const old = kept();
    if (old) {
      const views = el("div");
      result.append(
        note(`This browser keeps the model that you trained last: loss ${format(old.loss)}.`),
        el(
          "div",
          { class: "sx-bar" },
          button("Look inside", () =>
            open(views, old, old.given ?? old.tokenizer.characters.at(-1)),
          ),
          button("Forget it", () => {
            forget();
            result.replaceChildren();
          }),
        ),
        views,
      );
    }
    return element;
  }
  return build;
})();
