// Where a reader is: ticks, and the last heading that was read. A chapter has a tick at its end, an
// exercise two at its heading. A reader sets them; the question of an exercise sets "worked out", too
// (exercise.js), its code "written" (code-cell.js), Continue at a chapter's end that of the chapter, and a check in a notebook writes a
// file with those that are "written" (kit/checks/ticks.py). The welcome page shows all ticks, and
// writes them to a file or reads them from one. All stays in this browser (localStorage).

course.define("progress", () => {
  const { el, store } = course;
  const KEY = "course-progress";
  const PLACE = "course-place";
  const VERSION = 1;
  const COURSE = "Transformers from Scratch";
  // Ids: of a chapter, "05", an exercise that is written, "5.1", or worked out, "5.1 worked out"
  const workedOut = (exercise) => `${exercise} worked out`;

  // ---- calculations, which need no page ----------------------------------------------------

  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  // The ids in a file's text; throws an Error in words that a reader can use
  function fromFile(text) {
    let content;
    try {
      content = JSON.parse(text);
    } catch {} // no JSON
    const { course: name, what, version, done } = content ?? {};
    if (name !== COURSE || what !== "progress" || version !== VERSION || !Array.isArray(done)) {
      throw new Error("It is not a file of this course's ticks.");
    }
    return new Set(done.filter((id) => typeof id === "string"));
  }

  // Whether a stored text is of a newer edition, whose ticks this page can neither read nor change
  function isNewer(text) {
    try {
      const { course: name, what, version } = JSON.parse(text) ?? {};
      return name === COURSE && what === "progress" && version > VERSION;
    } catch {
      return false;
    }
  }

  function toFile(done) {
    const content = { course: COURSE, what: "progress", version: VERSION, done: [...done].sort() };
    return JSON.stringify(content, null, 1);
  }

  // Those ids that are a chapter or an exercise of the course
  function known(chapters, ids) {
    const all = chapters.flatMap(({ number, exercises }) => {
      return [number, ...exercises, ...exercises.map(workedOut)];
    });
    return new Set([...ids].filter((id) => all.includes(id)));
  }

  const chapterOf = (id) => (id.includes(".") ? id.split(".")[0].padStart(2, "0") : id);

  // "done" of a chapter with its tick, "part" of one with a tick in it or the last heading read
  function level(number, done, place) {
    if (done.has(number)) return "done";
    return place?.chapter === number || [...done].some((id) => chapterOf(id) === number)
      ? "part"
      : "";
  }

  // Where to go on: at the last heading read; if its chapter is done, behind the last chapter that
  // has a tick, or in it if it has none of its own; at the end, the first chapter without a tick;
  // null if there is nothing to go on with
  function next(chapters, done, place) {
    const open = ({ number }) => !done.has(number);
    const reading = chapters.find(({ number }) => number === place?.chapter);
    if (reading && open(reading)) return reading;
    const touched = new Set([...known(chapters, done)].map(chapterOf));
    const last = chapters.findLastIndex(({ number }) => touched.has(number));
    if (last < 0) return null;
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
  const place = () => store.recallObject(PLACE); // { chapter: "06", id: "the-recipe" }, or null

  // Keeps the ticks, or throws an Error in words and changes nothing
  function save(done) {
    if (!store.keep(KEY, toFile(done))) throw new Error(FULL);
    dispatchEvent(new Event("course-progress")); // for ticks-and-routes.js
  }

  // ---- on a page ---------------------------------------------------------------------------

  const NO_STORE =
    "This browser keeps no data for this page (private mode, a blocked store, or a " +
    "page inside another one), so ticks cannot be kept here.";

  const NEWER =
    "The ticks in this browser are of a newer edition of the course. This page cannot " +
    "read them, and leaves them as they are.";

  const FULL = "This browser did not keep the ticks: its store is full or blocked.";

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

  function showTicks(done) {
    for (const box of document.querySelectorAll("[data-tick]")) {
      box.checked = done.has(box.dataset.tick);
    }
  }

  // Sets a tick of this page; whether it is set
  function setTick(id) {
    const box = document.querySelector(`[data-tick="${id}"]`);
    if (box && !box.checked) box.click();
    return Boolean(box?.checked);
  }
  // Of an exercise whose question was answered, and of one whose code has passed its check
  const setWorkedOut = (exercise) => setTick(workedOut(exercise));
  const setWritten = (exercise) => setTick(exercise);

  // Why no ticks can be shown or set here; nothing if they can
  const hindranceOfTicks = () =>
    !storageWorks() ? NO_STORE : isNewer(store.recall(KEY)) ? NEWER : "";

  // Keeps the last heading above the middle of the window, once the reader scrolls
  function keepPlace(chapter) {
    const headings = [...document.querySelectorAll("article section[id] > :is(h2, h3)")];
    let waiting = 0;
    function keep() {
      const isRead = (heading) => heading.getBoundingClientRect().top < innerHeight / 2;
      const id = headings.findLast(isRead)?.parentElement.id;
      if (id) store.keep(PLACE, JSON.stringify({ chapter, id }));
    }
    addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(keep, 200);
    });
  }

  function onChapter(number) {
    const end = document.querySelector(".course-end");
    const hindrance = hindranceOfTicks();
    if (hindrance) {
      end.prepend(el("p", hindrance));
      return;
    }
    const sections = [...document.querySelectorAll("section[data-exercise]")];
    const exercises = sections.map(({ dataset }) => dataset.exercise);
    for (const section of sections) {
      const { exercise } = section.dataset;
      const ticks = [
        tick(workedOut(exercise), "Worked out (ticks itself)", `: exercise ${exercise}`),
        tick(exercise, "Written as code (ticks itself)", `: exercise ${exercise}`),
      ];
      section.querySelector("h3").after(el("p.course-ticks", ...ticks));
    }
    end.prepend(el("p", tick(number, "I am done with this chapter", "")));
    end.querySelector(".course-continue").addEventListener("click", () => {
      store.keep(PLACE, null);
      const box = end.querySelector("input");
      if (!box.checked) box.click();
    });
    const solved = el("progress", { max: exercises.length, "aria-label": "Exercises" });
    const words = el("span");
    if (sections.length) document.querySelector("h1").after(el("div.course-solved", solved, words));
    function show() {
      const done = load();
      showTicks(done);
      solved.value = exercises.filter((id) => done.has(id) || done.has(workedOut(id))).length;
      words.textContent = `${solved.value} of ${counted(exercises.length, "exercise")}`;
    }
    show();
    addEventListener("course-progress", show);
    store.follow(show);
    keepPlace(number);
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
    const status = el("p", { role: "status" });
    const start = document.querySelector(".course-start a");
    const [startText, startAddress] = [start.textContent, start.href];
    const file = el("input", {
      type: "file",
      accept: ".json,application/json",
      "aria-label": "File of ticks",
      onchange: () => read(),
    });
    file.hidden = true;
    const button = (text, onclick) => course.button(text, onclick, { class: "course-button" });
    const importing = button("Import a file", () => file.click());
    const clearing = button("Clear all ticks", () => {
      if (!confirm("Clear all ticks in this browser?")) return;
      store.keep(KEY, null);
      store.keep(PLACE, null);
      dispatchEvent(new Event("course-progress"));
      status.textContent = "All ticks are cleared.";
      show();
      importing.focus(); // since the button cannot be pressed now
    });
    const exporting = button("Export to a file", () => {
      const url = URL.createObjectURL(new Blob([toFile(load())], { type: "application/json" }));
      el("a", { href: url, download: "transformers-from-scratch-ticks.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
      status.textContent = "The ticks were written to a file.";
    });
    host.append(summary, el("p.course-buttons", exporting, importing, clearing, file), status);
    if (location.protocol === "file:") host.append(el("p.course-aside", FROM_DISK));

    function show() {
      const done = load();
      const sums = count(chapters, done);
      const to = next(chapters, done, place());
      summary.textContent =
        `You have ticked ${sums.chapters} of ${sums.allChapters} chapters. Of ` +
        `${sums.allExercises} exercises, ${sums.workedOut} worked out and ${sums.written} written.`;
      clearing.disabled = exporting.disabled = done.size === 0;
      start.textContent = to ? `Continue: ${to.link.textContent}` : startText;
      start.href = to ? to.link.href : startAddress;
      if (to && place()?.chapter === to.number) start.hash = place().id;
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

    // What a file lists is added to what is ticked: nothing is lost
    async function read() {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        const listed = fromFile(await chosen.text());
        const found = known(chapters, listed);
        save(new Set([...load(), ...found]));
        const unknown = listed.size - found.size;
        status.textContent =
          `${counted(found.size, "tick")} ${found.size === 1 ? "was" : "were"} read from the file.` +
          (unknown ? ` It lists ${counted(unknown, "id")} that this course does not have.` : "");
        show();
      } catch (error) {
        status.textContent = `Nothing was changed. ${error.message}`;
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
  return {
    fromFile,
    toFile,
    isNewer,
    known,
    level,
    next,
    count,
    load,
    place,
    setWorkedOut,
    setWritten,
  };
});
