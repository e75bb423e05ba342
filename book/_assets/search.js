// The search page: results while a reader types, first the page that answers a usual question, and
// words with one wrong letter are read as words of the course. Below each result is the section in which
// the words stand, and its link opens there. Sphinx's own list gives way to this one. From disk a
// browser lets no page read another one: results stay links to whole pages.

course.define("search", () => {
  const AROUND = 120; // characters on each side of a word
  const NO_PROSE =
    ".cell, .highlight, pre, details, nav, figure, form, table, .live-figure, .course-guess-answer, " +
    ".course-guess, .course-question, .course-report, .headerlink, script, style, h1, h2, h3, h4";

  // Pages that answer, whatever their words: a question is found by its words' beginnings
  const ANSWERS = [
    { words: /\b(instal|set.?up|colab|pip|requirements|jupyter)/, page: "book/how_to_use" },
    { words: /\b(nans?\b|diverge|explo)/, page: "notebooks/11_training" },
    { words: /\b(my|own|your) (own )?(text|data|file|corpus)/, page: "book/train_in_this_tab" },
  ];

  const GLOSSARY = "book/glossary";
  const LINK = DOCUMENTATION_OPTIONS.LINK_SUFFIX;
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  let query = "";

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

  const pageTexts = {};
  async function describe(item) {
    const link = item.querySelector("a");
    const address = link.href.split("#")[0];
    pageTexts[address] ??= fetch(address).then((response) => response.text());
    const page = new DOMParser().parseFromString(await pageTexts[address], "text/html");
    const within = link.hash ? page.getElementById(decodeURIComponent(link.hash.slice(1))) : null;
    const places = within ? [within] : [...page.querySelectorAll("article :is(section, dt)[id]")];
    for (const edge of ["(?<![\\p{L}\\p{N}])", ""]) {
      const wanted = patterns(edge);
      const found = best(places, wanted);
      if (!found.place) continue;
      if (found.place !== page.querySelector("article section[id]")) link.hash = found.place.id;
      const summary = excerpt(found, wanted);
      item.append(summary);
      for (const word of Search._parseQuery(query)[3]) {
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

  // Whether two words differ in one letter, or in the order of two
  function isTypo(word, other) {
    if (Math.abs(word.length - other.length) > 1 || word === other) return false;
    let start = 0;
    while (start < word.length && word[start] === other[start]) start++;
    const [a, b] = [word.slice(start), other.slice(start)];
    const isSwapped = a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
    const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a];
    return isSwapped || longer.slice(1) === shorter.slice(a.length === b.length ? 1 : 0);
  }

  // A word that no page has becomes the commonest one that differs in a letter
  function corrected(word, stemmer) {
    const { terms, titleterms } = Search._index;
    const stem = stemmer.stemWord(word.toLowerCase());
    const all = Object.keys(terms);
    const has = [...all, ...Object.keys(titleterms)].some((term) => term.startsWith(stem));
    if (stem.length < 4 || has) return word;
    const pages = (term) => [terms[term]].flat().length;
    const isNear = (term) => isTypo(stem, term) || (term.length > 4 && stem.startsWith(term));
    const [best] = all.filter(isNear).sort((a, b) => pages(b) - pages(a));
    const within = all.filter((term) => term.includes(stem)).map(pages); // a part of longer words
    return best && pages(best) > 5 * Math.max(0, ...within) ? best : word;
  }

  // The results, the best first, each once: [address, title]
  function find() {
    const { docnames, titles } = Search._index;
    const answers = ANSWERS.filter(({ words }) => words.test(query.toLowerCase())).map(
      ({ page }) => [page, titles[docnames.indexOf(page)], ""],
    );
    const found = new Map();
    const results = Search._performSearch(...Search._parseQuery(query)).reverse();
    const isEntry = ([page, , anchor]) => page === GLOSSARY && anchor;
    for (const [page, title, anchor] of [...answers, ...results]) {
      // an entry of the glossary is found as such, and the glossary once more by its words
      if (page === GLOSSARY && !anchor && results.some(isEntry)) continue;
      const entry =
        isEntry([page, title, anchor]) && anchor.replace("#term-", "").replaceAll("-", " ");
      const key = page + anchor;
      if (!found.has(key))
        found.set(key, [page + LINK + anchor, entry ? `${entry} · ${title}` : title]);
    }
    return [...found.values()];
  }

  const status = course.el("p.search-summary", { role: "status" });
  const list = course.el("ul.search");

  function show(text) {
    const stemmer = new Stemmer();
    query = text.trim().replace(/[\p{L}\p{N}]+/gu, (word) => corrected(word, stemmer));
    const all = query.length > 1 ? find() : [];
    const places = all.length === 1 ? "place" : "places";
    const read = query === text.trim() ? "" : `, read as “${query}”`;
    status.textContent = query.length > 1 ? `${all.length} ${places}${read}` : "";
    list.replaceChildren(
      ...all.map(([href, title]) => {
        const link = course.el("a", { href });
        link.innerHTML = title; // Sphinx escapes it
        return course.el("li", link);
      }),
    );
    if (location.protocol !== "file:")
      for (const item of list.children) describe(item).catch(() => {}); // the link is there
  }

  // Once the index is there; Sphinx goes on filling its own list, which nobody sees
  document.addEventListener("DOMContentLoaded", () => {
    const results = document.getElementById("search-results");
    const field = document.querySelector(".bd-search-container input[name=q]");
    if (!results || !field) return;
    results.replaceChildren(status, list);
    Search.output = course.el("ul");
    let waiting = 0;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => show(field.value), 150);
    });
    show(field.value);
  });
});
