// Ticks: for a chapter at its end, and two for an exercise at its heading. A reader sets them; the
// question of an exercise sets "worked out", too (exercise.js), and a check in a notebook writes a
// file with those that are "written" (kit/checks/ticks.py). The welcome page shows all ticks, and
// writes them to a file or reads them from one. They stay in this browser (localStorage) and are
// sent nowhere.

course.define("progress", () => {
  const { el, store } = course;
  const KEY = "course-progress";
  const VERSION = 1;
  const COURSE = "Transformers from Scratch";
  // a chapter, "05", an exercise that is written, "5.1", or worked out, "5.1 worked out"
  const ID = /^(\d\d|\d{1,2}\.\d{1,2}( worked out)?)$/;
  const workedOut = (exercise) => `${exercise} worked out`;
  const LARGEST = 100000; // characters of a file: all ticks of the course are some 3,000

  // ---- calculations, which need no page ----------------------------------------------------

  // A value of a file, as JSON and not long
  function brief(value) {
    const text = String(JSON.stringify(value));
    return text.length > 40 ? `${text.slice(0, 39)}…` : text;
  }

  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  // The ids in a file's text; throws an Error in words that a reader can use
  function fromFile(text) {
    if (text.length > LARGEST) throw new Error("It is too large for a file of ticks.");
    let content;
    try {
      content = JSON.parse(text);
    } catch {
      throw new Error("It is not JSON, so this page did not write it.");
    }
    if (content?.course !== COURSE || content?.what !== "progress") {
      throw new Error("It is JSON, but it is not a file of this course's ticks.");
    }
    if (content.version !== VERSION) {
      throw new Error(
        `It has version ${brief(content.version)}, and this page reads version ${VERSION}.`,
      );
    }
    if (!Array.isArray(content.done)) throw new Error("It has no list of what is done.");
    const strange = content.done.find((id) => typeof id !== "string" || !ID.test(id));
    if (strange !== undefined) {
      throw new Error(`It lists ${brief(strange)}, which is no chapter and no exercise.`);
    }
    return new Set(content.done);
  }

  function toFile(done) {
    const content = { course: COURSE, what: "progress", version: VERSION, done: [...done].sort() };
    return JSON.stringify(content, null, 1);
  }

  // Whether a stored text is of a newer edition, whose ticks this page can neither read nor change
  function isNewer(text) {
    try {
      const content = JSON.parse(text);
      return content?.course === COURSE && content.what === "progress" && content.version > VERSION;
    } catch {
      return false;
    }
  }

  // Those ids that are a chapter or an exercise of the course
  function known(chapters, ids) {
    const all = chapters.flatMap(({ number, exercises }) => {
      return [number, ...exercises, ...exercises.map(workedOut)];
    });
    return new Set([...ids].filter((id) => all.includes(id)));
  }

  const chapterOf = (id) => (id.includes(".") ? id.split(".")[0].padStart(2, "0") : id);

  // Where to go on: behind the last chapter that has a tick, or in it if it has none of its own;
  // at the end, the first chapter without a tick; null if there is no tick, or none is missing
  function next(chapters, done) {
    const touched = new Set([...known(chapters, done)].map(chapterOf));
    const last = chapters.findLastIndex(({ number }) => touched.has(number));
    if (last < 0) return null;
    const open = ({ number }) => !done.has(number);
    return chapters.slice(last).find(open) ?? chapters.find(open) ?? null;
  }

  function count(chapters, done) {
    const exercises = chapters.flatMap((chapter) => chapter.exercises);
    return {
      chapters: chapters.filter(({ number }) => done.has(number)).length,
      allChapters: chapters.length,
      workedOut: exercises.filter((id) => done.has(workedOut(id))).length,
      written: exercises.filter((id) => done.has(id)).length,
      allExercises: exercises.length,
    };
  }

  // ---- the store ---------------------------------------------------------------------------

  const storageWorks = () => store.keep(`${KEY}-test`, "1") && store.keep(`${KEY}-test`, null);

  // Each change reads first: another tab may have changed the store
  function load() {
    try {
      return fromFile(store.recall(KEY) ?? toFile([]));
    } catch {
      return new Set(); // written by nobody that this page knows
    }
  }
  const newerIsStored = () => isNewer(store.recall(KEY));

  // Keeps the ticks, or throws an Error in words and changes nothing
  function save(done) {
    if (newerIsStored()) throw new Error(NEWER);
    if (!store.keep(KEY, toFile(done))) throw new Error(FULL);
    dispatchEvent(new Event("course-progress")); // for ticks-and-routes.js
  }

  // ---- on a page ---------------------------------------------------------------------------

  const NO_STORE =
    "This browser keeps no data for this page (private mode, a blocked store, or a " +
    "page inside another one), so ticks cannot be kept here.";

  const FULL = "This browser did not keep the ticks: its store is full or blocked.";

  const NEWER =
    "The ticks in this browser are of a newer edition of the course. This page cannot " +
    "read them, and leaves them as they are.";

  const FROM_DISK =
    "These pages are opened from disk. Some browsers then keep the data of each page " +
    "apart, and the ticks of other pages are missing here.";

  // Sets a tick or takes it away, or throws an Error in words
  function set(id, isDone) {
    const done = load();
    if (isDone) done.add(id);
    else done.delete(id);
    save(done);
  }

  function tick(id, text, hiddenText) {
    const box = el("input", {
      type: "checkbox",
      "data-tick": id,
      onchange: () => {
        fault.textContent = "";
        try {
          set(id, box.checked);
        } catch (error) {
          box.checked = !box.checked;
          fault.textContent = ` (${error.message})`;
        }
      },
    });
    const fault = el("span", { role: "status" });
    return el("label.course-tick", box, ` ${text}`, el("span.course-unseen", hiddenText), fault);
  }

  function showTicks() {
    const done = load();
    for (const box of document.querySelectorAll("[data-tick]")) {
      box.checked = done.has(box.dataset.tick);
    }
  }

  // Sets the tick of an exercise whose question was answered; whether it is set
  function setWorkedOut(exercise) {
    const box = document.querySelector(`[data-tick="${workedOut(exercise)}"]`);
    if (box && !box.checked) box.click();
    return Boolean(box?.checked);
  }

  // Why no ticks can be shown or set here; nothing if they can
  const hindranceOfTicks = () => (!storageWorks() ? NO_STORE : newerIsStored() ? NEWER : "");

  function onChapter(number) {
    const end = document.querySelector(".course-report");
    const hindrance = hindranceOfTicks();
    if (hindrance) {
      end?.before(el("p.course-tick-end", hindrance));
      return;
    }
    for (const section of document.querySelectorAll("section[data-exercise]")) {
      const { exercise } = section.dataset;
      const ticks = [
        tick(workedOut(exercise), "Worked out on this page", `: exercise ${exercise}`),
        tick(exercise, "Written in the notebook", `: exercise ${exercise}`),
      ];
      section.querySelector("h3").after(el("p.course-ticks", ...ticks));
    }
    end?.before(el("p.course-tick-end", tick(number, "I am done with this chapter", "")));
    showTicks();
    store.follow(showTicks);
  }

  function onWelcome(host) {
    const cards = [...document.querySelectorAll("[data-chapter]")];
    const chapters = cards.map((card) => ({
      card,
      number: card.dataset.chapter,
      exercises: card.dataset.exercises.split(" "),
      link: card.querySelector("a"),
    }));
    host.replaceChildren();
    const hindrance = hindranceOfTicks();
    if (hindrance) {
      host.append(el("p", hindrance));
      return;
    }
    const summary = el("p", {});
    const onward = el("p.course-onward");
    const status = el("p", { role: "status" });
    const question = el("div.course-question", { role: "group", tabindex: -1 });
    const file = el("input", {
      type: "file",
      accept: ".json,application/json",
      "aria-label": "File of ticks",
      onchange: () => read(),
    });
    file.hidden = true;
    const button = (text, onclick) => course.button(text, onclick, { class: "course-button" });
    const importing = button("Import a file", () => file.click());
    function clear() {
      if (newerIsStored()) throw new Error(NEWER);
      store.keep(KEY, null);
      dispatchEvent(new Event("course-progress"));
      return "All ticks are cleared.";
    }
    const clearing = button("Clear all ticks", () =>
      ask("Clear all ticks in this browser?", clearing, [["Clear them", clear]]),
    );
    const exporting = button("Export to a file", () => {
      const url = URL.createObjectURL(new Blob([toFile(load())], { type: "application/json" }));
      el("a", { href: url, download: "transformers-from-scratch-ticks.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
      status.textContent = "The ticks were written to a file.";
    });
    host.append(
      summary,
      onward,
      el("p.course-buttons", exporting, importing, clearing, file),
      question,
      status,
    );
    if (location.protocol === "file:") host.append(el("p.course-aside", FROM_DISK));

    function show() {
      const done = load();
      const sums = count(chapters, done);
      const to = next(chapters, done);
      summary.textContent =
        `You have ticked ${sums.chapters} of ${sums.allChapters} chapters. Of ` +
        `${sums.allExercises} exercises, ${sums.workedOut} worked out and ${sums.written} written.`;
      clearing.disabled = exporting.disabled = done.size === 0;
      for (const place of [onward, document.getElementById("course-next")]) {
        place.hidden = !to;
        place.replaceChildren(
          ...(to ? ["Go on with ", el("a", { href: to.link.href }, to.link.textContent), "."] : []),
        );
      }
      for (const { card, number, exercises } of chapters) {
        const sums = count([{ number, exercises }], done);
        const words = [
          sums.chapters ? "✓ done" : "",
          sums.workedOut ? `${sums.workedOut} worked out` : "",
          sums.written ? `${sums.written} written` : "",
        ].filter(Boolean);
        card.classList.toggle("course-done", done.has(number));
        card.querySelector(".course-ticked").textContent = words.join(" · ");
      }
    }

    function putAway() {
      question.replaceChildren();
      question.removeAttribute("aria-label");
    }

    // A question with its answers as buttons; each answer does something and says what it did
    function ask(text, from, answers) {
      const close = (act) => {
        putAway();
        try {
          status.textContent = act();
        } catch (error) {
          status.textContent = `Nothing was changed. ${error.message}`;
        }
        show();
        (from.disabled ? importing : from).focus();
      };
      status.textContent = "";
      question.setAttribute("aria-label", text);
      question.replaceChildren(
        el("p", text),
        el(
          "p.course-buttons",
          ...answers.map(([name, act]) => button(name, () => close(act))),
          button("Cancel", () => close(() => "Nothing was changed.")),
        ),
      );
      question.focus();
    }

    async function read() {
      const [chosen] = file.files;
      if (!chosen) return;
      putAway(); // a question about another file
      status.textContent = "";
      try {
        const listed = fromFile(await chosen.text());
        const found = known(chapters, listed);
        const mine = known(chapters, load());
        const unknown = listed.size - found.size;
        const leftOut = !unknown
          ? ""
          : ` ${counted(unknown, "id")} of no chapter or exercise of this course ` +
            `${unknown === 1 ? "was" : "were"} left out.`;
        const take = (done) => {
          save(done);
          return (
            `${counted(found.size, "tick")} ${found.size === 1 ? "was" : "were"} read from ` +
            `the file.${leftOut}`
          );
        };
        const merge = () => take(new Set([...load(), ...found]));
        if (!mine.size) {
          status.textContent = merge();
          show();
          return;
        }
        ask(
          `The file holds ${counted(found.size, "tick")}, and this browser has ${mine.size}.`,
          importing,
          [
            ["Merge the two", merge],
            ["Replace mine by the file’s", () => take(found)],
          ],
        );
      } catch (error) {
        status.textContent = `This file was not read. ${error.message}`;
      } finally {
        file.value = ""; // so that the same file can be chosen again
      }
    }

    show();
    store.follow(show);
  }

  if (course.isPage) {
    const host = document.getElementById("course-progress");
    const chapter = location.pathname.match(/\/notebooks\/(\d\d)_\w+\.html$/);
    if (host) onWelcome(host);
    else if (chapter) onChapter(chapter[1]);
  }
  return { fromFile, toFile, isNewer, known, next, count, load, setWorkedOut };
});
