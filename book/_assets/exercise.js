// The question in the box of an exercise: one number, or what is wrong with an answer.
// The page holds it as JSON, with all that is said of an answer (book/_ext/exercise_ext.py). The
// right answer sets the tick "Worked out" (course-progress.js). The browser keeps the last answer.

course.define("exercise", () => {
  const { el, store } = course;
  const { parse } = course.verdicts;

  // ---- calculations ------------------------------------------------------------------------

  const none = (text) => ({ state: "none", text });
  const wrongFor = (text) => ({ state: "wrong", text });

  // What is said of a typed number: { state, text }, where state is "right", "wrong" or "none"
  function judgeNumber({ right, wrong, digits }, text) {
    const isRight = (number) => Number(digits ? number.toFixed(digits) : number) === Number(right);
    const readings = [text, text.replace(",", ".")].map(parse); // 1,000 may be 1.000
    const typed = digits ? (readings.find(isRight) ?? readings[0]) : parse(joined(text));
    if (!text.trim()) return none("Write a number first.");
    if (Number.isNaN(typed)) return none(`“${text.trim()}” is not a number.`);
    if (isRight(typed)) return { state: "right", text: `${right} is right.` };
    if (!digits && !Number.isInteger(typed)) return wrongFor("A whole number is asked for.");
    const rounded = Number(typed.toFixed(digits));
    const known = Object.keys(wrong).find((number) => Number(number) === rounded);
    if (known !== undefined) return wrongFor(sentence(wrong[known]));
    const off = Math.abs(typed - right);
    const given = (text.match(/[.,](\d*)\s*$/)?.[1] ?? "").length;
    const isShort = given > 0 && given < digits && off <= 0.5 * 10 ** -given + 1e-9;
    const asked = `${digits} ${digits === 1 ? "digit" : "digits"} behind the point`;
    if (isShort) return wrongFor(`That is nearly it. Give ${asked}.`);
    if (digits && off < 1.5 * 10 ** -digits) {
      return wrongFor(`That is nearly it, but the last of ${asked} is another one.`);
    }
    return { ...wrongFor("Look again:"), isUnknown: true }; // and then asks what hint 1 asks
  }

  // [1, 1, 4, 6], (1, 1, 4, 6) and 1 1 4 6: whole numbers, asked for one after the other
  function joined(text) {
    const list = text.trim();
    const isList = /^[[(]?\s*\d+([\s,]+\d+)+\s*[\])]?$/.test(list);
    const isNumber = /^[1-9]\d{0,2}(,\d{3})+$/.test(list); // 1,234,567
    return isList && !isNumber ? list.replace(/\D/g, "") : text;
  }

  // What is said of a chosen reason: its place, or -1 for none
  function judgeWhich(question, reason) {
    if (reason < 0) return none("Choose one of the reasons first.");
    if (reason !== question.reason) return wrongFor("Something else is wrong with it.");
    return { state: "right", text: "You are right." };
  }

  const sentence = (text) => (/[.?!:]$/.test(text) ? text : `${text}.`);

  // ---- what the browser keeps --------------------------------------------------------------

  const keyOf = (exercise) => `course-question:${exercise}`;

  // ---- the page ----------------------------------------------------------------------------

  // A text with `code` and *words* in it, as a table has them
  const inline = (text) =>
    text.split(/(`[^`]+`|\*\w[^*]*\*)/).map((part, i) => {
      if (i % 2 === 0) return part;
      return el(part.startsWith("`") ? "code.literal" : "em", {}, part.slice(1, -1));
    });

  const lead = () => el("strong", "Work it out: ");

  function build(box) {
    const exercise = box.dataset.exercise;
    const question = JSON.parse(box.querySelector("script").textContent);
    const old = store.recallObject(keyOf(exercise)) ?? {};
    const status = el("p", { role: "status", id: `question-${exercise}` });
    const send = el("button", { type: "submit" }, "Check");
    const form = el("form", { novalidate: "", onsubmit: submit });
    const parts =
      question.kind === "number" ? numberParts(question, old) : whichParts(question, old);
    form.append(...parts.elements, el("p.course-question-send", ...parts.row, send));
    box.append(form, status);
    if (parts.isGiven()) tell();

    function numberParts({ ask }, { typed = "" }) {
      const field = el("input", {
        type: "text",
        inputmode: "decimal",
        autocomplete: "off",
        maxlength: 24,
        id: `number-${exercise}`,
        value: String(typed).slice(0, 24),
        "aria-describedby": status.id,
      });
      return {
        elements: [el("label", { for: field.id }, lead(), ...inline(ask))],
        row: [field],
        given: () => ({ typed: field.value }),
        judge: () => judgeNumber(question, field.value),
        toFill: () => field,
        isGiven: () => field.value !== "",
      };
    }

    function whichParts({ ask, code, reasons }, { reason }) {
      const inputs = reasons.map((_, i) =>
        el("input", { type: "radio", name: exercise, value: i }),
      );
      const labels = reasons.map((text, i) => el("label", inputs[i], el("span", inline(text))));
      const shown = el("pre", { tabindex: 0 }, el("code", code));
      const chosen = () => inputs.findIndex((input) => input.checked);
      if (inputs[reason]) inputs[reason].checked = true;
      return {
        elements: [el("fieldset", el("legend", lead(), inline(ask)), shown, labels)],
        row: [],
        given: () => ({ reason: chosen() }),
        judge: () => judgeWhich(question, chosen()),
        toFill: () => inputs[0],
        isGiven: () => chosen() >= 0,
      };
    }

    // Says what is thought of the answer that stands there
    function tell() {
      const verdict = parts.judge();
      status.className = `course-${verdict.state}`;
      status.replaceChildren(...inline(verdict.text));
      if (verdict.state === "wrong") status.prepend(el("strong", "Not yet."), " ");
      const hint = box.parentElement.querySelector(".course-hint p");
      if (verdict.isUnknown) status.append(" ", ...hint.cloneNode(true).childNodes);
      return verdict.state;
    }

    function submit(event) {
      event.preventDefault();
      const state = tell();
      if (state === "none") return parts.toFill().focus();
      store.keep(keyOf(exercise), JSON.stringify(parts.given())); // or it holds for this visit
      if (state === "right" && course.progress.setWorkedOut(exercise)) {
        status.append(" The exercise is ticked as worked out.");
      }
    }
  }

  if (course.isPage) document.querySelectorAll(".course-question[data-exercise]").forEach(build);
  return { judgeNumber };
});
