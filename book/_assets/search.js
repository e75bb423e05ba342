// The search page: below each result the section in which the words stand, and a link that opens
// there. Sphinx's own excerpts are of the whole page with its code, so they are switched off. From
// disk a browser lets no page read another one: results stay links to whole pages.

course.define("search", () => {
  const AROUND = 120; // characters on each side of a word
  const NO_PROSE =
    ".cell, .highlight, pre, details, nav, figure, form, table, .live-figure, .course-veil, " +
    ".course-guess, .course-question, .course-report, .headerlink, script, style, h1, h2, h3, h4";

  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  const plain = (element) => element.textContent.replace(/\s+/g, " ").trim();

  // What a section says itself, outside of the sections in it
  function own(section, unwanted) {
    const copy = section.cloneNode(true);
    for (const element of copy.querySelectorAll(`section, script, style, ${unwanted}`)) {
      element.remove();
    }
    for (const formula of copy.querySelectorAll(".math")) {
      formula.textContent = formula.textContent
        .replace(/^\s*\\[([]|\\[)\]]\s*$/g, "")
        .replace(/\\([a-z]+)/gi, "$1") // \ln is read as ln
        .replace(/[{}]/g, "");
    }
    return plain(copy);
  }

  // For each word that was looked for, a pattern of it and of its other forms; Sphinx finds words
  // by their stems, and parts of words if there is no such word
  function patterns(edge) {
    const query = new URLSearchParams(location.search).get("q");
    const [, stems, , words] = Search._parseQuery(query);
    const stemmer = new Stemmer();
    const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return [...stems].map((stem) => {
      const forms = [...words].filter((word) => stemmer.stemWord(word) === stem);
      return new RegExp(`${edge}(${[stem, ...forms].map(escaped).join("|")})`, "iu");
    });
  }

  // The texts of a section, or of a term in a list
  function texts(place) {
    if (place.localName === "dt") {
      return {
        title: plain(place).replace(/#$/, ""),
        prose: own(place.nextElementSibling, NO_PROSE),
        all: "",
      };
    }
    const heading = place.querySelector("h1, h2, h3, h4");
    const title = heading ? plain(heading).replace(/#$/, "") : "";
    return { title, prose: own(place, `dl.glossary, ${NO_PROSE}`), all: own(place, "dl, nav") };
  }

  // The place that holds most of the words: in its heading, in its prose, or at least in its code
  function best(places, wanted) {
    /** @type {any} */
    let found = { score: 0 };
    for (const place of places) {
      const { title, prose, all } = texts(place);
      const score = wanted
        .map((word) => (word.test(prose) ? 10 : 0) + (word.test(title) ? 5 : 0) + word.test(all))
        .reduce((a, b) => a + b, 0);
      if (score > found.score) found = { score, place, title, prose };
    }
    return found;
  }

  function excerpt({ title, prose }, wanted) {
    const first = Math.min(...wanted.map((word) => prose.search(word)).filter((at) => at >= 0));
    const middle = Number.isFinite(first) ? first : 0;
    const start = middle > AROUND ? prose.indexOf(" ", middle - AROUND) + 1 : 0;
    const end = prose.length > middle + AROUND ? prose.lastIndexOf(" ", middle + AROUND) : Infinity;
    const text = (start ? "… " : "") + prose.slice(start, end) + (end < Infinity ? " …" : "");
    const name = course.el("strong", title);
    return course.el("p.context", name, prose ? " · " : "", text);
  }

  async function describe(item) {
    const link = item.querySelector("a");
    const response = await fetch(link.href.split("#")[0]);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const within = link.hash ? page.getElementById(decodeURIComponent(link.hash.slice(1))) : null;
    const places = within ? [within] : [...page.querySelectorAll("article :is(section, dt)[id]")];
    for (const edge of ["(?<![\\p{L}\\p{N}])", ""]) {
      const wanted = patterns(edge);
      const found = best(places, wanted);
      if (!found.place) continue;
      if (found.place !== page.querySelector("article section[id]")) link.hash = found.place.id;
      const summary = excerpt(found, wanted);
      item.append(summary);
      for (const word of Search._parseQuery(new URLSearchParams(location.search).get("q"))[3]) {
        _highlightText(summary, word, "highlighted");
      }
      return;
    }
  }

  // Only a page that was opened from a result marks the words
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (!target.closest("#search-results")) localStorage.removeItem("sphinx_highlight_terms");
  });

  const results = document.getElementById("search-results");
  if (location.protocol === "file:" || !results) return;
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (node instanceof Element && node.matches("#search-results li"))
          describe(node).catch(() => {}); // the link is there
      }
    }
  }).observe(results, { childList: true, subtree: true });
});
