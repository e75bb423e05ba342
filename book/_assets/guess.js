// Guess first: where a page asks for a guess, a small form takes it, and what answers it stands below
// (guess_ext.py), under a low bar until the reader has guessed, or wants to be shown it. A page holds
// an empty element for each question:
//
//   <div class="course-guess" data-question="new-words" data-ask="words that are new"
//     data-unit="%" data-answer="12"></div>
//
// - several numbers: data-ask="first | second" data-answer="1 | 2"
// - a choice: data-choices="a | b" data-answer="b"
//
// The browser keeps a guess under the page's address and the question. Without JavaScript, on paper
// and for who searches all is visible.

course.define("guess", () => {
  const { read, bare, faults, lines } = course.verdicts;
  const { el, store } = course;
  const page = location.pathname.replace(/\.html$/, "");
  const guessOf = (question) => `course-guess:${page}:${question}`;
  const shownOf = (question) => `course-guess-shown:${page}:${question}`;
  const NEVER = "course-guess-never"; // for all pages

  // ---- the answers, each under its cover -----------------------------------------------------

  let never = store.recall(NEVER) !== null;
  const answers = new Map(); // by their questions

  // "(a picture, about 40 words)", so that a reader knows what waits below a low bar
  function sizeOf(place) {
    const pictures = place.querySelectorAll("svg:not(svg svg), img, table").length;
    const words = place.textContent.split(/\s+/).filter((word) => /[a-z]/i.test(word)).length;
    const size = [`about ${Math.max(10, 10 * Math.round(words / 10))} words`];
    if (pictures) size.unshift(pictures === 1 ? "a picture" : `${pictures} pictures`);
    return `(${size.join(", ")})`;
  }

  function addAnswer(place) {
    const { question } = place.dataset;
    let isOpen = store.recall(shownOf(question)) !== null;
    const cover = el(
      "div.course-guess-cover",
      el("span", "Guess first, or "),
      course.button("Just show me", show),
      el("span.course-guess-size", sizeOf(place)),
    );
    place.addEventListener("beforematch", () => open(true)); // by the browser's search

    function refresh() {
      const isCovered = !isOpen && !never;
      place.classList.toggle("course-open", !isCovered);
      if (isCovered) {
        place.before(cover);
        place.setAttribute("hidden", "until-found");
      } else {
        cover.remove();
        place.removeAttribute("hidden");
      }
    }
    function open(shallOpen) {
      isOpen = shallOpen;
      refresh();
    }
    function show() {
      store.keep(shownOf(question), "yes");
      open(true);
      place.tabIndex = -1; // where the button was: Tab and a screen reader go on from here
      place.focus({ preventScroll: true });
    }
    function close() {
      store.keep(shownOf(question), null);
      open(false);
    }
    answers.set(question, { place, refresh, open: () => open(true), close });
  }

  function cover(isNever) {
    never = isNever;
    for (const { refresh } of answers.values()) refresh();
    document.documentElement.classList.toggle("course-guess-first", !never);
  }

  // A link to something that is covered, on this page or from another one
  function arrive() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const place = target?.closest(".course-guess-answer[hidden]");
    if (!place) return;
    answers.get(place.dataset.question).open();
    target?.scrollIntoView();
  }

  // What a link to a text has brought the reader here for
  function showSought() {
    const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
    const address = performance.getEntriesByType("navigation")[0]?.name ?? ""; // …#:~:text=…
    const texts = new URLSearchParams(address.split(":~:")[1]).getAll("text");
    const sought = texts.map((text) => plain(text.split(",")[0]));
    for (const { place, open } of answers.values()) {
      if (sought.some((text) => text && plain(place.textContent).includes(text))) open();
    }
  }

  // One switch for all pages, below the first form
  function neverSwitch() {
    const onchange = () => {
      store.keep(NEVER, box.checked ? "yes" : null);
      cover(box.checked);
    };
    const box = el("input", { type: "checkbox", onchange });
    box.checked = never;
    store.follow(() => {
      box.checked = store.recall(NEVER) !== null;
      cover(box.checked);
    });
    return el("label.course-guess-never", box, "Never cover answers");
  }

  // ---- the forms -----------------------------------------------------------------------------

  const first = (title = "Guess first") => el("strong", `${title}: `);

  // For each kind of question: what stands in its form, and what a reader does with it
  const controls = {
    numbers({ asks, unit, title }, name, status, send) {
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
      const label = (i, ...before) =>
        el("label", { for: inputs[i].id }, ...before, unit ? `${asks[i]}, in ${unit}` : asks[i]);
      const rows = inputs.map((input, i) => el("div", label(i), input));
      const several = [
        el("legend", el("strong", title ?? "Guess first")),
        el("div.course-guess-numbers", rows),
        el("div.course-guess-row", send),
      ];
      return {
        content:
          inputs.length === 1
            ? [label(0, first(title)), el("div.course-guess-row", inputs[0], send)]
            : el("fieldset", several),
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

    choice({ ask, options, title }, name, status, send) {
      const inputs = options.map((value, i) =>
        el("input", { type: "radio", name: name("choice"), id: name(i), value }),
      );
      const labels = inputs.map((input, i) =>
        el("label", { for: input.id }, input, el("span", options[i])),
      );
      const chosen = () => inputs.find((input) => input.checked);
      return {
        content: el("fieldset", { "aria-describedby": status.id }, [
          el("legend", first(title), ask),
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
    const answer = answers.get(question);
    const key = guessOf(question);
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
      const guess = typed.map((text) => bare(text, asked.unit));
      show(guess, store.keep(key, guess.join(" | ")));
      line.firstChild.focus();
    }

    // The guess beside what answers it, which is open from now on
    function show(guess, isKept) {
      const [shown, ...verdicts] = lines(asked, guess);
      if (!isKept)
        verdicts.push(
          "This browser keeps no guesses, so this one is lost when you leave the page.",
        );
      const button = (text, onclick) =>
        course.button(text, onclick, { "aria-label": `${text} the guess: ${asked.ask}` });
      const spans = verdicts.map((text) => [" ", el("span", text)]);
      const change = button("Change", () => control.start().focus());
      const names = { role: "group", "aria-label": `Guess: ${asked.ask}` };
      line?.remove();
      line = el("div.course-guess-line", names, [
        el("p", { tabindex: -1 }, el("strong", shown), spans),
        el("div", change, button("Forget", drop)),
      ]);
      line.classList.toggle("course-guess-several", asked.asks.length > 1);
      answer.place.before(line);
      send.textContent = "Change my guess";
      answer.open();
    }

    // As if it had never been guessed: what answers is covered again
    function drop() {
      store.keep(key, null);
      line.remove();
      line = null;
      control.fill([]);
      send.textContent = "Keep my guess";
      status.textContent = "Your guess is forgotten.";
      control.start().focus();
      answer.close();
    }

    const kept = store.recall(key)?.split(" | ") ?? [];
    if (!kept.length || faults(asked, kept).some(Boolean)) return;
    control.fill(kept);
    show(kept, true);
  }

  document.querySelectorAll(".course-guess-answer").forEach(addAnswer);
  const boxes = document.querySelectorAll(".course-guess");
  boxes.forEach(build);
  boxes[0]?.querySelector("form")?.append(neverSwitch());
  cover(never);
  showSought();
  arrive();
  addEventListener("hashchange", arrive);
  return { controls };
});
