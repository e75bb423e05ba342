// Ticks beside the links to chapters, in the machine, the map and the routes, and circles in the side
// bar; and the route that a reader follows. It is chosen on the welcome page and kept in this browser;
// at a chapter's end, Continue leads along it.

course.define("navigation", () => {
  const { el, store } = course;
  const KEY = "course-route";
  const LINKS = ":is(.course-machine, .course-map, .course-route) a";

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
      for (const old of link.querySelectorAll(".course-circle, .course-unseen")) old.remove();
      link.prepend(el("span.course-circle", { "data-level": level }));
      if (words) link.append(el("span.course-unseen", words));
    }
  }

  function check(link) {
    if (!(link instanceof SVGElement))
      return el("span.course-check", " ✓", el("span.course-unseen", " done"));
    const box = link.querySelector("rect").getBBox();
    return el(
      "svg:text.course-check",
      { x: box.x + box.width - 9, y: box.y + box.height - 6 },
      "✓",
    );
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
      for (const [number, link] of boxes)
        link.classList.toggle("course-before", needed.has(number));
      for (const path of map.querySelectorAll("[data-from]")) {
        const { from, to } = path.dataset;
        path.classList.toggle("course-before", needed.has(from) && needed.has(to));
      }
    }
    for (const event of ["mouseover", "mouseout", "focusin", "focusout"])
      map.addEventListener(event, mark);
  }

  // ---- the route ---------------------------------------------------------------------------

  // The route that is followed, { name, chapters }; there may be none, or one that no page wrote
  const load = () => {
    const route = store.recallObject(KEY);
    return Array.isArray(route?.chapters) ? route : { name: "", chapters: [] };
  };

  function onWelcome(section) {
    const chapters = section.dataset.route.split(" ");
    const name = section.querySelector("h3").firstChild.textContent.trim();
    const isFollowed = () => load().chapters.join(" ") === section.dataset.route;
    const status = el("span", { role: "status" });
    const choose = button("", () => {
      const isKept = store.keep(KEY, isFollowed() ? null : JSON.stringify({ name, chapters }));
      showRoutes();
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
  }

  function onChapter(onward) {
    const title = onward.querySelector("span");
    const usual = { href: onward.href, title: title.textContent };
    const href = `${document.querySelector(".navbar-brand").href.split("#")[0]}#where-to-start`;
    const line = el("a", { href });
    onward.before(el("p.course-route-line", line));
    return () => {
      const { name, chapters } = load();
      const place = chapters.indexOf(numberOf(location));
      const after = pages.get(chapters[place + 1]) ?? { href, title: "Choose another route" };
      const next = place < 0 ? usual : after;
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
  document.querySelectorAll(".course-machine").forEach(joinStops);
  document.querySelectorAll(".course-map").forEach(markNeeds);
  const shows = [
    ...Array.from(document.querySelectorAll(".course-route"), onWelcome),
    ...Array.from(document.querySelectorAll(".course-continue"), onChapter),
  ];
  function showRoutes() {
    for (const show of shows) show();
  }
  function show() {
    showTicks();
    showRoutes();
  }
  show();
  addEventListener("course-progress", showTicks);
  store.follow(show);
});
