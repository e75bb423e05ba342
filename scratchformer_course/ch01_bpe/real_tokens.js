// Any text in the tokens of the real model. Its vocabulary is loaded when a reader comes to type.
//
// Needs: live.js real_model/vocabulary.js

course.define("realTokens", () => {
  const { el, label, note, newStatus, grouped } = course.live;
  const LONGEST = 500; // characters
  const MISSING = "The vocabulary is not part of this page: what you see was recorded.";
  let loading; // a promise of the tokenizer, or of null, for all figures of the page

  // What the site's file holds -> a description, as from the settings of the model's own file
  function describe({ model, pre, tokens, control }) {
    const names = tokens.split("\n");
    const token_type = names.map((_, id) => (control.includes(id) ? 3 : 1));
    const settings = Object.entries({ model, pre, tokens: names, token_type });
    return course.vocabulary.describe(
      Object.fromEntries(settings.map(([name, value]) => [`tokenizer.ggml.${name}`, value])),
    );
  }

  function fetched() {
    const address = document.querySelector("[data-vocabulary]")?.getAttribute("data-vocabulary");
    if (!address) return Promise.resolve(null);
    return new Promise((resolve) => {
      const script = document.createElement("script"); // which a page from disk may load, too
      script.onload = () => resolve(course.tokenizer.load(describe(course.realVocabulary)));
      script.onerror = () => resolve(null);
      script.src = address;
      document.head.append(script);
    });
  }

  // settings: {text, pieces: [its tokens' bytes, id]}
  course.figures.real_tokens = ({ text, pieces }) => {
    const load = () => (loading ??= fetched());
    const field = el("textarea", { rows: 3, spellcheck: "false", oninput: typed, onfocus: load });
    field.value = text;
    const status = newStatus();
    const list = el("div.sx-pieces");

    async function typed() {
      const tokenizer = await load();
      if (!tokenizer) status.textContent = MISSING;
      else {
        const kept = Array.from(field.value).slice(0, LONGEST).join("");
        draw(
          kept,
          tokenizer.encode(kept).map((id) => [tokenizer.tokens[id], id]),
        );
      }
    }

    function draw(kept, drawn) {
      const n = Array.from(kept).length;
      const cut = kept.length < field.value.length ? `The first ${LONGEST}: ` : "";
      const each = drawn.length ? `, ${(n / drawn.length).toFixed(1)} characters a token` : "";
      status.textContent = `${cut}${n} characters, ${grouped(drawn.length)} tokens${each}.`;
      list.replaceChildren(
        ...drawn.map(([bytes, id]) =>
          el("span.sx-piece", el("span", course.ch01_bpe.label(bytes)), el("small", id)),
        ),
      );
    }

    draw(text, pieces);
    return el("div.sx-real-tokens", [
      el("div.sx-prompt", label("Text", field), field),
      status,
      list,
      note("A dot stands for a space, and <159> for a byte that is no character by itself."),
    ]);
  };
  return { describe };
});
