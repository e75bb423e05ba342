// What answers a guess is covered until the reader has guessed, or wants to be shown it. The build
// has put it into a veil (veil_ext.py), and a line in the page's head hides what stands in it before
// anything is painted. A low bar stands there until the answer unfolds below it. Without JavaScript
// all is visible.

course.define("covers", () => {
  const { el } = course;

  // ---- what the browser keeps --------------------------------------------------------------

  const page = location.pathname.replace(/\.html$/, "");
  const guessOf = (question) => `course-guess:${page}:${question}`;
  const shownOf = (question) => `course-guess-shown:${page}:${question}`;
  const NEVER = "course-guess-never"; // for all pages
  const visit = new Map(); // what the browser does not keep lasts for this visit

  const recall = (key) => visit.get(key) ?? course.store.recall(key);
  function keep(key, value) {
    if (course.store.keep(key, value)) visit.delete(key);
    else visit.set(key, value);
  }
  function forget(key) {
    visit.delete(key);
    course.store.keep(key, null);
  }

  // ---- the covers --------------------------------------------------------------------------

  const root = document.documentElement;
  const opened = new Set(); // the questions that are answered, shown, or found
  const veils = Array.from(document.querySelectorAll(".course-veil"), (outer) => ({
    outer,
    inner: outer.firstElementChild,
    question: outer.dataset.question,
    cover: /** @type {any} */ (null), // what stands in its place
  }));
  let started = false; // each form has said whether its question is open

  function open(question) {
    opened.add(question);
    refresh();
  }

  function close(question) {
    forget(shownOf(question));
    opened.delete(question);
    refresh();
  }

  function refresh() {
    if (!started) return;
    const covering = recall(NEVER) === null;
    for (const veil of veils) {
      const covered = covering && !opened.has(veil.question);
      veil.outer.classList.toggle("course-open", !covered);
      if (covered && !veil.cover) {
        veil.cover = coverOf(veil);
        veil.outer.append(veil.cover);
        veil.inner.setAttribute("hidden", "until-found"); // by the browser's search, where it can
      } else if (!covered && veil.cover) {
        veil.cover.remove();
        veil.cover = null;
        veil.inner.removeAttribute("hidden");
      }
    }
    root.classList.toggle("course-covers", covering);
  }

  // "about 40 words and a picture", so that a reader knows what waits below a low bar
  function sizeOf(inner) {
    const pictures = inner.querySelectorAll("svg:not(svg svg), img, table").length;
    const words = inner.textContent.split(/\s+/).filter((word) => /[a-z]/i.test(word)).length;
    const size = [`about ${Math.max(10, 10 * Math.round(words / 10))} words`];
    if (pictures) size.unshift(pictures === 1 ? "a picture" : `${pictures} pictures`);
    return `(${size.join(", ")})`;
  }

  function coverOf({ outer, inner, question }) {
    const show = () => {
      keep(shownOf(question), "yes");
      open(question);
      // where the button was, so that Tab and a screen reader go on from here
      outer.tabIndex = -1;
      outer.focus({ preventScroll: true });
    };
    return el(
      "div.course-cover",
      el("span", "Guess first, or "),
      course.button("Just show me", show),
      el("span.course-cover-size", sizeOf(inner)),
    );
  }

  // A link to something that is covered, on this page or from another one
  function arrive(hash) {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(hash.slice(1)));
    } catch {
      // no address that this page has written
    }
    const veil = target?.closest(".course-veil:not(.course-open)");
    if (!veil) return;
    open(veil.dataset.question);
    target?.scrollIntoView();
  }

  // What the site's search, or a link to a text, has brought the reader here for
  function sought() {
    const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
    const marked =
      recall("sphinx_highlight_terms") ?? new URLSearchParams(location.search).get("highlight");
    const address = performance.getEntriesByType("navigation")[0]?.name ?? ""; // …#:~:text=…
    const starts = new URLSearchParams(address.split(":~:")[1])
      .getAll("text")
      .map((text) => text.split(",").find((part) => !part.endsWith("-")) ?? "");
    const wanted = [...plain(marked ?? "").split(" "), ...starts.map(plain)].filter(Boolean);
    for (const { inner, question } of wanted.length ? veils : []) {
      const text = plain(inner.textContent);
      if (wanted.some((one) => text.includes(one))) open(question);
    }
  }

  function start() {
    started = true;
    for (const { question } of veils) {
      if (recall(shownOf(question)) !== null) opened.add(question);
    }
    refresh();
    sought();
    arrive(location.hash);
    addEventListener("hashchange", () => arrive(location.hash));
    const targetOf = (event) => /** @type {Element} */ (event.target);
    document.addEventListener("click", (event) => {
      const link = targetOf(event).closest?.("a[href]");
      if (link?.pathname === location.pathname) arrive(link.hash);
    });
    document.addEventListener("beforematch", (event) => {
      const veil = targetOf(event).closest(".course-veil");
      if (veil) open(veil.dataset.question);
    });
    root.dataset.courseGuess = "yes"; // the line in the page's head hides nothing for ever
  }

  // One switch for all pages, below the first form
  function neverSwitch() {
    const box = el("input", {
      type: "checkbox",
      onchange: () => {
        if (box.checked) keep(NEVER, "yes");
        else forget(NEVER);
        refresh();
      },
    });
    const follow = () => {
      box.checked = recall(NEVER) !== null;
      refresh();
    };
    course.store.follow(follow);
    box.checked = recall(NEVER) !== null;
    return el("label.course-guess-never", box, "Never cover answers");
  }

  // Where the answer of a question stands
  const placeOf = (question) => veils.find((veil) => veil.question === question)?.outer;

  const store = { guessOf, recall, keep, forget, isLost: (key) => visit.has(key) };
  return { store, open, close, start, neverSwitch, placeOf };
});
