// Chapter 20's figures: a table of counts that guesses ahead of the model, and a model whose
// weights are rounded to fewer bits.
//
// `course.inference` holds what they compute. V: vocabulary.
//
// Needs: page_model/explorer.js

course.define("inference", () => {
  const { newCache, forward, probabilities, losses, generator, pick, generate } = course.model;
  const { sum, mean, listOf } = course.live;

  // ---- guessing ahead ----

  // The tables of counts.py -> for each length of a context, context -> [[character, share], …]
  function unpack(texts) {
    return texts.map((text, length) => {
      const table = new Map();
      for (const entry of text.split("\t").slice(0, -1)) {
        const row = [];
        for (let i = length; i < entry.length; i += 2) {
          row.push([entry[i], Number.parseInt(entry[i + 1], 16)]);
        }
        const total = sum(row.map(([, n]) => n));
        const shares = row.map(([character, n]) => [character, n / total]);
        table.set(entry.slice(0, length), shares);
      }
      return table;
    });
  }

  // What the tables hold likeliest after a text, by its longest context of at most `longest`
  function guess(tables, text, longest) {
    for (let length = Math.min(longest, tables.length - 1, text.length); length > 0; length--) {
      const row = tables[length].get(text.slice(text.length - length));
      if (row) return row;
    }
    return tables[0].get("");
  }

  // A row of the tables -> probabilities (V); a temperature of 0 gives all to the first
  function asProbabilities(row, idOf, V, temperature) {
    const p = new Float64Array(V);
    if (temperature === 0) p[idOf(row[0][0])] = 1;
    else for (const [character, share] of row) p[idOf(character)] = share ** (1 / temperature);
    const total = sum(p);
    return p.map((value) => value / total);
  }

  // What the model wants more than the draft does: max(0, p - q), to sum 1
  function residual(p, q) {
    const more = p.map((value, id) => Math.max(0, value - q[id]));
    const total = sum(more);
    return total > 0 ? more.map((value) => value / total) : p; // p = q: never asked for
  }

  // One pass of the model over a draft of k tokens. draft(drafted) gives q for the token after
  // these, judge(drafted) the model's k + 1 distributions, all at once. A drafted token x is kept
  // with probability min(1, p(x) / q(x)). In place of the first that is not, the residual decides;
  // if all are kept, the model's last distribution gives one token more.
  function onePass(k, draft, judge, random) {
    const drafted = [];
    const q = [];
    for (let i = 0; i < k; i++) {
      q.push(draft(drafted));
      drafted.push(pick(q[i], random()));
    }
    const p = judge(drafted);
    let kept = 0;
    while (kept < k && random() < p[kept][drafted[kept]] / q[kept][drafted[kept]]) kept++;
    const isBonus = kept === k;
    const own = pick(isBonus ? p[k] : residual(p[kept], q[kept]), random());
    return { drafted, kept, own, isBonus };
  }

  // A text that grows by a pass at a time, of at most `most` tokens. It reads all but the last
  // token of the prompt before the first pass. `longest`: characters that the draft reads.
  function writer(model, tokenizer, tables, { prompt, most, k, longest, temperature, seed }) {
    const { vocab_size: V } = model.config;
    const random = generator(seed);
    const ids = tokenizer.encode(prompt);
    const start = ids.length;
    const idOf = (character) => tokenizer.encode(character)[0];
    const cache = newCache(model);
    if (start > 1) forward(model, ids.slice(0, -1), { cache });
    const passes = []; // what each has drafted, kept and written

    const draft = (drafted) => {
      const text = tokenizer.decode([...ids, ...drafted].slice(-longest || ids.length + k));
      return asProbabilities(guess(tables, text, longest), idOf, V, temperature);
    };
    // The newest token and the draft are read together; what is rejected leaves the cache again
    const judge = (drafted) => {
      const { logits } = forward(model, [ids.at(-1), ...drafted], { cache });
      return listOf(drafted.length + 1, (i) =>
        probabilities(logits.subarray(i * V, (i + 1) * V), { temperature }),
      );
    };
    const left = () => most - (ids.length - start);
    function step() {
      const pass = onePass(Math.min(k, left() - 1), draft, judge, random);
      ids.push(...pass.drafted.slice(0, pass.kept), pass.own);
      cache.ids.length = ids.length - 1;
      passes.push(pass);
    }
    return { step, passes, left, written: () => ids.slice(start) };
  }

  // ---- fewer bits ----

  // The nearest float16, of two equally near the even one
  function half(x) {
    const size = Math.fround(Math.abs(x));
    if (size === 0) return 0;
    const step = 2 ** (Math.max(Math.floor(Math.log2(size)), -14) - 10);
    const steps = Math.floor(size / step);
    const rest = size / step - steps;
    const up = rest > 0.5 || (rest === 0.5 && steps % 2) ? 1 : 0;
    return Math.sign(x) * (steps + up) * step;
  }

  const GROUP = 32;
  const inPart = (shape, shared) =>
    ({ tensor: shape[0] * shape[1], row: shape[1], group: GROUP })[shared];

  // A matrix as whole numbers of so many bits times a float16 for each part, and back
  function rounded(weight, shape, bits, shared) {
    const n = inPart(shape, shared);
    const most = 2 ** (bits - 1) - 1;
    const result = new Float32Array(weight.length);
    for (let start = 0; start < weight.length; start += n) {
      let largest = 0;
      for (let i = start; i < start + n; i++) largest = Math.max(largest, Math.abs(weight[i]));
      const exact = largest / most;
      let scale = half(exact);
      if (exact < 2 ** -14 && scale < exact) scale += 2 ** -24; // no weight is cut off, none gone
      for (let i = start; i < start + n; i++) {
        const steps = Math.floor(weight[i] / (scale || 1) + 0.5);
        result[i] = scale * Math.max(-most, Math.min(most, steps));
      }
    }
    return result;
  }

  // The model with its matrices rounded; vectors, and 16 bits, stay as they are
  function roundedModel(model, tensors, bits, shared) {
    if (bits === 16) return model;
    const weights = {};
    for (const { name, shape } of tensors) {
      const weight = model.weights[name];
      weights[name] = shape.length > 1 ? rounded(weight, shape, bits, shared) : weight;
    }
    weights["lm_head.weight"] ??= weights["wte.weight"]; // tied
    return { config: model.config, weights };
  }

  // The bytes that such a model takes, its scales included
  function bytes(tensors, bits, shared) {
    let total = 0;
    for (const { shape } of tensors) {
      const n = shape.reduce((a, b) => a * b);
      if (shape.length === 1 || bits === 16) total += 2 * n;
      else total += Math.floor((n * bits) / 8) + (2 * n) / inPart(shape, shared);
    }
    return total;
  }

  const meanLoss = (model, ids) => mean(losses(forward(model, ids).logits, ids));

  const drafting = { unpack, guess, asProbabilities, residual, onePass, writer };
  const rounding = { half, rounded, roundedModel, bytes, meanLoss };
  return { ...drafting, ...rounding, generate };
});

