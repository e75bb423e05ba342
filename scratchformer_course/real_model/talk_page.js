// Needs: model_figure.js opened_model.js
// A talk with the real model. Each token that it writes can be pressed, and shows how it was chosen,
// in the model opened beside it. What is changed there holds from the next token on.

course.define("talkPage", () => {
  const { el, button, label, percent, visible, slider, fold, note, newStatus, region } =
    course.live;
  const { choice, newSwitch, press, rovingLine, seedField } = course.live;
  const SIZES = { n_layers: 30, n_heads: 9 };
  const MOST = { chat: 256, text: 100 }; // tokens of an answer, and of a text that goes on
  const CHANCES = ["shade", "number", "none"];
  const NO_WORDS = "Write some words first.";
  const ENDED = "It ended at once. ";
  const SOON = "One moment …";
  const ALONE = "This was recorded at another word. Load the model, and it is computed here.";

  // What lab/real_talk.py has stored, as turns of a talk
  function recordedTurns({ question, prompt: { ids }, answer }) {
    const steps = answer.map((step) => ({ ...step, chance: step.top[0].p }));
    const content = steps.map(({ text }) => text).join("");
    return [
      { role: "user", content: question },
      { role: "assistant", content, ids, steps },
    ];
  }

  // What the model had read when it chose the recorded word, at temperature 0
  function readRecorded({ prompt, answer, word, attention, lens }, place) {
    const top = answer[place].top.map((rival, i) => ({ ...rival, kept: Number(i === 0) }));
    if (place !== word) return { top };
    const pieces = [...prompt.pieces, ...answer.slice(0, word).map(({ text }) => text)];
    const S = pieces.length;
    const weight = (digits) => parseInt(digits, 36) / (36 ** 2 - 1);
    const weights = (block, head) =>
      attention[block - 1]
        .match(/../g)
        .slice((head - 1) * S, head * S)
        .map(weight);
    return { top, pieces, weights, lens };
  }

  // A token as a button. A word's stay together, and a line's end ends the line
  function drawToken(line, { text, chance }, onpress, place) {
    const shown = visible(text.replace(/^ (?=.)/, ""));
    const element = button([shown, el("small", Math.round(100 * chance))], onpress, {
      class: "sx-piece",
      style: `--w: ${chance.toFixed(3)}`,
      tabindex: place ? -1 : 0,
      ...{ "data-row": 0, "data-column": place, "aria-pressed": "false" },
      "aria-label": `${shown}, ${percent(chance)}`,
    });
    if (text.startsWith(" ") || !line.childElementCount) line.append(" ", el("span.sx-word"));
    line.lastElementChild.append(element);
    if (text.includes("\n")) line.append(el("br"), el("span.sx-word"));
    return element;
  }

  course.figures.talk = (settings) => {
    const { newModelFigure, newWriteButton } = course.modelFigure;
    const WITH_MODEL = { class: "sx-with-model" };
    let figure = /** @type {any} */ (null);
    let turns = /** @type {any[]} */ ([]); // {role, content}; an answer's ids, of its prompt, and steps
    let isRecorded = true;
    let repeats = false; // the next answer is to the last question
    let tokens = /** @type {any[]} */ ([]); // of all answers, {turn, place, element}
    let chosen = /** @type {any} */ (null); // one of them
    let known = /** @type {any} */ ({}); // what was read of it

    // ---- parts ----

    const log = region("div.sx-log", "The talk");
    const field = el("textarea", { ...WITH_MODEL, rows: 2, maxlength: 2000, onkeydown });
    const status = newStatus();
    const say = (words) => status.replaceChildren(...[words].flat());
    const send = newWriteButton("Send", answer, say);
    const again = button("Again", () => start(true), WITH_MODEL);
    const anew = button("New chat", newChat, WITH_MODEL);
    const chances = choice("Chances", CHANCES, (i) => {
      log.dataset.chances = CHANCES[i];
    });
    const template = newSwitch("As a chat", () => {}, {}, true);
    const show = (x) => x.toFixed(2);
    const rule = () => steer({ rules: rules() });
    const temperature = slider("Temperature", { max: 2, step: 0.05, value: 0, show }, rule);
    const top_p = slider("Top-p", { min: 0.05, max: 1, step: 0.05, value: 1, show }, rule);
    const rules = () => ({ temperature: temperature.get(), top_p: top_p.get() });
    const seed = seedField(1);
    const opened = course.openedModel.newOpenedModel(SIZES, settings.head, {
      changed: () => steer({ change: opened.change() }),
      lower,
      look: () => figure?.again(),
    });

    function lower(bits) {
      say("Changing the weights …");
      const done = () => {
        say("");
        figure.again();
      };
      figure.model.lower(bits).then(done, ({ message }) => say(message));
    }
    function steer(how) {
      if (send.isWriting()) figure.model.steer(how);
      figure.again();
    }
    function onkeydown(event) {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      start(false);
    }
    function newChat() {
      if (send.isWriting()) send.element.click(); // which stops it
      begin([]);
      say("");
    }
    function start(isAgain) {
      repeats = isAgain;
      log.scrollIntoView({ block: "nearest" });
      send.start();
    }

    // ---- the talk ----

    function begin(newTurns, recorded = false) {
      [turns, isRecorded, tokens, chosen] = [newTurns, recorded, [], null];
      log.replaceChildren();
      for (const turn of turns) {
        turn.line = el(turn.steps ? "p.sx-said" : "p.sx-asked", turn.steps ? "" : turn.content);
        log.append(turn.line, turn.before ? note(`Before: ${turn.before}`) : "");
        for (const place of turn.steps?.keys() ?? []) append(turn, place);
      }
      opened.show(null);
      log.scrollTop = log.scrollHeight;
    }

    function append(turn, place) {
      const column = tokens.length;
      const element = drawToken(turn.line, turn.steps[place], () => chooseSeen(column), column);
      tokens.push({ turn, place, element });
      log.scrollTop = log.scrollHeight;
    }

    async function answer(signal) {
      const last = repeats && turns.at(-1);
      const content = field.value.trim();
      repeats = false;
      if (!last && !content) throw new Error(NO_WORDS);
      if (!last) field.value = "";
      const before = isRecorded ? [] : turns;
      const asked = last ? turns.slice(0, -1) : [...before, { role: "user", content }];
      const steps = /** @type {any[]} */ ([]);
      const turn = { role: "assistant", content: "", steps, before: last?.content };
      begin([...asked, turn]);
      say("");
      const chat = asked.map((past) => ({ role: past.role, content: past.content }));
      const text = chat.map((past) => past.content).join("\n");
      const [prompt, most] = template.box.checked ? [{ chat }, MOST.chat] : [{ text }, MOST.text];
      const how = { change: opened.change(), rules: rules(), seed: seed.get(), most };
      let first = 0;
      function onstep(step) {
        first ||= performance.now();
        turn.content += step.text;
        steps.push(step);
        if (turns.includes(turn)) append(turn, steps.length - 1);
      }
      const reading = figure.model.encode(prompt).then(({ ids }) => Object.assign(turn, { ids }));
      const writing = figure.model.write({ ...prompt, ...how }, onstep, signal);
      const [written] = await Promise.all([writing, reading]);
      turn.content = written.text;
      const n = steps.length;
      const speed = (1000 * (n - 1)) / (performance.now() - first);
      const heard = el("span.sx-heard", written.text); // who sees has seen it
      return n > 1 ? [`${n} tokens, ${speed.toFixed(1)} a second. `, heard] : [ENDED, heard];
    }

    // ---- one token, and the model opened at it ----

    function chooseSeen(column) {
      choose(column);
      opened.element.scrollIntoView({ block: "nearest" }); // on a phone it is far below
    }
    function choose(column) {
      chosen = tokens[column];
      press(
        tokens.map(({ element }) => element),
        column,
        true,
      );
      const { turn, place } = chosen;
      const step = turn.steps[place];
      const why = figure?.isOpen() ? SOON : ALONE;
      opened.show({ step, top: step.top, why, ...(isRecorded && readRecorded(settings, place)) });
      figure?.again();
    }

    // The model reads the talk up to the chosen token, as it is changed now
    async function look(model) {
      if (!chosen) return;
      const { turn, place, element } = chosen;
      const step = turn.steps[place];
      const ids = [...turn.ids, ...turn.steps.slice(0, place).map(({ id }) => id)];
      const asked = { ids, change: opened.change() };
      const key = JSON.stringify([asked, opened.bits()]);
      if (key !== known.key) {
        known = { ...(await model.read({ ...asked, ask: { rows: true } })), key };
      }
      if (opened.isLens()) known.lens ??= await model.lens(asked);
      if (chosen?.element !== element) return;
      const { logits, rows, pieces, lens } = known;
      const kept = course.model.probabilities(logits, rules());
      const top = known.top.map((rival) => ({ ...rival, kept: kept[rival.id] }));
      const now = course.model.probabilities(logits)[step.id];
      const start = (block, head) => ((block - 1) * SIZES.n_heads + head - 1) * ids.length;
      const weights = (...at) => rows.subarray(start(...at), start(...at) + ids.length);
      opened.show({ step, top, now, pieces, weights, lens, why: SOON });
    }

    function recorded() {
      [known, field.value] = [{}, settings.question];
      say("");
      opened.clear();
      begin(recordedTurns(settings), true);
      choose(settings.word);
    }

    rovingLine(log, () => tokens.map(({ element }) => element));
    chances.buttons[0].click();
    const chat = el("div.sx-main", [
      ...[log, el("div.sx-prompt", label("Your words", field), field)],
      el("div.sx-bar.sx-write", send.element, again, anew),
      ...[status, el("div.sx-bar", el("span", "Chances: ", chances.element), template.element)],
      fold("How it draws", temperature.element, top_p.element, seed.element),
    ]);
    const columns = el("div.sx-columns", chat, opened.element);
    figure = newModelFigure({ work: look, recorded }, columns);
    chat.append(...[...figure.element.children].slice(1)); // the loader is near what needs it
    return figure.element;
  };
});
