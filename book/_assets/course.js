// Wide formulas, tables and outputs scroll inside themselves, never the page (a phone is 390 px
// wide). What scrolls must also be reachable by keyboard, so it gets a tab stop while it does.
(() => {
  "use strict";
  const SCROLLERS =
    "mjx-container, span.math, .cell_output .output, .cell_output pre, .highlight pre, " +
    ".pst-scrollable-table-container, .cell_output .text_html";

  function update() {
    for (const box of document.querySelectorAll(SCROLLERS)) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      if (scrolls && !box.hasAttribute("tabindex")) {
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
  addEventListener("load", () => {
    update();
    // MathJax typesets after the page has loaded
    window.MathJax?.startup?.promise?.then(update);
    for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", later);
  });
  addEventListener("resize", later);
})();

// Paper is white: what is printed in the dark is printed as by daylight, and dark again after it.
(() => {
  "use strict";
  const page = document.documentElement.dataset;
  let shown = "light";
  addEventListener("beforeprint", () => {
    shown = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.theme = shown;
  });
})();
