// Talk to a trained model: type a line, and it goes on from it.

course.define("talk", () => {
  const { el, label, title, scrolling } = course.live;
  const { inFrames, changesInWords } = course.explorer;
  const LONGEST = 200; // characters of an answer
  const TEMPERATURE = 0.8;

  // `description` is what model.js runs, `opening` stands in the field at first
  function newTalk(description, opening) {
    const model = course.model.load(description);
    const tokenizer = course.tokenizer.load(description.tokenizer);
    const field = el("input", { type: "text", maxlength: 300, autocomplete: "off" });
    field.value = opening.replaceAll(/\s+/g, " ").trim();
    const said = scrolling("sx-text", "What you said, and how it went on");
    said.hidden = true;
    const status = el("p.sx-status", { role: "status" });
    let interrupt = () => {};
    let turns = 0;

    function answer(event) {
      event.preventDefault();
      interrupt();
      const { text, changes } = tokenizer.fit(field.value);
      if (!text.trim()) {
        status.textContent = "Type a line that it can read: some letters of its text.";
        return;
      }
      status.textContent = changesInWords(changes);
      const own = el("mark", text);
      const rest = document.createTextNode("");
      if (turns) said.append("\n\n");
      said.hidden = false;
      said.append(own, rest);
      const rules = { seed: turns++, temperature: TEMPERATURE };
      const start = tokenizer.encode(text).slice(-model.config.context_length);
      const writer = course.model.generate(model, start, rules);
      const written = [];
      const show = () => {
        rest.data = tokenizer.decode(written);
        said.scrollTop = said.scrollHeight;
      };
      const step = () => written.push(writer.next().value);
      interrupt = inFrames(LONGEST, step, show, () => {
        said.dataset.turns = String(turns); // for whoever waits
      });
    }

    const form = el("form.sx-prompt.sx-talk", { onsubmit: answer }, [
      label("Type a line, and it goes on", field),
      el("div.sx-row", field, el("button", { type: "submit" }, "Go on")),
    ]);
    const element = el("div", title("Talk to your model"), form, status, said);
    return { element, line: () => field.value };
  }

  return { newTalk };
});
