// The settings of a run that a reader may change.

course.define("controls", () => {
  const { el, slider, check, seedField, fold, button, note } = course.live;
  const MOST_PAIRS = 10000; // rows of the table of pairs, for a text of many characters
  const IDEAS = {
    rotary: ["Rotary", "rotary positions (off: learned ones)"],
    bigrams: ["Pairs", "a vector for each pair of characters"],
    smear: ["Smear", "smear: the three characters before mixed in"],
    muon: ["Muon", "Muon for the matrices (off: AdamW, tuned as widely)"],
  };

  // What goes wrong, as settings; all others are as at the start
  const ACCIDENTS = {
    "Train much too fast": { rate: 5 },
    "Stop after 20 steps": { steps: 20 },
    "Leave out its four best ideas": { rotary: 0, bigrams: 0, smear: 0, muon: 0 },
  };

  const mapped = (object, f) =>
    Object.fromEntries(Object.entries(object).map(([name, value]) => [name, f(value, name)]));

  function newSliders({ config, training }) {
    const power = (x) => String(2 ** x);
    const times = (x) => (x ? `× ${(2 ** x).toPrecision(2)}` : "× 1");
    const doubling = (name, min, max, value) =>
      slider(name, { min, max, value: Math.log2(value), show: power });
    return {
      width: doubling("Width", 5, 7, config.d_model),
      heads: doubling("Heads", 0, 2, config.n_heads),
      layers: slider("Blocks", { min: 1, max: 4, value: config.n_layers }),
      context: doubling("Context", 4, 7, config.context_length),
      steps: slider("Steps", { min: 20, max: 400, step: 2, value: training.steps }),
      rate: slider("Rates", { min: -3, max: 5, step: 0.5, value: 0, show: times }),
    };
  }

  // read() gives a run's configuration, settings and seed, inWords() the same in words, as pairs;
  // chosen() what differs from the start, as numbers by name, and choose() sets it; allow(may) says
  // whether they can be changed. train() is what a reader presses for: a run with these settings
  function newControls(settings, train) {
    const { config, training, rival } = settings;
    const sliders = newSliders(settings);
    const checks = mapped(IDEAS, ([, words]) => check(words, () => {}, {}, true));
    const boxes = mapped(checks, ({ box }) => box);
    const seed = seedField(0);
    const accidents = Object.entries(ACCIDENTS).map(([name, wanted]) =>
      button(name, () => {
        choose(wanted);
        train();
      }),
    );
    const fields = el("fieldset.sx-fields", [
      el("div.sx-bar.sx-use", accidents),
      note("Or choose for yourself. Chapter 17 tells what each of the four ideas is worth."),
      Object.values(sliders).map(({ element }) => element),
      seed.element,
      el("div.sx-checks", [Object.values(checks).map(({ element }) => element)]),
      el("div.sx-bar.sx-use", button("Train with these settings", train, { class: "sx-go" })),
    ]);
    const element = fold("Settings: break it", fields);

    // What depends on the text is added when that is read
    function read() {
      const factor = 2 ** sliders.rate.get();
      const { rotary, smear, bigrams, muon } = boxes;
      return {
        seed: seed.get(),
        config: {
          ...config,
          d_model: 2 ** sliders.width.get(),
          n_heads: 2 ** sliders.heads.get(),
          n_layers: sliders.layers.get(),
          context_length: 2 ** sliders.context.get(),
          positions: rotary.checked ? "rotary" : "learned",
          smear: smear.checked ? config.smear : 0,
          bigram_rows: bigrams.checked ? MOST_PAIRS : 0,
        },
        training: {
          ...training,
          steps: sliders.steps.get(),
          lr: training.lr * factor,
          muon_lr: muon.checked ? training.muon_lr * factor : null,
          matrix_lr: muon.checked ? null : rival.matrix_lr * factor,
        },
      };
    }
    const inWords = () => [
      ...Object.values(sliders).map(({ element }) =>
        ["label", "output"].map((part) => element.querySelector(part).textContent),
      ),
      ["Seed", seed.input.value],
      ...Object.entries(IDEAS).map(([name, [idea]]) => [idea, boxes[name].checked ? "on" : "off"]),
    ];
    const numbers = () => ({
      ...mapped(sliders, (slider) => slider.get()),
      seed: seed.get(),
      ...mapped(boxes, (box) => Number(box.checked)),
    });
    const usual = numbers();
    const chosen = () =>
      Object.fromEntries(Object.entries(numbers()).filter(([name, x]) => x !== usual[name]));
    // Of what an address or a store says, which may be anything, what is a number
    function choose(wanted) {
      const asked = mapped(usual, (x, name) => {
        const number = Number(wanted[name] ?? x);
        return Number.isFinite(number) ? number : x;
      });
      for (const name of Object.keys(sliders)) sliders[name].set(asked[name]);
      for (const name of Object.keys(boxes)) boxes[name].checked = asked[name] !== 0;
      seed.input.value = String(Math.max(0, Math.min(9999, Math.floor(asked.seed))));
    }
    function allow(may) {
      fields.disabled = !may;
    }
    return { element, read, inWords, chosen, choose, allow };
  }

  return { newControls };
});
