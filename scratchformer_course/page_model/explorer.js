// A model alive in the page: a prompt that all views read, and the views in tabs.
//
// A view registers itself in `course.explorer.views` under its name, as a title and a
// function `build(context)` that gives {element, update(state)}. It is asked to update when the
// prompt has changed and the view is in sight.
//
// Needs: model.js tokenizer.js scene.js

course.define("explorer", () => {
  const { el, newId, label, visible, tabs, sum, newStatus } = course.live;
  const views = {};
  const models = {}; // hash -> {model, tokenizer}, made when first needed

  // ---- the page's models -------------------------------------------------------------------

  function modelOf(hash) {
    const description = course.described(hash);
    models[hash] ??= {
      model: course.model.load(description),
      tokenizer: course.tokenizer.load(description.tokenizer),
    };
    return models[hash];
  }

  // ---- writing, while the page stays awake ---------------------------------------------------

  const FRAME = 40; // milliseconds of writing between two looks at the page

  // Call `step` so many times, then `done`; `show` what is written after each frame. It gives a
  // function that stops it. Where `step` gives false, no end is made yet: some steps more are allowed.
  function inFrames(times, step, show, done) {
    const least = -Math.floor(times / 3);
    const goesOn = (mayEnd) => --times > 0 || (mayEnd === false && times > least);
    let isOpen = true;
    let timer = setTimeout(frame, 0);
    function frame() {
      const until = performance.now() + FRAME;
      do isOpen = goesOn(step());
      while (isOpen && performance.now() < until);
      show();
      if (isOpen) timer = setTimeout(frame, 0);
      else done();
    }
    return () => clearTimeout(timer);
  }

  // ---- one explorer ------------------------------------------------------------------------

  // The prompt's field; read(text) is called, a moment after the last key, for a text that changed.
  // say(text) tells what was read.
  function promptField(settings, read, name = "Prompt") {
    let waiting = 0;
    // At once when the field is left, or the press of a button would be of the text before
    const readNow = () => {
      if (waiting) read(field.value);
      clearTimeout(waiting);
      waiting = 0;
    };
    const oninput = () => {
      clearTimeout(waiting);
      waiting = setTimeout(readNow, 150);
    };
    const on = { oninput, onblur: readNow };
    const field = el("textarea", { rows: 2, spellcheck: "false", autocomplete: "off", ...on });
    field.value = settings.prompt;
    const status = newStatus();
    const element = el("div.sx-prompt", [label(name, field), field, status]);
    const say = (text) => {
      status.textContent = text;
    };
    return { element, field, say };
  }

  // What of a text is read as something else or not at all, in words
  function changesInWords(changes) {
    const replaced = changes
      .filter(([, to]) => to)
      .map(([from, to]) => `${from} as ${visible(to)}`);
    const left = changes.filter(([, to]) => !to).map(([from]) => from);
    const parts = [
      replaced.length ? `reads ${replaced.join(", ")}` : "",
      left.length ? `leaves out ${left.join(" ")}` : "",
    ].filter(Boolean);
    return parts.length ? `Some characters it has never met: it ${parts.join(", and it ")}.` : "";
  }

  // What a model reads of any text: the last tokens that fit, or a new line if nothing is left; and
  // in words what was read, whose usual case `isPlain` leaves out
  function reading(tokenizer, typed, length, isPlain = false) {
    const { text, changes } = tokenizer.fit(typed);
    const all = tokenizer.encode(text || tokenizer.fit("\n").text);
    const ids = all.length ? all.slice(-length) : [0];
    const dropped = all.length > length ? `, the last of ${all.length}: more do not fit` : "";
    const count = `${ids.length} ${ids.length === 1 ? "token" : "tokens"}${dropped}.`;
    const usual = isPlain && !dropped ? "" : count;
    const sentences = [
      text ? usual : "Nothing to read, so it begins a new line.",
      changesInWords(changes),
    ];
    return { ids, text: tokenizer.decode(ids), said: sentences.filter(Boolean).join(" ") };
  }

  // ---- a question on two texts: is it this token, or that one? -------------------------------

  const last = ({ logits }, V) => logits.subarray(logits.length - V);
  const likeliest = (logits) => logits.indexOf(logits.reduce((a, b) => Math.max(a, b)));

  // What the first text expects most, against what the second does; if that is the same token, then
  // against all others, which is null
  function question(logits, others) {
    const [asked, rival] = [likeliest(logits), likeliest(others)];
    return { asked, rival: rival === asked ? null : rival };
  }

  // ln of p(asked) / p(rival), or of p(asked) / (1 - p(asked))
  function logOdds(logits, { asked, rival }) {
    if (rival !== null) return logits[asked] - logits[rival];
    const odds = Array.from(logits, (z, id) => (id === asked ? 0 : Math.exp(z - logits[asked])));
    return -Math.log(sum(odds));
  }

  function build(given, host) {
    const { model, tokenizer } = modelOf(host.dataset.models);
    const isNamed = course.scene.hasAddress(host);
    const asked = isNamed ? course.scene.asked() : {};
    const settings = { ...given, prompt: asked.prompt ?? given.prompt };
    const { context_length } = model.config;
    const isPlain = settings.simple && settings.views.includes("next");
    const readText = (typed) => reading(tokenizer, typed, context_length, isPlain);
    let altered = settings.altered === undefined ? null : readText(settings.altered);
    let state = null;
    let inSight = null;

    function read(typed) {
      const { ids, text, said } = readText(typed);
      const seen = {};
      const hook = (name, array) => {
        seen[name] = array;
      };
      const run = course.model.forward(model, ids, { hook });
      state = { text, ids, run, seen, altered };
      prompt.say(said);
      update(inSight);
      const detail = { model, tokenizer, ids, run, isGiven: typed === given.prompt };
      document.dispatchEvent(new CustomEvent("course-prompt", { detail })); // for pages/flow.js
    }
    const prompt = promptField(settings, read);
    if (isPlain) {
      const once = { once: true };
      const choose = () => {
        prompt.field.select(); // typing takes its place
        prompt.field.addEventListener("mouseup", (event) => event.preventDefault(), once);
      };
      prompt.field.addEventListener("focus", choose, once);
    }
    const context = {
      model,
      tokenizer,
      settings,
      asked, // by the address, as texts
      // Puts the prompt and these rules into it
      name: (rules) => isNamed && course.scene.setAddress({ prompt: prompt.field.value, ...rules }),
      label: (id) => visible(tokenizer.decode([id])),
      // The second text of the views that compare two
      alter: (typed) => {
        altered = readText(typed);
        state = { ...state, altered };
        update(inSight);
      },
    };
    const parts = settings.views.map((name) => {
      const view = views[name].build(context);
      const panel = el("div", { class: `sx-panel sx-${name}`, id: newId("panel") }, view.element);
      return { view, panel, title: views[name].title, updated: null };
    });
    function update(part) {
      part.updated = state;
      part.view.update(state);
    }
    function show(part) {
      inSight = part;
      if (state && part.updated !== state) update(part);
    }
    const element = el("div", prompt.element);
    if (parts.length > 1) {
      const { list, choose } = tabs(parts, show);
      element.append(list);
      const named = asked.prompt !== undefined && parts[settings.views.indexOf("next")];
      choose(named || parts[0]);
    } else show(parts[0]);
    element.append(...parts.map(({ panel }) => panel));
    read(settings.prompt);
    if (asked.prompt !== undefined) setTimeout(() => host.scrollIntoView());
    return element;
  }

  course.figures.explorer = build;
  const pairs = { last, likeliest, question, logOdds };
  return { views, modelOf, promptField, reading, changesInWords, inFrames, ...pairs };
});
