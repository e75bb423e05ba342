// The field for a text of the reader's own, typed, pasted, or from a file.

course.define("owntext", () => {
  const { el, label, button, note, grouped } = course.live;
  const LARGEST = 5e6; // bytes of a file
  const GOOD = 20000; // characters from which a model learns more than the text by heart

  // read() gives the text, which is empty for the page's, and write(text) sets it; allow(may) says
  // whether it can be changed;
  // needed() gives how many characters the settings ask for; changed() hears of a change of either,
  // and train() begins a run
  function newOwnText(corpus, needed, train, changed) {
    const field = el("textarea", { rows: 3, spellcheck: "false", oninput: () => tell() });
    const file = el("input", {
      type: "file",
      hidden: "",
      accept: "text/*,.txt,.md,.csv,.py,.js,.tex,.srt",
      "aria-label": "A file with your text",
      onchange: () => readFile(file.files[0]),
    });
    const choose = button("Open a file", () => file.click());
    const clear = button("Clear", () => {
      write("");
      field.focus();
    });
    const page = document.querySelector(".bd-article"); // a notebook has none
    const ours = button("Take this page’s text", () => {
      const paragraphs = [...page.querySelectorAll("p:not(.live-figure p)")];
      write(paragraphs.map(({ textContent }) => textContent).join("\n\n"));
    });
    const go = button("Train on this text", () => train(), { class: "sx-go", hidden: "" });
    const status = note("");
    status.setAttribute("role", "status");
    const element = el("div.sx-prompt.sx-own-text", [
      label("Teach it your text", field),
      field,
      el("div.sx-bar", el("span", choose, " ", page ? ours : "", " ", clear), file, status),
      go,
    ]);

    const read = () => field.value.replaceAll("\r\n", "\n");

    function tell() {
      const length = [...read()].length;
      const least = needed();
      const isShort = length > 0 && length < least;
      field.setAttribute("aria-invalid", String(isShort));
      clear.disabled = length === 0;
      go.hidden = length === 0 || isShort;
      field.placeholder = "Paste a story, a song, your mail …";
      const better = length < GOOD ? `: enough, but ${grouped(GOOD)} are better` : "";
      const isEnough = isShort ? `: too short. It needs ${grouped(least)} or more` : better;
      status.textContent = length
        ? `${grouped(length)} characters${isEnough}.`
        : `Empty: it learns from ${corpus}. A text of yours needs ${grouped(least)} characters or more.`;
      changed();
    }

    function write(text) {
      field.value = text;
      tell();
    }

    async function readFile(chosen) {
      if (!chosen) return;
      if (chosen.size > LARGEST) {
        status.textContent = `${chosen.name} is larger than ${grouped(LARGEST / 1e6)} MB.`;
        return;
      }
      write(await chosen.text());
      file.value = "";
    }

    function allow(may) {
      for (const control of [field, choose, ours, go]) control.disabled = !may;
      clear.disabled = !may || !field.value;
    }
    return { element, read, write, allow, tell };
  }

  return { newOwnText };
});
