// Again: at the foot of a chapter, one guess of an earlier one that the reader has answered, after some
// days. Boxes after Leitner: a right answer moves a guess up, to a longer rest, and a wrong one back to
// the first. The questions come from guesses.js beside this file (again_ext.py) when one is due. What is
// kept stays in this browser: { "05_averaging:king-hidden": [box, day] }, days counted from 1970.

course.define("again", () => {
  const { el, store } = course;
  const { read, bare, parse, faults, lines } = course.verdicts;
  const KEY = "course-again";
  const DAYS = [1, 3, 7, 21]; // that a guess rests in each box
  const idOf = ({ page, question }) => `${page}:${question}`;

  // ---- calculations, which need no page ------------------------------------------------------

  // What is kept of the guesses that are answered; a new one rests for a day
  function registered(kept, answered, day) {
    return Object.fromEntries(answered.map((id) => [id, kept[id] ?? [0, day + DAYS[0]]]));
  }

  // The ids of chapters before this one whose rest is over, the longest first
  function due(kept, page, day) {
    const ids = Object.keys(kept).filter((id) => id < page.slice(0, 2) && kept[id][1] <= day);
    return ids.sort((a, b) => kept[a][1] - kept[b][1]);
  }

  // Where a guess goes after an answer
  function moved([box], isRight, day) {
    const next = isRight ? Math.min(box + 1, DAYS.length - 1) : 0;
    return [next, day + DAYS[next]];
  }

  // A number that is remembered may be a tenth off
  function isRight({ kind, answers }, values) {
    if (kind === "choice") return values[0] === answers[0];
    return answers.every((answer, i) => {
      const right = parse(answer);
      return Math.abs(parse(values[i]) - right) <= Math.abs(right) / 10 + 1e-9;
    });
  }

  // ---- on a page -----------------------------------------------------------------------------

  const today = () => Math.floor((Date.now() - 6e4 * new Date().getTimezoneOffset()) / 864e5);
  const load = () => store.recallObject(KEY) ?? {};

  // The guesses that are kept in this browser, or were shown, of chapters beside this page
  function answered(folder) {
    const keys = Object.keys(localStorage);
    const starts = ["course-guess:", "course-guess-shown:"].map((name) => name + folder);
    const ids = starts.flatMap((start) =>
      keys.filter((key) => key.startsWith(start)).map((key) => key.slice(start.length)),
    );
    return [...new Set(ids)];
  }

  function ask(guess, end) {
    const asked = { ...read(guess.data), title: "Again" };
    const id = idOf(guess);
    const name = (part) => `course-again-${part}`;
    const status = el("p.course-guess-status", { role: "status", id: name("status") });
    const send = el("button", { type: "submit" }, "Answer");
    const control = course.guess.controls[asked.kind](asked, name, status, send);
    const form = el("form", { novalidate: "", onsubmit: submit }, control.content, status);
    const title = el("p", `From chapter ${guess.title}`);
    const context = el("p", guess.context);
    const box = el(
      "section.course-guess.course-again",
      { "aria-label": "Again" },
      title,
      context,
      form,
    );
    end.before(box);

    function submit(event) {
      event.preventDefault();
      const typed = control.typed();
      const wrong = faults(asked, typed);
      control.mark(wrong);
      status.textContent = wrong.find(Boolean) ?? "";
      if (status.textContent) return;
      const values = typed.map((text) => bare(text, asked.unit));
      const place = moved(load()[id], isRight(asked, values), today());
      store.keep(KEY, JSON.stringify({ ...load(), [id]: place }));
      const days = place[1] - today();
      const when = days === 1 ? "tomorrow" : `in ${days} days`;
      const spans = lines(asked, values).map((text) => el("span", text, " "));
      const link = el("a", { href: `${guess.page}.html#${guess.place}` }, "Read it in its chapter");
      const told = el("p", { tabindex: -1 }, el("strong", asked.ask), spans);
      form.replaceWith(told, el("p", link, `. It can come again ${when}.`));
      told.focus();
    }
  }

  function onChapter(script) {
    const folder = location.pathname.replace(/[^/]*$/, "");
    const page = location.pathname.slice(folder.length).replace(/\.html$/, "");
    const note = () =>
      store.keep(KEY, JSON.stringify(registered(load(), answered(folder), today())));
    note();
    addEventListener("pagehide", note); // with what was answered here
    const ids = due(load(), page, today());
    if (!ids.length) return;
    function show() {
      const guesses = new Map(course.asked.map((guess) => [idOf(guess), guess]));
      const first = ids.find((id) => guesses.has(id)); // an edition may have taken one away
      if (first) ask(guesses.get(first), document.querySelector(".course-end"));
    }
    const src = new URL(`guesses.js?v=${today()}`, script.src).href; // anew each day
    document.head.append(el("script", { src, onload: show }));
  }

  if (course.isPage && store.keep(`${KEY}-test`, "1") && store.keep(`${KEY}-test`, null))
    onChapter(document.currentScript);
  return { registered, due, moved, isRight };
});
