// Guess first: where a chapter asks for a guess, a small form takes it, and the guess then stands
// above the output that answers it. The chapter holds an empty element for each question:
//
//   <div class="course-guess" data-question="new-words" data-ask="words that are new"
//     data-unit="%" data-answer="12"></div>
//
// `data-choices="a | b"` asks for a choice in place of a number. The output is the next one that is
// not folded. Where it comes later, an empty `course-guess-result` with the same `data-question`
// stands above its cell. The browser keeps a guess under the page's address and the question.
"use strict";

(() => {
  // ---- calculations ------------------------------------------------------------------------

  // What a reader typed, without the unit
  function bare(text, unit = "") {
    const trimmed = text.trim();
    const ends = unit && trimmed.toLowerCase().endsWith(unit.toLowerCase());
    return ends ? trimmed.slice(0, -unit.length).trim() : trimmed;
  }

  // 1,234.5 and 0,5 and 1/256 and −2: a number, or NaN
  function parse(text) {
    const typed = text.trim().replace(/[−–]/g, "-");
    const fraction = typed.split("/");
    if (fraction.length === 2) {
      const share = parse(fraction[0]) / parse(fraction[1]);
      return Number.isFinite(share) ? share : NaN;
    }
    const english = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(typed); // commas by thousands
    const plain = english ? typed.replaceAll(",", "") : typed.replace(",", ".");
    return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : NaN;
  }

  // What is wrong with a typed guess; nothing if it will do
  function fault(text, unit) {
    const number = parse(bare(text, unit));
    if (!text.trim()) return "Write a number first.";
    if (Number.isNaN(number))
      return `“${text.trim()}” is not a number. Write one such as 12 or 0.5.`;
    if (unit === "%" && (number < 0 || number > 100)) return "Write a share from 0 to 100 %.";
    return "";
  }

  const decimals = (text) => text.split(".")[1]?.length ?? 0;

  // How far a number is off, in a sentence
  function verdict(guess, answer, unit) {
    const off = parse(guess) - parse(answer);
    const size = Math.abs(off);
    if (size < 1e-9) return "You are exactly right.";
    const digits = `${guess}${answer}`.includes("/")
      ? { maximumSignificantDigits: 2 }
      : {
          maximumFractionDigits: Math.max(
            ...[guess, answer].map((text) => decimals(String(parse(text)))),
          ),
        };
    const shown = size.toLocaleString("en-US", digits);
    if (!/[1-9]/.test(shown)) return "You are very close."; // nearer than its digits can say
    return `You are ${shown}${unit === "%" ? " points" : ""} too ${off > 0 ? "high" : "low"}.`;
  }

  const choicesOf = (text) => text.split("|").map((choice) => choice.trim());

  // Node
  if (typeof module !== "undefined") {
    module.exports = { bare, parse, fault, verdict, choicesOf };
    return;
  }

  // ---- what the browser keeps --------------------------------------------------------------

  const visit = new Map(); // for this visit, if the browser keeps nothing
  const page = location.pathname.replace(/\.html$/, "");
  const keyOf = (question) => `course-guess:${page}:${question}`;
  const storage = (() => {
    try {
      localStorage.setItem("course-guess", "1");
      localStorage.removeItem("course-guess");
      return localStorage;
    } catch {
      return null;
    }
  })();

  const recall = (question) => storage?.getItem(keyOf(question)) ?? visit.get(question) ?? null;
  function keep(question, guess) {
    visit.set(question, guess);
    try {
      storage?.setItem(keyOf(question), guess);
    } catch {
      // the storage is full: the guess holds for this visit
    }
  }
  function forget(question) {
    visit.delete(question);
    storage?.removeItem(keyOf(question));
  }
  const isKept = (question) => storage?.getItem(keyOf(question)) === visit.get(question);

  // ---- the page ----------------------------------------------------------------------------

  function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  // The next output after an element that is not folded away
  function outputAfter(element) {
    const outputs = document.querySelectorAll("article .cell_output");
    return Array.from(outputs).find(
      (output) =>
        !output.closest("details") &&
        element.compareDocumentPosition(output) & Node.DOCUMENT_POSITION_FOLLOWING,
    );
  }

  function build(box) {
    const { question, ask, answer, unit = "" } = box.dataset;
    const choices = box.dataset.choices ? choicesOf(box.dataset.choices) : null;
    const later = document.querySelector(`.course-guess-result[data-question="${question}"]`);
    const output = outputAfter(later ?? box);
    if (!output) return;
    const withUnit = (number) => (unit ? `${number}\u00a0${unit}` : number);
    const name = (id) => `course-guess-${question}-${id}`;
    let line = null; // the result, above the output

    const status = el("p", { class: "course-guess-status", role: "status", id: name("status") });
    const field = choices
      ? choices.map((choice, i) =>
          el("input", { type: "radio", name: name("choice"), id: name(i), value: choice }),
        )
      : [
          el("input", {
            type: "text",
            inputmode: "decimal",
            autocomplete: "off",
            maxlength: 24,
            id: name("number"),
            "aria-describedby": status.id,
          }),
        ];
    const send = el("button", { type: "submit" }, "Keep my guess");
    const first = () => el("strong", {}, "Guess first: ");
    const form = el("form", { novalidate: "", onsubmit: submit });
    if (choices) {
      const options = field.map((input, i) =>
        el("label", { for: name(i) }, input, el("span", {}, choices[i])),
      );
      form.append(
        el(
          "fieldset",
          { "aria-describedby": status.id },
          el("legend", {}, first(), ask),
          el("div", { class: "course-guess-row" }, ...options, send),
        ),
      );
    } else {
      const shown = unit ? `${ask}, in ${unit}` : ask;
      form.append(
        el("label", { for: name("number") }, first(), shown),
        el("div", { class: "course-guess-row" }, ...field, send),
      );
    }
    form.append(status);
    box.replaceChildren(form);

    const typed = () =>
      choices ? (field.find((input) => input.checked)?.value ?? "") : field[0].value;
    const toFill = () => field.find((input) => input.checked) ?? field[0];

    function submit(event) {
      event.preventDefault();
      const wrong = choices ? (typed() ? "" : "Choose one first.") : fault(typed(), unit);
      status.textContent = wrong;
      if (!choices) field[0].setAttribute("aria-invalid", Boolean(wrong));
      if (wrong) {
        toFill().focus();
        return;
      }
      keep(question, choices ? typed() : bare(typed(), unit));
      show();
      if (!later) line.firstChild.focus();
      else {
        status.append(
          "Your guess is kept. ",
          el("a", { href: `#${name("result")}` }, "The result comes later"),
          ".",
        );
      }
    }

    // The guess beside the result
    function show() {
      const guess = recall(question);
      const told = choices
        ? [
            `Your guess: ${guess}.`,
            `The output shows: ${answer}.`,
            ...(guess === answer ? ["You are right."] : []),
          ]
        : [
            `Your guess: ${withUnit(guess)}.`,
            `The output shows ${withUnit(answer)}.`,
            verdict(guess, answer, unit),
          ];
      if (!isKept(question)) {
        told.push("This browser keeps no guesses, so this one is lost when you leave the page.");
      }
      const text = el(
        "p",
        { tabindex: -1 },
        el("strong", {}, told[0]),
        ` ${told.slice(1).join(" ")}`,
      );
      const fresh = el(
        "div",
        {
          class: "course-guess-line",
          id: name("result"),
          role: "group",
          "aria-label": `Guess: ${ask}`,
        },
        text,
        el(
          "span",
          {},
          el(
            "button",
            {
              type: "button",
              "aria-label": `Change the guess: ${ask}`,
              onclick: () => toFill().focus(),
            },
            "Change",
          ),
          el(
            "button",
            { type: "button", "aria-label": `Forget the guess: ${ask}`, onclick: drop },
            "Forget",
          ),
        ),
      );
      if (line) line.replaceWith(fresh);
      else output.before(fresh);
      line = fresh;
    }

    function drop() {
      forget(question);
      line.remove();
      line = null;
      for (const input of field) {
        if (choices) input.checked = false;
        else input.value = "";
      }
      status.textContent = "Your guess is forgotten.";
      field[0].focus();
    }

    const old = recall(question);
    if (old === null || (choices ? !choices.includes(old) : fault(old, unit))) return;
    visit.set(question, old);
    for (const input of field) {
      if (choices) input.checked = input.value === old;
      else input.value = old;
    }
    show();
  }

  const start = () => document.querySelectorAll(".course-guess").forEach(build);
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
