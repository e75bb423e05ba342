// One head of a GPT looks where the reader says: one back, two back, at itself, at nothing, or where a
// clock sends it that the reader sets. The values, and the rest of the model, stay as they are.
//
// Needs: page_model/explorer.js

course.define("transplant", () => {
  const { el, bar, button, format, listOf, note, press, region, slider, sum } = course.live;
  const { newStatus, title } = course.live;
  const { forward, losses, newCache, softmax } = course.model;
  const WRITTEN = 60; // characters
  const TALLEST = 5; // nats: a full bar

  // ---- calculations ------------------------------------------------------------------------

  // What place t gives to the places 0 to t
  const placesBack = (n) => (t) => listOf(t + 1, (s) => Number(s === Math.max(0, t - n)));
  const LOOKS = {
    "one back": placesBack(1),
    "two back": placesBack(2),
    itself: placesBack(0),
    nothing: (t) => Array(t + 1).fill(0),
  };

  // The head of exercise 7.2: keys are positions of width C, and queries the same, turned back by so
  // many places and multiplied by a number
  function clock(back, times, C = 32) {
    const hands = listOf(C / 2, (i) => 10_000 ** ((-2 * i) / C));
    const score = (distance) => sum(hands.map((b) => Math.cos((distance - back) * b)));
    return (t) => softmax(listOf(t + 1, (s) => (times / Math.sqrt(C)) * score(t - s)));
  }

  // A hook for `forward`, by which this head of this block, from 0, looks where look(t) says
  function transplant({ d_model: C, n_heads: H }, [block, head], look) {
    const D = C / H;
    let values; // (S, C)
    return (name, array) => {
      if (name === `h.${block}.attn.v`) values = array;
      if (name !== `h.${block}.attn.heads`) return;
      const [T, S] = [array.length / C, values.length / C];
      for (let t = 0; t < T; t++) {
        const weights = look(S - T + t);
        for (let d = head * D; d < (head + 1) * D; d++) {
          array[t * C + d] = weights.reduce((all, w, s) => all + w * values[s * C + d], 0);
        }
      }
    };
  }

  // The mean loss on a text
  function lossOf(model, ids, hook) {
    const found = losses(forward(model, ids, { hook }).logits, ids);
    return sum(found) / found.length;
  }

  // What a model writes after a text, always its likeliest token
  function* likeliest(model, ids, hook) {
    const [cache, V] = [newCache(model), model.config.vocab_size];
    for (;;) {
      const logits = forward(model, ids, { cache, hook }).logits.slice(-V);
      ids = [logits.indexOf(Math.max(...logits))];
      yield ids[0];
    }
  }

  // ---- the figure --------------------------------------------------------------------------

  // head: [block, head] from 0; looks: names, of which the first is the head's own
  function build({ head, looks, chosen, back, times, prompt }, host) {
    const { modelOf, promptField, reading, inFrames } = course.explorer;
    const { model, tokenizer } = modelOf(host.dataset.models);
    const longest = model.config.context_length - WRITTEN;
    const mine = looks.indexOf("mine");
    let ids = [];
    let interrupt = () => {};

    const found = looks.map(() => el("small"));
    const buttons = looks.map((name, i) => button([name, found[i]], () => choose(i)));
    const ways = el(
      "div.sx-ways",
      { role: "group", "aria-label": "Where the head looks" },
      buttons,
    );
    const written = region("p.sx-text", "What it writes");
    const turn = slider("Places back", { max: 4, step: 0.25, value: back }, setClock);
    const force = slider("Times", { max: 40, value: times }, setClock);
    const field = promptField({ prompt }, read, "The text");
    const status = newStatus();

    const unknown = () => el("span.sx-p", { style: "visibility: hidden" });

    function hookOf(name) {
      const look = name === "mine" ? clock(turn.get(), force.get()) : LOOKS[name];
      return look && transplant(model.config, head, look);
    }

    function showLoss(i) {
      const loss = lossOf(model, ids, hookOf(looks[i]));
      found[i].replaceChildren(format(loss, 1), bar(Math.min(1, loss / TALLEST)));
    }

    function choose(i) {
      chosen = i;
      press(buttons, i);
      showLoss(i);
      write(hookOf(looks[i]));
    }

    function setClock() {
      choose(mine);
    }

    function read(typed) {
      const { ids: all, said } = reading(tokenizer, typed, longest, true);
      ids = all.length > 1 ? all : [all[0], all[0]]; // a loss needs two
      field.say(said);
      for (const place of found) place.replaceChildren("–", unknown());
      showLoss(0);
      choose(chosen);
    }

    function write(hook) {
      interrupt();
      const [made, start] = [
        /** @type {number[]} */ ([]),
        tokenizer.decode(ids).split("\n").at(-1),
      ];
      const writer = likeliest(model, ids, hook);
      const step = () => made.push(writer.next().value);
      const show = () => written.replaceChildren(start, el("mark", tokenizer.decode(made)));
      status.textContent = "Writing …";
      interrupt = inFrames(WRITTEN, step, show, () => {
        status.textContent = "Always the likeliest character.";
      });
    }

    read(prompt);
    const name = head.map((n) => n + 1).join(".");
    return el("div.sx-columns", [
      el("div", [
        note(`Head ${name} looks at … With it, the loss on the text, in nats a character:`),
        ways,
        title("It writes"),
        written,
        status,
      ]),
      el("div", [
        note("Mine: the clock of exercise 7.2. Its query is turned back, and multiplied."),
        turn.element,
        force.element,
        field.element,
      ]),
    ]);
  }

  course.figures.transplant = build;
  return { LOOKS, clock, transplant, lossOf, likeliest };
});
