// The next token: its probabilities under the rules of sampling, and text, one draw at a time.

course.define("view_next", () => {
  const { el, percent, slider, button, note, scrolling, table, bar, seedField } = course.live;
  const { ranked, fold, newStatus } = course.live;
  const { inFrames } = course.explorer;
  const { newScene, copyButton, shareButton, address } = course.scene;
  const { newCache, forward, probabilities, generator, pick } = course.model;
  const [BARS, FEW] = [12, 8]; // likeliest tokens that are shown, and in a simple view
  const AT_ONCE = 120; // tokens that `generate` writes, and some more up to a space
  const CALM = 0.8; // temperature of a simple view at first
  const RULES =
    "A lower temperature is safer, a higher one wilder. Top-k keeps the k likeliest, top-p the " +
    "likeliest that together have this share of the chances. The same seed writes the same text.";

  // What the last token reads of all S: the mean of all heads. Attention is (H, T, S) a layer.
  function lastRead(attention, H, S) {
    const mean = new Float32Array(S);
    for (const weights of attention) {
      const T = weights.length / (H * S);
      for (let h = 0; h < H; h++) {
        const row = weights.subarray((h * T + T - 1) * S, (h * T + T) * S);
        row.forEach((weight, s) => {
          mean[s] += weight / (H * attention.length);
        });
      }
    }
    return mean;
  }

  function build({ model, tokenizer, label, settings, asked, name }) {
    const { vocab_size: V, context_length, n_heads } = model.config;
    const isSimple = settings.simple === true;
    let state;
    let written;
    let cache;
    let logits;
    let weights; // of the tokens read, (S), on the way to these logits: the mean of all heads
    let random;
    let interrupt = null; // while text is being written: what stops it

    const orAll = (most) => (value) => (value === most ? "all" : String(value));
    const begun = asked.prompt === undefined ? settings.begun : undefined; // written by greedy decoding
    const warmth = isSimple ? CALM : 1;
    const heat = { max: 2, step: 0.05, value: warmth, show: (x) => x.toFixed(2) };
    const rules = {
      temperature: slider("Temperature", heat, drawBars),
      top_k: slider("Top-k", { min: 1, max: V, value: V, show: orAll(V) }, drawBars),
      top_p: slider("Top-p", { min: 0.05, max: 1, step: 0.05, value: 1, show: orAll(1) }, drawBars),
    };
    const seed = seedField(asked.seed ?? settings.seed, () => restart());
    for (const [key, rule] of Object.entries(rules)) {
      if (Number.isFinite(Number(asked[key]))) rule.set(Number(asked[key]));
    }
    const run = button("Generate", () => (interrupt ? stop() : start()), { class: "sx-go" });
    const scene = newScene("What it writes");
    // where one view is all of the figure, and not a simple one, the choice is what it is about
    const isAbout = settings.views.length === 1 && !isSimple;
    scene.element.classList.toggle("sx-low", isAbout);
    const reads = scrolling("sx-tokens sx-reading", "What it reads");
    const drawn = newStatus();
    const list = el("div");
    const ruledOut = note("What has a hollow bar is ruled out by the sliders, and never drawn.");
    const ways = [Object.values(rules).map((rule) => rule.element), seed.element];
    const how = fold("How did it choose?", [
      isAbout
        ? null
        : note(
            "A bar over each part of the text: how much the model looks at it to choose the next one.",
          ),
      isAbout ? null : reads,
      drawn,
      el("div.sx-columns", [
        el("div.sx-main", [
          note("What may come next now, and the chance of each. Press one to write it yourself."),
          list,
          ruledOut,
        ]),
        el("div.sx-side", [ways, isSimple ? note(RULES) : null]),
      ]),
    ]);
    how.addEventListener("toggle", () => logits && draw());
    how.open = isAbout;
    const link = () => address() && `Begin it anew, or another: ${address()}`;
    const sceneAndLink = () => [scene.plain(), link()].filter(Boolean).join("\n\n");
    const element = el("div", [
      el("div.sx-bar.sx-write", [
        run,
        button("Step", () => {
          stop();
          drawToken();
          draw();
        }),
        button("Start again", () => restart()),
        copyButton("Copy this scene", sceneAndLink),
        shareButton(() => ({ text: scene.plain(), url: address() || undefined })),
      ]),
      scene.element,
      how,
    ]);

    const settingsNow = () => ({
      temperature: rules.temperature.get(),
      top_k: rules.top_k.get() === V ? null : rules.top_k.get(),
      top_p: rules.top_p.get(),
    });

    // Logits for the token after all so far: with the cache while they fit, then window by window
    function predict() {
      const ids = [...state.ids, ...written];
      const result =
        ids.length <= context_length
          ? forward(model, ids.slice(cache.ids.length), { cache })
          : forward(model, ids.slice(-context_length));
      logits = result.logits.slice(-V);
      weights = lastRead(result.attention, n_heads, Math.min(ids.length, context_length));
    }

    function restart(text = "") {
      stop();
      written = text ? tokenizer.encode(text) : [];
      [cache, random] = [newCache(model), generator(seed.get())];
      predict();
      drawn.textContent = text
        ? "So far it has taken the likeliest token each time."
        : "Nothing is drawn yet.";
      draw();
    }

    function write(id, how) {
      drawn.textContent = how;
      written.push(id);
      predict();
    }

    // A random number from 0 to 1 falls on the stretch of one token
    function drawToken() {
      const u = random();
      const p = probabilities(logits, settingsNow());
      const id = pick(p, u);
      write(
        id,
        `Last written: the random number ${u.toFixed(3)} fell on “${label(id)}”, which had a chance of ${percent(p[id])}.`,
      );
      return /\s$/.test(tokenizer.decode([id]));
    }

    function start() {
      const set = Object.entries(rules).map(([key, rule]) => [key, rule.get()]);
      name({ seed: seed.get(), ...Object.fromEntries(set) });
      drawn.setAttribute("aria-live", "off"); // a reader aloud would have to say each token
      interrupt = inFrames(AT_ONCE, drawToken, draw, stop);
      nameRun();
    }

    function nameRun() {
      run.textContent = interrupt ? "Stop" : written?.length ? "Go on" : "Generate";
    }

    function stop() {
      interrupt?.();
      interrupt = null;
      nameRun();
      drawn.removeAttribute("aria-live");
    }

    function drawBars() {
      if (!logits) return; // the address sets the rules before anything is read
      const full = probabilities(logits, { temperature: rules.temperature.get() });
      const kept = probabilities(logits, settingsNow());
      const shown = ranked(full).slice(0, isSimple ? FEW : BARS);
      const focused = list.contains(document.activeElement) && document.activeElement.dataset.place;
      const rows = shown.map((id, place) => {
        const choose = () => {
          stop();
          write(id, `You chose “${label(id)}”, which had a chance of ${percent(full[id])}.`);
          draw();
        };
        const names = { "aria-label": `Write ${label(id)}`, "data-place": place };
        return [button(label(id), choose, names), percent(kept[id]), bar(kept[id] || full[id])];
      });
      list.replaceChildren(
        table(isSimple ? ["next", "chance", ""] : ["token", "probability", ""], rows, {
          class: "sx-bars",
        }),
      );
      list.querySelectorAll("tbody tr").forEach((row, place) => {
        row.classList.toggle("sx-dropped", !kept[shown[place]]);
      });
      ruledOut.hidden = shown.every((id) => kept[id]);
      if (focused) list.querySelector(`[data-place="${focused}"]`)?.focus();
    }

    function draw() {
      nameRun();
      scene.show([state.text, tokenizer.decode(written)]);
      if (!how.open) return;
      if (!isAbout) drawReading();
      reads.scrollTop = reads.scrollHeight;
      drawBars();
    }

    // A bar over each part of the text: how much of it the model reads. The tallest is full.
    function drawReading() {
      const ids = [...state.ids, ...written];
      const most = Math.max(...weights);
      const unread = ids.length - weights.length;
      reads.replaceChildren(
        ...ids.map((id, t) => {
          const w = t < unread ? 0 : weights[t - unread] / most;
          const kind = t < state.ids.length ? null : "sx-new";
          return el("span", { class: kind, style: `--w: ${w.toFixed(3)}` }, label(id));
        }),
      );
    }

    // Who comes by an address with a prompt sees at once what its maker saw
    let isAsked = asked.prompt !== undefined;
    let isFirst = true;
    function update(newState) {
      state = newState;
      restart(isFirst ? begun : "");
      if (isAsked) start();
      isAsked = isFirst = false;
    }
    return { element, update };
  }

  course.explorer.views.next = { title: "Next token", build, lastRead };
});
