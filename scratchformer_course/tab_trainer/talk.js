// Talk to a trained model: type a line, and it goes on from it.

course.define("talk", () => {
  const { el, label, title, newStatus } = course.live;
  const { inFrames, changesInWords } = course.explorer;
  const { copyButton, address } = course.scene;
  const LONGEST = 200; // characters of an answer
  const TEMPERATURE = 0.8;

  // `description` is what model.js runs, `opening` stands in the field at first
  function newTalk(description, opening) {
    const model = course.model.load(description);
    const tokenizer = course.tokenizer.load(description.tokenizer);
    const field = el("input", { type: "text", maxlength: 300, autocomplete: "off" });
    field.value = opening.replaceAll(/\s+/g, " ").trim();
    const scene = course.scene.newScene("What you said, and how it went on");
    scene.show(["", "Its answer comes here."]);
    const copy = copyButton("Copy this talk", () => `${scene.plain()}\n\n${address()}`.trim());
    copy.disabled = true;
    const exchanges = []; // [line, how it went on] of each turn
    const status = newStatus();
    let interrupt = () => {};

    function answer(event) {
      event.preventDefault();
      interrupt();
      const { text, changes } = tokenizer.fit(field.value);
      if (!text.trim()) {
        status.textContent = "Type a line that it can read: some letters of its text.";
        return;
      }
      status.textContent = changesInWords(changes);
      if (exchanges.length) exchanges.at(-1)[1] += "\n\n";
      const exchange = [text, ""];
      exchanges.push(exchange);
      copy.disabled = false;
      scene.element.scrollIntoView({ block: "nearest" });
      const rules = { seed: exchanges.length - 1, temperature: TEMPERATURE };
      const start = tokenizer.encode(text).slice(-model.config.context_length);
      const writer = course.model.generate(model, start, rules);
      const show = () => {
        scene.show(...exchanges);
        const line = [...scene.element.querySelectorAll("mark")].at(-1);
        scene.element.scrollTop = line.offsetTop - scene.element.offsetTop;
      };
      const step = () => {
        const next = tokenizer.decode([writer.next().value]);
        exchange[1] += next;
        return /\s$/.test(next);
      };
      interrupt = inFrames(LONGEST, step, show, () => {
        scene.element.dataset.turns = String(exchanges.length); // for whoever waits
      });
    }

    const element = el("div", [
      title("Talk to your model"),
      el("form.sx-prompt.sx-talk", { onsubmit: answer }, [
        label("Type a line, and it goes on", field),
        el("div.sx-row", field, el("button.sx-go", { type: "submit" }, "Go on")),
      ]),
      status,
      scene.element,
      el("div.sx-bar.sx-use", copy),
    ]);
    return { element, line: () => field.value };
  }

  return { newTalk };
});
