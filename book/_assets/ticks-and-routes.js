// Ticks beside the links to chapters, in the side bar, the machine, the map and the routes; and the
// route that a reader follows. It is chosen on the welcome page and kept in this browser; at a
// chapter's end, previous and next lead along it.

course.define("ticks_and_routes", () => {
  const { el, store } = course;
  const KEY = "course-route";
  const LINKS = ".bd-sidebar-primary, .course-machine, .course-map, .course-route"
    .split(", ")
    .map((place) => `${place} a`)
    .join(", ");

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
      // in the machine it hangs on the number
      if (done.has(numberOf(link))) (link.querySelector("b") ?? link).append(check(link));
    }
  }

  function check(link) {
    if (!(link instanceof SVGElement)) {
      const unseen = el("span.course-unseen", " done");
      return el("span.course-check", " ✓", unseen);
    }
    const box = link.querySelector("rect").getBBox();
    const place = { x: box.x + box.width - 9, y: box.y + 14 };
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
          ? "You follow it: at the end of a chapter, “next” leads along it. This browser keeps that."
          : "";
      };
    });
    return () => {
      for (const show of shows) show();
    };
  }

  function onChapter(chapter, pages) {
    const area = document.querySelector(".prev-next-area");
    const own = [...area.children];
    const line = el("p.course-route-line", { tabindex: -1 });
    const routes = `${document.querySelector(".navbar-brand").href.split("#")[0]}#where-to-start`;
    area.before(line);

    // One of the theme's two buttons, which leads elsewhere
    function leading(button, subtitle, page) {
      const link = button.cloneNode(true);
      link.href = page.href;
      link.title = subtitle;
      link.querySelector(".prev-next-subtitle").textContent = subtitle;
      link.querySelector(".prev-next-title").textContent = page.title;
      return link;
    }

    return () => {
      const route = load();
      const chapters = (route?.chapters ?? []).filter((number) => pages.has(number));
      const place = chapters.indexOf(chapter);
      area.replaceChildren(...own);
      line.replaceChildren();
      if (!chapters.length) return;
      const name = `“${route?.name}”`;
      const leave = button("Leave the route", () => {
        keep(null);
        area.replaceChildren(...own);
        line.replaceChildren("You left the route.");
        line.focus();
      });
      if (place < 0) {
        const done = course.progress.load();
        const page = pages.get(chapters.find((number) => !done.has(number)) ?? chapters[0]);
        const back = el("a", { href: page.href }, page.title);
        line.append(`This chapter is not on your route ${name}, which goes on with `, back, leave);
        return;
      }
      line.append(`Your route is ${name}: chapter ${place + 1} of ${chapters.length}.`, leave);
      const before = pages.get(chapters[place - 1]) ?? { href: routes, title: "All routes" };
      const after = pages.get(chapters[place + 1]) ?? { href: routes, title: "Choose another" };
      const isLast = place === chapters.length - 1;
      area.replaceChildren(
        leading(own[0], place ? `Previous on the route ${name}` : "Before the route", before),
        leading(
          own[1],
          isLast ? `The end of the route ${name}` : `Next on the route ${name}`,
          after,
        ),
      );
    };
  }

  const pages = new Map();
  for (const link of document.querySelectorAll(".bd-sidebar-primary a")) {
    const page = { href: link.href.split("#")[0], title: link.textContent };
    if (numberOf(link)) pages.set(numberOf(link), page);
  }
  const chapter = numberOf(location);
  document.querySelectorAll(".course-machine").forEach(joinStops);
  const showRoute = chapter ? onChapter(chapter, pages) : onWelcome();
  function show() {
    showTicks();
    showRoute();
  }
  show();
  addEventListener("course-progress", showTicks);
  store.follow(show);
});