// ---- the draft, side by side with the model alone ----

course.define("draft_ahead", () => {
  const { el, button, slider, note, visible, table, format, scrolling, newStatus } = course.live;
  const { seedField, check, sum } = course.live;
  const { modelOf, inFrames } = course.explorer;
  const { unpack, writer } = course.inference;
  const PACE = 70; // milliseconds from pass to pass

  function build(settings, host) {
    const [hash, countsHash] = host.dataset.models.split(" ");
    const { model, tokenizer } = modelOf(hash);
    const tables = unpack(course.described(countsHash, "the counts").tables);
    const { prompt, written: most } = settings;
    let alone;
    let ahead;
    let interrupt = null; // while both write: what stops them

    const longest = tables.length - 1;
    const heat = { max: 1.5, step: 0.1, value: settings.temperature, show: (x) => x.toFixed(1) };
    const controls = {
      length: slider("Draft", { min: 1, max: settings.longest, value: settings.length }, refill),
      longest: slider("It reads", { max: longest, value: longest }, refill),
      temperature: slider("Temperature", heat, refill),
    };
    const seed = seedField(settings.seed, refill);
    const rejected = check("Show what was rejected", draw, {}, false);
    const run = button("Write", () => (interrupt ? stop() : start()));
    const passButton = button("One pass", () => {
      stop();
      if (isDone()) restart();
      step();
      draw();
    });
    const status = newStatus();
    const [aloneText, aheadText] = ["Without a draft", "With a draft"].map((name) =>
      scrolling("sx-text", name),
    );
    const counts = el("div");

    function restart() {
      stop();
      const rules = {
        prompt,
        most,
        temperature: controls.temperature.get(),
        seed: seed.get(),
        longest: controls.longest.get(),
      };
      alone = writer(model, tokenizer, tables, { ...rules, k: 0 });
      ahead = writer(model, tokenizer, tables, { ...rules, k: controls.length.get() });
      draw();
    }

    function step() {
      for (const writing of [alone, ahead]) if (writing.left() > 0) writing.step();
    }
    const isDone = () => alone.left() === 0 && ahead.left() === 0;

    // Both texts to their end, as fast as the page can
    function fill() {
      status.setAttribute("aria-live", "off"); // a reader aloud would have to say each pass
      run.textContent = "Stop";
      interrupt = inFrames(most, () => isDone() || step(), draw, stop);
    }

    function refill() {
      restart();
      fill();
    }

    function start() {
      if (isDone()) restart();
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
        fill();
        return;
      }
      status.setAttribute("aria-live", "off");
      run.textContent = "Stop";
      const timer = setInterval(() => {
        step();
        if (isDone()) stop();
        draw();
      }, PACE);
      interrupt = () => clearInterval(timer);
    }

    function stop() {
      interrupt?.();
      interrupt = null;
      run.textContent = "Write";
      status.removeAttribute("aria-live");
    }

    const name = (ids) => `“${visible(tokenizer.decode(ids))}”`;

    // The last pass in words
    function says({ drafted, kept, own, isBonus }) {
      if (!drafted.length) return `The model wrote ${name([own])}; there was no room for a draft.`;
      const draft = `The draft said ${name(drafted)}.`;
      if (isBonus) return `${draft} The model kept all of it and added ${name([own])}.`;
      const after = drafted.length > kept + 1 ? " What followed it was dropped." : "";
      const all = kept ? `kept ${name(drafted.slice(0, kept))} and ` : "";
      return `${draft} The model ${all}wrote ${name([own])} in place of ${name([drafted[kept]])}.${after}`;
    }

    function compared() {
      const [a, b] = [alone, ahead].map((writing) => tokenizer.decode(writing.written()));
      const shared = Math.min(a.length, b.length);
      if (controls.temperature.get() > 0) {
        return isDone() ? "At this temperature each text is a draw of its own from the model." : "";
      }
      if (a.slice(0, shared) !== b.slice(0, shared)) return "The texts differ.";
      return isDone()
        ? `Both have written the same ${shared} characters.`
        : `The first ${shared} characters are the same.`;
    }

    const piece = (kind, ids) => el("span", { class: kind }, tokenizer.decode(ids));
    const before = () => el("b", prompt);

    function draw() {
      aloneText.replaceChildren(before(), tokenizer.decode(alone.written()));
      const pieces = ahead.passes.flatMap(({ drafted, kept, own, isBonus }) => [
        kept ? piece("sx-kept", drafted.slice(0, kept)) : null,
        !isBonus && rejected.box.checked
          ? el("del", visible(tokenizer.decode([drafted[kept]])))
          : null,
        piece(isBonus ? (drafted.length ? "sx-bonus" : null) : "sx-own", [own]),
      ]);
      aheadText.replaceChildren(before(), ...pieces.filter(Boolean));
      legend[1].hidden = !rejected.box.checked;
      for (const text of [aloneText, aheadText]) text.scrollTop = text.scrollHeight;
      const drafted = sum(ahead.passes.map((pass) => pass.drafted.length));
      const rows = [alone, ahead].map((writing, i) => {
        const [tokens, passes] = [writing.written().length, writing.passes.length];
        return [
          i ? "with a draft" : "without",
          tokens,
          passes,
          passes ? format(tokens / passes, 2) : "",
          i && drafted ? `${sum(ahead.passes.map((pass) => pass.kept))} of ${drafted}` : "",
        ];
      });
      counts.replaceChildren(table(["", "characters", "passes", "per pass", "kept"], rows));
      const last = ahead.left() > 0 || !isDone() ? ahead.passes.at(-1) : null;
      const words = [last && ahead.left() > 0 ? says(last) : "", compared()].filter(Boolean);
      status.textContent = words.join(" ") || "Nothing is written yet.";
    }

    const legend = [
      ["sx-kept", "kept from the draft"],
      ["del", "rejected"],
      ["sx-own", "the model's own in its place"],
      ["sx-bonus", "an extra one, after a draft kept whole"],
    ].map(([kind, words]) =>
      el("span", el(kind === "del" ? "del" : "span", { class: kind }, "abc"), ` ${words}`),
    );
    refill();
    return el("div", [
      el("div.sx-bar", [run, passButton, button("Start again", () => restart()), status]),
      el("div.sx-inf-two", [
        el("div", [note("The model alone"), aloneText]),
        el("div", [note("With a table of counts ahead of it"), aheadText]),
      ]),
      el("p.sx-inf-legend", legend),
      el("div.sx-columns", [
        el("div.sx-main", counts),
        el("div.sx-main", [
          Object.values(controls).map(({ element }) => element),
          seed.element,
          el("div.sx-checks", rejected.element),
          note(
            "Draft: characters that are guessed before each pass. It reads: the last characters that the counts look at.",
          ),
        ]),
      ]),
    ]);
  }

  course.figures.draft_ahead = build;
});

