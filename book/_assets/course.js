// What every page of the site does by itself.

course.define("page", () => {
  // Wide formulas, tables and outputs scroll inside themselves, never the page (a phone is 390 px
  // wide). What scrolls must also be reachable by keyboard, so it gets a tab stop while it does.
  const SCROLLERS =
    "mjx-container, span.math, .cell_output .output, .cell_output pre, .highlight pre, " +
    ".pst-scrollable-table-container, .cell_output .text_html, .course-wide";

  // The theme gives and takes tab stops, too, but not when fonts or formulas change what scrolls
  function update() {
    for (const box of document.querySelectorAll(SCROLLERS)) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      if (scrolls && box.tabIndex < 0) {
        box.tabIndex = 0;
        box.dataset.courseTab = "1";
      } else if (!scrolls && box.dataset.courseTab) {
        box.removeAttribute("tabindex");
        delete box.dataset.courseTab;
      }
    }
  }

  let waiting = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 100);
  };
  // MathJax weighs more than the rest of a page: the page only names it, as plain text, and it comes
  // when figures, questions and models are there. Whoever waits for it may wait for this promise.
  const root = document.documentElement;
  const mathJax = document.querySelector('script[type="text/plain"][src]');
  if (mathJax && document.querySelector(".math")) {
    const written = new Promise((done) => {
      addEventListener("load", async () => {
        await course.live?.fetchLast();
        const onload = () => window.MathJax.startup.promise.then(done);
        document.head.append(course.el("script", { src: mathJax.src, onload, onerror: done }));
      });
    });
    window.MathJax.startup = { promise: written };
    written.then(() => root.setAttribute("data-formulas", "written"));
  }
  addEventListener("load", async () => {
    update();
    await Promise.all([document.fonts.ready, window.MathJax?.startup?.promise]);
    update();
    // a fold is opened, a cover is taken away, the window is made narrow
    const resized = new ResizeObserver(later);
    for (const box of document.querySelectorAll(SCROLLERS)) resized.observe(box);
  });

  // A title breaks between its words, and not inside "Byte-pair"
  const title = document.querySelector(".bd-article h1")?.firstChild;
  if (title instanceof Text) {
    const parts = title.data
      .split(/(\S+-\S+)/)
      .map((part, i) => (i % 2 ? course.el("span.course-unbroken", part) : part));
    title.replaceWith(...parts);
  }

  // On a phone code wraps, and what is wrapped stays deeper than its line's own indent (course.css).
  // Each line gets a box; Pygments closes its colours at every end of a line
  const phone = matchMedia("(max-width: 767.9px)");
  const DEEPER = 2;
  function boxLines() {
    if (!phone.matches) return;
    phone.removeEventListener("change", boxLines);
    for (const code of document.querySelectorAll(".highlight pre")) {
      if (code.closest(".cell_output")) continue; // columns stay one below another
      const lines = code.innerHTML.replace(/\n$/, "").split("\n");
      code.innerHTML = lines.map((line) => `<span class="course-line">${line}</span>\n`).join("");
      for (const line of code.children) {
        const { length } = line.textContent.match(/^ */)[0];
        line.style.setProperty("--hang", `${length + DEEPER}ch`);
      }
    }
  }
  phone.addEventListener("change", boxLines);
  boxLines();

  // A drawing made for a desk keeps its letters readable on a phone, and scrolls inside its frame
  const READABLE = 9.9; // pixels
  addEventListener("load", () => {
    if (!phone.matches) return;
    const drawings = document.querySelectorAll(".bd-article svg:has(text):not(.live-figure svg)");
    for (const drawing of /** @type {NodeListOf<SVGSVGElement>} */ (drawings)) {
      const { width } = drawing.getBoundingClientRect();
      const scale = width / drawing.viewBox.baseVal.width;
      if (!width || !Number.isFinite(scale) || drawing.closest(".course-machine, .course-map"))
        continue;
      const letters = [...drawing.querySelectorAll("text")].map(
        (text) => Number.parseFloat(getComputedStyle(text).fontSize) * scale,
      );
      const smallest = Math.min(...letters);
      if (smallest >= READABLE) continue;
      drawing.style.minWidth = `${Math.ceil((width * READABLE) / smallest)}px`;
      drawing.parentElement?.classList.add("course-wide");
    }
  });

  // Paper is white: what is printed in the dark is printed as by daylight, and dark again after it.
  const page = root.dataset;
  /** @type {string | undefined} */
  let shown = "light";
  addEventListener("beforeprint", () => {
    shown = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.theme = shown;
  });

  // What is current in the bars at the sides is in sight: the page, and the section that is read
  function bringInSight(bar, link) {
    if (!link) return;
    const [box, line] = [bar.getBoundingClientRect(), link.getBoundingClientRect()];
    const isInSight = line.top > box.top && line.bottom < box.bottom;
    if (!isInSight) bar.scrollTop += line.top - box.top - box.height / 3;
  }
  const [pages, sections] = [".bd-sidebar-primary", ".bd-sidebar-secondary"].map((name) =>
    document.querySelector(name),
  );
  // the theme puts the bar where it was on the page before
  addEventListener("load", () => bringInSight(pages, pages.querySelector("li.current > a")));
  const follow = () => bringInSight(sections, sections.querySelector("a[aria-current]"));
  if (sections)
    new MutationObserver(follow).observe(sections, {
      subtree: true,
      attributeFilter: ["aria-current"],
    });

  // The drawer of a page's sections closes when one is chosen, and shows what it covered
  const drawer = /** @type {HTMLDialogElement} */ (
    document.getElementById("pst-secondary-sidebar-modal")
  );
  drawer?.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("a")) drawer.close();
  });

  // On a phone each row of these tables is a paragraph: what a cell says is named by its column
  const LABELLED = "#how-we-know table, table.course-rows";
  for (const table of document.querySelectorAll(LABELLED)) {
    const names = [...table.querySelectorAll("thead th")].map((th) => th.textContent.trim());
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, i) => {
        if (i && names[i]) cell.dataset.column = `${names[i]}: `;
      });
    }
    table.classList.toggle("course-labelled", names.length > 1);
  }

  // A name that is heard for each button that copies, beside the one that shows on hover
  for (const button of document.querySelectorAll(".copybtn")) {
    button.setAttribute("aria-label", "Copy this code");
  }
});
