// Guess first: where a page asks for a guess, a small form takes it. What answers the question
// stands below, covered (guess-covers.js). A page holds an empty element for each question:
//
//   <div class="course-guess" data-question="new-words" data-ask="words that are new"
//     data-unit="%" data-answer="12"></div>
//
// - several numbers: data-ask="first | second" data-answer="1 | 2"
// - a choice: data-choices="a | b" data-answer="b"
//
// The browser keeps a guess under the page's address and the question.

course.define("guess", () => {
  const { read, bare, faults, lines } = course.verdicts;
  const { el } = course;
  const { store, open, close, start, neverSwitch, placeOf } = course.covers;

  const first = () => el("strong", "Guess first: ");

  // For each kind of question: what stands in its form, and what a reader does with it
  const controls = {
    numbers({ asks, unit }, name, status, send) {
      const inputs = asks.map((_, i) =>
        el("input", {
          type: "text",
          inputmode: "decimal",
          autocomplete: "off",
          maxlength: 24,
          id: name(`number-${i}`),
          "aria-describedby": status.id,
        }),
      );
      const shown = (i) => (unit ? `${asks[i]}, in ${unit}` : asks[i]);
      const label = (i, ...before) => el("label", { for: inputs[i].id }, ...before, shown(i));
      const one = () => [label(0, first()), el("div.course-guess-row", inputs[0], send)];
      const several = () =>
        el("fieldset", [
          el("legend", el("strong", "Guess first")),
          el(
            "div.course-guess-numbers",
            inputs.map((input, i) => el("div", label(i), input)),
          ),
          el("div.course-guess-row", send),
        ]);
      return {
        content: inputs.length === 1 ? one() : several(),
        typed: () => inputs.map((input) => input.value),
        fill: (values) => {
          for (const [i, input] of inputs.entries()) input.value = values[i] ?? "";
        },
        mark: (wrong) => {
          for (const [i, input] of inputs.entries())
            input.setAttribute("aria-invalid", String(Boolean(wrong[i])));
        },
        start: (i = 0) => inputs[i],
      };
    },

    choice({ ask, options }, name, status, send) {
      const inputs = options.map((value, i) =>
        el("input", { type: "radio", name: name("choice"), id: name(i), value }),
      );
      const labels = inputs.map((input, i) =>
        el("label", { for: input.id }, input, el("span", options[i])),
      );
      const chosen = () => inputs.find((input) => input.checked);
      return {
        content: el("fieldset", { "aria-describedby": status.id }, [
          el("legend", first(), ask),
          el("div.course-guess-row", labels, send),
        ]),
        typed: () => [chosen()?.value ?? ""],
        fill: ([value]) => {
          for (const input of inputs) input.checked = input.value === value;
        },
        mark() {},
        start: () => chosen() ?? inputs[0],
      };
    },
  };

  function build(box) {
    const { question } = box.dataset;
    const asked = read(box.dataset);
    const place = placeOf(question);
    if (!place) return;
    const later = document.querySelector(`.course-guess-result[data-question="${question}"]`);
    const key = store.guessOf(question);
    const name = (id) => `course-guess-${question}-${id}`;
    let line = null; // the result, above what answers

    const status = el("p.course-guess-status", { role: "status", id: name("status") });
    const send = el("button", { type: "submit" }, "Keep my guess");
    const control = controls[asked.kind](asked, name, status, send);
    box.replaceChildren(el("form", { novalidate: "", onsubmit: submit }, control.content, status));

    function submit(event) {
      event.preventDefault();
      const typed = control.typed();
      const wrong = faults(asked, typed);
      const fault = wrong.findIndex(Boolean);
      control.mark(wrong);
      status.textContent = wrong[fault] ?? "";
      if (fault >= 0) {
        control.start(fault).focus();
        return;
      }
      store.keep(key, typed.map((text) => bare(text, asked.unit)).join(" | "));
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

    // The guess beside what answers it, which is open from now on
    function show() {
      const [guess, ...verdicts] = lines(asked, guessed());
      if (store.isLost(key)) {
        verdicts.push(
          "This browser keeps no guesses, so this one is lost when you leave the page.",
        );
      }
      const button = (text, onclick) =>
        course.button(text, onclick, { "aria-label": `${text} the guess: ${asked.ask}` });
      const spans = verdicts.map((text) => [" ", el("span", text)]);
      const change = button("Change", () => control.start().focus());
      const names = { id: name("result"), role: "group", "aria-label": `Guess: ${asked.ask}` };
      const fresh = el("div.course-guess-line", names, [
        el("p", { tabindex: -1 }, el("strong", guess), spans),
        el("div", change, button("Forget", drop)),
      ]);
      send.textContent = "Change my guess";
      fresh.classList.toggle("course-guess-several", asked.asks.length > 1);
      if (line) line.replaceWith(fresh);
      else place.before(fresh);
      line = fresh;
      open(question);
    }

    const guessed = () => store.recall(key)?.split(" | ") ?? [];

    // As if it had never been guessed: what answers is covered again
    function drop() {
      store.forget(key);
      line.remove();
      line = null;
      control.fill([]);
      send.textContent = "Keep my guess";
      status.textContent = "Your guess is forgotten.";
      control.start().focus();
      close(question);
    }

    const old = guessed();
    if (!old.length || faults(asked, old).some(Boolean)) return;
    control.fill(old);
    show();
  }

  const boxes = document.querySelectorAll(".course-guess");
  boxes.forEach(build);
  boxes[0]?.querySelector("form")?.append(neverSwitch());
  start();
});