// ---- the model in fewer bits ----

course.define("fewer_bits", () => {
  const { el, sliderOver, note, format, scrolling, table, newStatus, choice } = course.live;
  const { drawing, words, way, circle, path, grouped } = course.live;
  const { modelOf, inFrames } = course.explorer;
  const { roundedModel, bytes, meanLoss, generate } = course.inference;
  const SHARED = [
    ["tensor", "matrix"],
    ["row", "row"],
    ["group", "32 weights"],
  ];
  const WAIT = 150; // milliseconds after the last move of the slider

  function build(settings, host) {
    const hash = host.dataset.models;
    const { model, tokenizer } = modelOf(hash);
    const { tensors } = course.described(hash);
    const { prompt, bits: stops, losses, written: most, temperature, seed } = settings;
    const ids = tokenizer.encode(settings.passage);
    const results = new Map(); // "bits shared" -> {loss, text}, computed once
    let [shared, sharedName] = SHARED[1];
    let waiting = 0;
    let interrupt = null;

    const rising = [...stops].reverse();
    const amount = sliderOver("Bits", rising.map(String), () => change(), rising.indexOf(8));
    const bitsNow = () => rising[amount.get()];
    const scales = SHARED.map(([, words]) => words);
    function choose(i) {
      [shared, sharedName] = SHARED[i];
      change();
    }
    const kinds = choice("One scale per", scales, choose, 1);
    const [exactText, roundedText] = ["Written in 16 bits", "Written in fewer bits"].map((name) =>
      scrolling("sx-text", name),
    );
    const roundedName = note("");
    const status = newStatus();
    const numbers = el("div");
    const chart = el("div");

    // Loss and text, a piece at a time, so that the page stays awake; then what is next
    function compute(bits, kind, next) {
      const key = bits === 16 ? "16" : `${bits} ${kind}`;
      if (results.has(key)) return next(results.get(key));
      const smaller = roundedModel(model, tensors, bits, kind);
      const loss = meanLoss(smaller, ids);
      const text = generate(smaller, tokenizer.encode(prompt), { temperature, seed });
      const writtenIds = [];
      const step = () => writtenIds.push(text.next().value);
      const done = () => {
        interrupt = null;
        results.set(key, { loss, text: tokenizer.decode(writtenIds) });
        next(results.get(key));
      };
      interrupt = inFrames(most, step, () => {}, done);
    }

    function change() {
      interrupt?.();
      interrupt = null;
      clearTimeout(waiting);
      drawStored();
      status.textContent = "The page is rounding the weights …";
      waiting = setTimeout(() => {
        compute(16, "row", (exact) =>
          compute(bitsNow(), shared, (rounded) => draw(exact, rounded)),
        );
      }, WAIT);
    }

    const place = () => stops.indexOf(bitsNow());
    function rise(difference) {
      const text = format(difference);
      return Number(text) > 0 ? `+${text}` : text;
    }

    function rows(rounded, exact) {
      const size = bytes(tensors, bitsNow(), shared);
      const [stored, base] = [losses[shared][place()], losses[shared][0]];
      return [
        [
          "weights and scales",
          `${grouped(Math.round(size / 1000))} kB`,
          `${((100 * size) / bytes(tensors, 16, shared)).toFixed(0)} %`,
        ],
        ["loss, whole validation split", format(stored), rise(stored - base)],
        [
          "loss, a passage of it, in this page",
          rounded ? format(rounded.loss) : "…",
          rounded ? rise(rounded.loss - exact.loss) : "",
        ],
      ];
    }

    function drawStored() {
      roundedName.textContent = `In ${bitsNow()} bits`;
      numbers.replaceChildren(table(["", "now", "against 16 bits"], rows()));
      chart.replaceChildren(curves());
    }

    function draw(exact, rounded) {
      numbers.replaceChildren(table(["", "now", "against 16 bits"], rows(rounded, exact)));
      let same = 0;
      while (same < rounded.text.length && rounded.text[same] === exact.text[same]) same++;
      exactText.replaceChildren(el("b", prompt), exact.text);
      const [shared, rest] = [rounded.text.slice(0, same), el("mark", rounded.text.slice(same))];
      roundedText.replaceChildren(el("b", prompt), shared, rest);
      if (same === rounded.text.length)
        status.textContent = `All ${same} characters are the same as in 16 bits.`;
      else if (same)
        status.textContent = `The first ${same} characters are the same as in 16 bits; what follows is marked.`;
      else status.textContent = "It differs from the text in 16 bits from the first character on.";
    }

    // The stored losses: bits to the right, a line for each kind of scale
    function curves() {
      const [width, height, left, right, top, bottom] = [400, 214, 44, 388, 14, 168];
      const all = Object.values(losses).flat();
      const [low, high] = [Math.min(...all), Math.max(...all)];
      const x = (i) => right - (i * (right - left)) / (stops.length - 1);
      const y = (loss) => bottom - 8 - ((loss - low) / (high - low)) * (bottom - top - 8);
      const lines = SHARED.map(([kind]) => {
        const d = path(losses[kind].map((loss, i) => [x(i), y(loss)]));
        return way(d, `sx-inf-line ${kind === shared ? "sx-inf-chosen" : ""}`);
      });
      const loss = losses[shared][place()];
      const name =
        `Loss on the whole validation split by bits, with one scale per ` +
        `${sharedName}: ` +
        stops.map((bits, i) => `${format(losses[shared][i])} in ${bits}`).join(", ");
      return drawing(width, height, { class: "sx-inf-chart", "aria-label": name }, [
        way(`M${left} ${top}V${bottom}H${width}`, "sx-inf-axis"),
        lines,
        circle(x(place()), y(loss), 6.5, "sx-inf-dot"),
        stops.map((bits, i) => words(String(bits), x(i), bottom + 18)),
        words("bits", (left + right) / 2, height - 8),
        words(format(high, 1), left - 6, y(high) + 5, "end"),
        words(format(low, 1), left - 6, y(low) + 5, "end"),
      ]);
    }

    change();
    return el("div", [
      el("div.sx-columns", [
        el("div.sx-main", [
          amount.element,
          el("div.sx-inf-shared", [el("span", "One scale per"), kinds.element]),
          numbers,
        ]),
        el("div.sx-main", [
          note("Loss on the whole validation split, in nats. The thick line: the chosen scale"),
          chart,
        ]),
      ]),
      status,
      el("div.sx-inf-two", [
        el("div", [note("In 16 bits"), exactText]),
        el("div", [roundedName, roundedText]),
      ]),
    ]);
  }

  course.figures.fewer_bits = build;
});
