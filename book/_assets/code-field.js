// A field in which Python is written: keys indent, and what they do can be undone as typing can.

course.define("codeField", () => {
  const { el, button } = course;
  const INDENT = 4;
  const IN_ORDER = ["Shift+Tab", "Tab"]; // the keys that a phone has no key for, as buttons

  // What a key does to a text in which start to end is selected: `insert` takes the place of what is
  // between `from` and `to`, and then the selection is `start` to `end`
  function edit(key, text, start, end) {
    const head = text.lastIndexOf("\n", start - 1) + 1;
    const line = text.slice(head, start);
    if (key === "Enter") {
      const deeper = line.trimEnd().endsWith(":") ? INDENT : 0;
      const insert = `\n${" ".repeat(line.match(/^ */)[0].length + deeper)}`;
      return replaced(start, end, insert);
    }
    if (key === "Backspace") {
      return replaced(start - ((line.length - 1) % INDENT) - 1, end, "");
    }
    if (key === "Tab" && start === end) {
      return replaced(start, end, " ".repeat(INDENT - (line.length % INDENT)));
    }
    const tail = end + text.slice(end).search(/$/m);
    const lines = text.slice(head, tail);
    const deeper = lines.replace(/^(?=.)/gm, " ".repeat(INDENT));
    const insert = key === "Tab" ? deeper : lines.replace(/^ {1,4}/gm, "");
    const moved = insert.split("\n")[0].length - lines.split("\n")[0].length;
    return {
      ...replaced(head, tail, insert),
      start: Math.max(head, start + moved),
      end: Math.max(head, end + insert.length - lines.length),
    };
  }

  function replaced(from, to, insert) {
    const end = from + insert.length;
    return { from, to, insert, start: end, end };
  }

  // ---- colours -----------------------------------------------------------------------------

  const WORDS =
    "and as assert async await break class continue def del elif else except finally for from " +
    "global if import in is lambda nonlocal not or pass raise return try while with yield";
  // what has a colour, by the class that Pygments gives it
  const PARTS = {
    c1: /#.*/,
    s2: /[rbfRBF]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)/,
    nf: /(?<=\b(?:def|class) +)\w+/,
    k: new RegExp(`\\b(?:${WORDS.replaceAll(" ", "|")})\\b`),
    kc: /\b(?:None|True|False|self)\b/,
    mi: /\b\d[\w.]*/,
    o: /[-+*/%@=<>!&|^~]+/,
  };
  const PART = new RegExp(
    Object.entries(PARTS)
      .map(([name, { source }]) => `(?<${name}>${source})`)
      .join("|"),
    "g",
  );

  // A program as lines of parts, [class or "", text]
  function coloured(text) {
    /** @type {[string, string][][]} */
    const lines = [[]];
    const add = (name, part) =>
      part.split("\n").forEach((piece, i) => {
        if (i) lines.push([]);
        if (piece) lines[lines.length - 1].push([name, piece]);
      });
    let at = 0;
    for (const { 0: part, index, groups } of text.matchAll(PART)) {
      add("", text.slice(at, index));
      add(
        Object.keys(PARTS).find((name) => groups[name] !== undefined),
        part,
      );
      at = index + part.length;
    }
    add("", text.slice(at));
    return lines;
  }

  // ---- the field ---------------------------------------------------------------------------

  // The field, buttons for its keys, and put(text), which is as if it were typed.
  // `on` has changed(), run() and leave()
  function build(attributes, text, on) {
    const field = el("textarea", {
      ...attributes,
      autocapitalize: "off",
      autocomplete: "off",
      spellcheck: "false",
      wrap: matchMedia("(pointer: coarse)").matches ? "soft" : "off",
      onkeydown,
      oninput: changed,
      onscroll: follow,
    });
    // The letters of the field are clear, and those behind it have colours
    const behind = el("div.course-behind", { "aria-hidden": "true" });
    const element = el("div.course-field.highlight", behind, field);
    field.value = text;
    const indents = IN_ORDER.map((key, i) => {
      const names = { "aria-label": ["Indent less", "Indent more"][i], class: "course-indent" };
      return button("⇤⇥"[i], () => type(key), names);
    });

    function changed() {
      fit();
      on.changed();
    }

    function fit() {
      field.rows = field.value.split("\n").length + 1;
      field.style.minHeight = "";
      const missing = field.scrollHeight - field.clientHeight; // of lines that are wrapped
      if (missing > 0) field.style.minHeight = `${field.offsetHeight + missing}px`;
      const lines = coloured(field.value).map((parts) => [
        el("span.course-line", ...parts.map(([name, part]) => el("span", { class: name }, part))),
        "\n",
      ]);
      behind.replaceChildren(...lines.flat());
      follow();
    }

    function follow() {
      behind.scrollTo(field.scrollLeft, field.scrollTop);
    }

    // As if it were typed, so that it can be undone
    function replace({ from, to, insert, start, end }) {
      field.focus();
      field.setSelectionRange(from, to);
      if (!document.execCommand("insertText", false, insert)) {
        field.setRangeText(insert, from, to);
        changed();
      }
      field.setSelectionRange(start, end);
    }

    function onkeydown(event) {
      const { key, shiftKey, ctrlKey, metaKey, altKey, isComposing } = event;
      const [isRun, isPlain] = [(ctrlKey || metaKey) && key === "Enter", !ctrlKey && !metaKey];
      const isOurs =
        key === "Tab" || (!shiftKey && (key === "Enter" || (key === "Backspace" && isIndent())));
      if (isComposing || altKey) return;
      if (key === "Escape") return on.leave();
      if (!isRun && !(isPlain && isOurs)) return;
      event.preventDefault();
      if (isRun) return on.run();
      type(shiftKey ? "Shift+Tab" : key);
    }

    function type(key) {
      replace(edit(key, field.value, field.selectionStart, field.selectionEnd));
      if (key === "Enter") field.scrollLeft = 0; // a new line is short
    }

    // Whether nothing but an indent is before the caret: Backspace takes one level of it
    function isIndent() {
      const { value, selectionStart: at, selectionEnd } = field;
      const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
      return at === selectionEnd && /^ +$/.test(line);
    }

    const put = (insert) => {
      const { length } = insert;
      replace({ from: 0, to: field.value.length, insert, start: length, end: length });
    };
    return { element, field, indents, put, fit };
  }

  return { edit, coloured, build };
});
