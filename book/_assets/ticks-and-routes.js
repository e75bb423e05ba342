// Ticks beside the links to chapters, in the machine, the map and the routes, and circles in the side
// bar; and the route that a reader follows. It is chosen on the welcome page and kept in this browser;
// at a chapter's end, Continue leads along it.

course.define("ticks_and_routes", () => {
  const { el, store } = course;
  const KEY = "course-route";
  const LINKS = ".course-machine, .course-map, .course-route"
    .split(", ")
    .map((place) => `${place} a`)
    .join(", ");

  /** @type {{name: string, chapters: string[]}} */
  const NO_ROUTE = { name: "", chapters: [] };

  const button = (text, onclick) => course.button(text, onclick, { class: "course-button" });

  // The chapter that a link leads to, "05"; the links of the map are SVG's
  function numberOf(link) {
    const address = new URL(link.href.baseVal ?? link.href, document.baseURI);
    return address.pathname.match(/\/notebooks\/(\d\d)_\w+\.html$/)?.[1];
  }

  // ---- ticks -------------------------------------------------------------------------------

  function showTicks() {
    const done = course.progress.load();
    for (const link of document.querySelectorAll(LINKS)) {
      link.querySelector(".course-check")?.remove();
      const isDone = done.has(numberOf(link));
      if (link instanceof SVGElement) link.classList.toggle("course-done", isDone);
      // in the machine it hangs on the number
      if (isDone) (link.querySelector("b") ?? link).append(check(link));
    }
    const place = course.progress.place();
    for (const link of document.querySelectorAll(".bd-sidebar-primary a")) {
      const number = numberOf(link);
      if (!number) continue;
      const level = course.progress.level(number, done, place);
      const words = { done: " (done)", part: " (begun)" }[level];
      link.querySelector(".course-circle")?.remove();
      link.prepend(el("span.course-circle", { "data-level": level }));
      link.querySelector(".course-unseen")?.remove();
      if (words) link.append(el("span.course-unseen", words));
    }
  }

  function check(link) {
    if (!(link instanceof SVGElement)) {
      const unseen = el("span.course-unseen", " done");
      return el("span.course-check", " ✓", unseen);
    }
    const box = link.querySelector("rect").getBBox();
    const place = { x: box.x + box.width - 9, y: box.y + box.height - 6 };
    return el("svg:text.course-check", { ...place }, "✓");
  }

  // ---- the machine -------------------------------------------------------------------------

  // All its links before the first sentence are one tab stop; arrow keys move along them
  function joinStops(machine) {
    const links = [...machine.querySelectorAll("a")];
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    function stopAt(stop) {
      for (const link of links) link.tabIndex = link === stop ? 0 : -1;
    }
    stopAt(machine.querySelector("[aria-current]"));
    machine.addEventListener("focusin", ({ target }) => stopAt(target));
    machine.addEventListener("keydown", (event) => {
      const place = links.indexOf(event.target);
      const ends = { Home: 0, End: links.length - 1 };
      const next = links[ends[event.key] ?? place + (steps[event.key] ?? NaN)];
      if (!next || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      next.focus();
    });
  }

  // ---- the map -----------------------------------------------------------------------------

  // What a chapter needs, and what that needs, are marked while it is pointed at or has the focus
  function markNeeds(map) {
    const boxes = new Map([...map.querySelectorAll("a")].map((box) => [numberOf(box), box]));
    function mark({ type, target }) {
      const needed = new Set();
      const add = (number) => {
        needed.add(number);
        boxes.get(number).dataset.needs.split(" ").filter(Boolean).forEach(add);
      };
      const box = type.endsWith("out") ? null : target.closest("a");
      if (box) add(numberOf(box));
      for (const [number, each] of boxes)
        each.classList.toggle("course-before", needed.has(number));
      for (const path of map.querySelectorAll("[data-from]")) {
        const { from, to } = path.dataset;
        path.classList.toggle("course-before", needed.has(from) && needed.has(to));
      }
    }
    for (const event of ["mouseover", "mouseout", "focusin", "focusout"])
      map.addEventListener(event, mark);
  }

  // ---- the route ---------------------------------------------------------------------------

  // The route that is followed, or null: there may be none, or one that this page did not write
  function load() {
    const { name, chapters } = store.recallObject(KEY) ?? {};
    return typeof name === "string" && Array.isArray(chapters) ? { name, chapters } : null;
  }

  // Whether it is kept; null leaves the route
  const keep = (route) => store.keep(KEY, route && JSON.stringify(route));

  function onWelcome() {
    const shows = [...document.querySelectorAll(".course-route")].map((section) => {
      const chapters = section.dataset.route.split(" ");
      const name = section.querySelector("h3").firstChild.textContent.trim();
      const isFollowed = () => load()?.chapters.join(" ") === section.dataset.route;
      const status = el("span", { role: "status" });
      const choose = button("", () => {
        const isKept = keep(isFollowed() ? null : { name, chapters });
        for (const show of shows) show();
        if (!isKept) status.textContent = "This browser keeps no data here, so no route either.";
      });
      section.append(el("p.course-route-line", choose, status));
      return () => {
        section.classList.toggle("course-followed", isFollowed());
        choose.textContent = isFollowed() ? "Leave this route" : "Follow this route";
        status.textContent = isFollowed()
          ? "You follow it: at the end of a chapter, “Continue” leads along it. This browser keeps that."
          : "";
      };
    });
    return () => {
      for (const show of shows) show();
    };
  }

  function onChapter(chapter, pages) {
    const onward = document.querySelector(".course-continue");
    const title = onward.querySelector("span");
    const own = { href: onward.href, title: title.textContent };
    const href = `${document.querySelector(".navbar-brand").href.split("#")[0]}#where-to-start`;
    const line = el("a", { href });
    onward.before(el("p.course-route-line", line));
    return () => {
      const { name, chapters } = load() ?? NO_ROUTE;
      const place = chapters.indexOf(chapter);
      const after = pages.get(chapters[place + 1]) ?? { href, title: "Choose another route" };
      const next = place < 0 ? own : after;
      onward.href = next.href;
      title.textContent = next.title;
      line.textContent =
        place < 0 ? "" : `Your route: ${name}, chapter ${place + 1} of ${chapters.length}`;
    };
  }

  const pages = new Map();
  for (const link of document.querySelectorAll(".bd-sidebar-primary a")) {
    const page = { href: link.href.split("#")[0], title: link.textContent };
    if (numberOf(link)) pages.set(numberOf(link), page);
  }
  const chapter = numberOf(location);
  document.querySelectorAll(".course-machine").forEach(joinStops);
  document.querySelectorAll(".course-map").forEach(markNeeds);
  const showRoute = chapter ? onChapter(chapter, pages) : onWelcome();
  function show() {
    showTicks();
    showRoute();
  }
  show();
  addEventListener("course-progress", showTicks);
  store.follow(show);
});
