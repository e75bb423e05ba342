// Where a reader is: ticks, and the last heading that was read. A chapter has a tick at its end, an
// exercise two at its heading. A reader sets them; the question of an exercise sets "worked out", too
// (exercise.js), its code "written" (code-cell.js), Continue at a chapter's end that of the chapter,
// and a check in a notebook writes a file with those that are "written" (kit/checks/ticks.py). The
// welcome page shows all ticks, and writes them to a file or reads them from one. All stays in this
// browser (localStorage).

course.define("progress", () => {
  const { el, store } = course;
  const KEY = "course-progress";
  const PLACE = "course-place";
  const FORMAT = { course: "Transformers from Scratch", what: "progress", version: 1 };
  // Ids: of a chapter, "05", an exercise that is written, "5.1", or worked out, "5.1 worked out"
  const workedOut = (exercise) => `${exercise} worked out`;

  // ---- calculations, which need no page ----------------------------------------------------

  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  // What a text of this course's ticks holds: { done: ids }, and what a newer edition may have added;
  // null if it is another text
  function contentOf(text) {
    try {
      const content = JSON.parse(text);
      const isOurs = content.course === FORMAT.course && content.what === FORMAT.what;
      return isOurs ? content : null;
    } catch {
      return null; // no JSON, or nothing in it
    }
  }

  // The ids in a file's text; throws an Error in words that a reader can use
  function fromFile(text) {
    const ids = contentOf(text)?.done;
    if (!Array.isArray(ids)) throw new Error("It is not a file of this course's ticks.");
    return new Set(ids);
  }

  // The text of these ids; what else `before`, such a text, holds stays
  /** @type {(done: Set<string>, before?: string | null) => string} */
  const toFile = (done, before = null) =>
    JSON.stringify({ ...FORMAT, ...contentOf(before), done: [...done].sort() }, null, 1);

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
    const ofAll = (ids) => ids.filter((id) => done.has(id)).length;
    const exercises = chapters.flatMap((chapter) => chapter.exercises);
    return {
      chapters: ofAll(chapters.map(({ number }) => number)),
      workedOut: ofAll(exercises.map(workedOut)),
      written: ofAll(exercises),
      allChapters: chapters.length,
      allExercises: exercises.length,
    };
  }

  // ---- the store ---------------------------------------------------------------------------

  const NO_STORE =
    "This browser keeps no data for this page (private mode, a blocked store, or a " +
    "page inside another one), so ticks cannot be kept here.";
  const FROM_DISK =
    "These pages are opened from disk. Some browsers then keep the data of each page " +
    "apart, and the ticks of other pages are missing here.";
  const storageWorks = () => store.keep(`${KEY}-test`, "1") && store.keep(`${KEY}-test`, null);

  // Each change reads first: another tab may have changed the store
  const load = () => {
    try {
      return fromFile(store.recall(KEY));
    } catch {
      return new Set();
    }
  };
  const place = () => store.recallObject(PLACE); // { chapter: "06", id: "the-recipe" }, or null

  // Keeps the ticks, or throws an Error in words and changes nothing
  function save(done) {
    const before = store.recall(KEY);
    const content = contentOf(before);
    if (content && !Array.isArray(content.done))
      throw new Error("A newer edition of the course keeps its ticks here, which would be lost.");
    if (!store.keep(KEY, toFile(done, before)))
      throw new Error("This browser did not keep the change: its store is full or blocked.");
    dispatchEvent(new Event("course-progress")); // for navigation.js
  }

  // ---- on a page ---------------------------------------------------------------------------

  // A line of ticks: [id, text, hidden text] of each; behind them stands why one cannot be kept
  function ticksIn(tag, ...ticks) {
    const status = el("span", { role: "status" });
    const labels = ticks.map(([id, text, hiddenText]) => {
      const box = el("input", { type: "checkbox", "data-tick": id, onchange });
      function onchange() {
        const done = load();
        done[box.checked ? "add" : "delete"](id);
        try {
          save(done);
          status.textContent = "";
        } catch (error) {
          box.checked = !box.checked;
          status.textContent = ` ${error.message}`;
        }
      }
      return el("label.course-tick", box, ` ${text}`, el("span.course-unseen", hiddenText));
    });
    return el(tag, labels, status);
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
    if (!storageWorks()) return end.prepend(el("p", NO_STORE));
    const sections = [...document.querySelectorAll("section[data-exercise]")];
    const exercises = sections.map(({ dataset }) => dataset.exercise);
    for (const [i, exercise] of exercises.entries()) {
      const name = `: exercise ${exercise}`;
      const ticks = ticksIn(
        "p.course-ticks",
        [workedOut(exercise), "Worked out (ticks itself)", name],
        [exercise, "Written as code (ticks itself)", name],
      );
      sections[i].querySelector("h3").after(ticks);
    }
    end.prepend(ticksIn("p", [number, "I am done with this chapter", ""]));
    end.querySelector(".course-continue").addEventListener("click", () => {
      store.keep(PLACE, null);
      setTick(number);
    });
    const solved = el("progress", { max: exercises.length, "aria-label": "Exercises" });
    const words = el("span");
    if (sections.length) document.querySelector("h1").after(el("div.course-solved", solved, words));
    function show() {
      const done = load();
      for (const box of document.querySelectorAll("[data-tick]"))
        box.checked = done.has(box.dataset.tick);
      solved.value = exercises.filter((id) => done.has(id) || done.has(workedOut(id))).length;
      words.textContent = `${solved.value} of ${plural(exercises.length, "exercise")}`;
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
      exercises: card.dataset.exercises.split(" ").filter(Boolean),
      link: card.querySelector("a"),
    }));
    if (!storageWorks()) return host.replaceChildren(el("p", NO_STORE));
    const summary = el("p", {});
    const status = el("p", { role: "status" });
    const start = document.querySelector(".course-start a");
    const [startText, startAddress] = [start.textContent, start.href];
    const names = { accept: ".json,application/json", "aria-label": "File of ticks" };
    const file = el("input", { type: "file", hidden: "", ...names, onchange: read });
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
      const url = URL.createObjectURL(
        new Blob([toFile(load(), store.recall(KEY))], { type: "application/json" }),
      );
      el("a", { href: url, download: "transformers-from-scratch-ticks.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
      status.textContent = "The ticks were written to a file.";
    });
    const row = el("p.course-buttons", exporting, importing, clearing, file);
    host.replaceChildren(summary, row, status);
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
        const ids = known(chapters, listed);
        save(new Set([...load(), ...ids]));
        const unknown = listed.size - ids.size;
        status.textContent =
          `${plural(ids.size, "tick")} ${ids.size === 1 ? "was" : "were"} read from the file.` +
          (unknown ? ` It lists ${plural(unknown, "id")} that this course does not have.` : "");
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
  const marks = { load, place, level, setWorkedOut, setWritten };
  return { ...marks, fromFile, toFile, known, next, count };
});
