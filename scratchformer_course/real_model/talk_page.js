// Needs: model_figure.js opened_model.js
// A talk with the real model. Each token that it writes can be pressed, and shows how it was chosen,
// in the model opened beside it. What is changed there holds from the next token on.

course.define("talkPage", () => {
  const { el, button, label, percent, visible, slider, fold, note, newStatus, region } =
    course.live;
  const { choice, newSwitch, press, rovingLine, seedField } = course.live;
  const SIZES = [30, 9]; // blocks, and heads of a block
  const MOST = { chat: 256, text: 100 }; // tokens of an answer, and of a text that goes on
  const CHANCES = ["shade", "number", "none"];
  const NO_WORDS = "Write some words first.";

  // What lab/real_talk.py has stored, as turns of a talk
  function recordedTurns({ question, prompt: { ids }, answer }) {
    const steps = answer.map((step) => ({ ...step, p: 1, chance: step.top[0].p }));
    const content = steps.map(({ text }) => text).join("");
    return [
      { role: "user", content: question },
      { role: "assistant", content, ids, steps },
    ];
  }

  // What it had read when it chose the recorded word
  function readRecorded({ prompt, answer, word, attention, lens }) {
    const pieces = [...prompt.pieces, ...answer.slice(0, word).map(({ text }) => text)];
    const S = pieces.length;
    const digits = (block, head) => attention[block - 1].slice((head - 1) * S, head * S);
    const weights = (block, head) => Array.from(digits(block, head), (z) => parseInt(z, 36) / 35);
    return { pieces, weights, lens };
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
    let figure = /** @type {any} */ (null);
    let turns = /** @type {any[]} */ ([]); // {role, content}; an answer has ids, of its prompt, and steps
    let isRecorded = true;
    let tokens = /** @type {any[]} */ ([]); // of all answers, {turn, place, element}
    let chosen = /** @type {any} */ (null); // one of them
    let known = /** @type {any} */ ({}); // what was read of it
    let writing = /** @type {any} */ (null); // what stops the answer that is written

    // ---- parts ----

    const WITH_MODEL = { class: "sx-with-model" };
    const log = region("div.sx-log", "The talk");
    const field = el("textarea", { ...WITH_MODEL, rows: 2, maxlength: 2000, onkeydown });
    const send = button("Send", () => (writing ? writing.abort() : ask()), WITH_MODEL);
    send.classList.add("sx-go");
    const again = button("Answer again", () => writing || askAgain(), WITH_MODEL);
    const status = newStatus();
    const chances = choice("Chances", CHANCES, (i) => {
      log.dataset.chances = CHANCES[i];
    });
    const template = newSwitch("Template of a chat", () => {}, {}, true);
    const show = (x) => x.toFixed(2);
    const rules = {
      temperature: slider("Temperature", { max: 2, step: 0.05, value: 0, show }, rule),
      top_p: slider("Top-p", { min: 0.05, max: 1, step: 0.05, value: 1, show }, rule),
    };
    const seed = seedField(1);
    const opened = course.openedModel.newOpenedModel(SIZES, settings.head, {
      changed: () => steer({ change: opened.change() }),
      lower: (bits) => figure.model.lower(bits).then(figure.again, fail),
      look: () => figure?.again(),
    });

    const rulesNow = () => ({ temperature: rules.temperature.get(), top_p: rules.top_p.get() });
    function rule() {
      steer({ rules: rulesNow() });
    }
    function steer(settings) {
      if (writing) figure.model.steer(settings);
      figure.again();
    }
    function onkeydown(event) {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!writing) ask();
    }
    // What is heard alone is an answer, which is seen already
    const say = (words, answer = "") => status.replaceChildren(words, el("span.sx-heard", answer));
    const fail = ({ message }) => say(message);

    // ---- the talk ----

    function draw() {
      [tokens, chosen] = [[], null];
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
      const element = drawToken(turn.line, turn.steps[place], () => choose(column), column);
      tokens.push({ turn, place, element });
      log.scrollTop = log.scrollHeight;
    }

    function begin(newTurns) {
      writing?.abort();
      [turns, isRecorded] = [newTurns, false];
      draw();
    }

    function ask() {
      const content = field.value.trim();
      if (!content) return say(NO_WORDS);
      field.value = "";
      return answer([...(isRecorded ? [] : turns), { role: "user", content }]);
    }

    // The last question once more, as the model is now
    function askAgain() {
      const last = turns.at(-1);
      return last ? answer(turns.slice(0, -1), last.content) : say(NO_WORDS);
    }

    async function answer(asked, before = "") {
      const said = asked.map(({ role, content }) => ({ role, content }));
      const text = said.map(({ content }) => content).join("\n");
      const prompt = template.box.checked ? { chat: said } : { text };
      const turn = { role: "assistant", content: "", steps: [], before };
      begin([...asked, turn]);
      const stop = new AbortController();
      const start = performance.now();
      isWriting(stop);
      function onstep(step) {
        turn.content += step.text;
        turn.steps.push(step);
        if (turns.includes(turn)) append(turn, turn.steps.length - 1);
      }
      const how = { change: opened.change(), rules: rulesNow(), seed: seed.get() };
      const most = template.box.checked ? MOST.chat : MOST.text;
      try {
        const reading = figure.model.encode(prompt).then(({ ids }) => Object.assign(turn, { ids }));
        const writes = figure.model.write({ ...prompt, ...how, most }, onstep, stop.signal);
        const [written] = await Promise.all([writes, reading]);
        turn.content = written.text;
        const speed = (1000 * turn.steps.length) / (performance.now() - start);
        say(`${turn.steps.length} tokens, ${speed.toFixed(1)} a second. `, turn.content);
      } catch (error) {
        fail(error);
      }
      if (writing === stop) isWriting(null);
    }

    function isWriting(stop) {
      writing = stop;
      send.textContent = stop ? "Stop" : "Send";
      if (stop) say("");
    }

    // ---- one token, and the model opened at it ----

    function choose(column) {
      chosen = tokens[column];
      const elements = tokens.map(({ element }) => element);
      press(elements, column, true);
      const { turn, place } = chosen;
      const step = turn.steps[place];
      const top = step.top.map((rival) => ({ ...rival, kept: rival.id === step.id ? step.p : 0 }));
      const read = isRecorded && place === settings.word ? readRecorded(settings) : {};
      const why = figure?.isOpen() ? "One moment …" : "This was recorded at one word alone.";
      opened.show({ step, top, why, ...read });
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
      if (key !== known.key)
        known = { ...(await model.read({ ...asked, ask: { rows: true } })), key };
      if (opened.isLens()) known.lens ??= await model.lens(asked);
      if (chosen?.element !== element) return;
      const { logits, rows, pieces, lens } = known;
      const kept = course.model.probabilities(logits, rulesNow());
      const top = known.top.map((rival) => ({ ...rival, kept: kept[rival.id] }));
      const now = course.model.probabilities(logits)[step.id];
      const weights = (block, head) => {
        const start = ((block - 1) * SIZES[1] + head - 1) * ids.length;
        return rows.subarray(start, start + ids.length);
      };
      opened.show({ step, top, now, pieces, weights, lens, why: "One moment …" });
    }

    function recorded() {
      begin(recordedTurns(settings));
      [isRecorded, known, field.value] = [true, {}, settings.question];
      isWriting(null);
      opened.clear();
      choose(settings.word);
    }

    rovingLine(log, () => tokens.map(({ element }) => element));
    chances.buttons[0].click();
    const chat = el("div.sx-main", [
      ...[log, el("div.sx-prompt", label("Your words", field), field)],
      el(
        "div.sx-bar.sx-write",
        send,
        again,
        button("New chat", () => begin([]), WITH_MODEL),
      ),
      ...[status, el("div.sx-bar", chances.element, template.element)],
      fold("How it draws", rules.temperature.element, rules.top_p.element, seed.element),
    ]);
    const columns = el("div.sx-columns", chat, opened.element);
    figure = course.modelFigure.newModelFigure({ work: look, recorded }, columns);
    return figure.element;
  };
});
