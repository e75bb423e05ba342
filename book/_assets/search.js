// The search page: sections in which any word of a question stands, the best first, while a reader
// types. The sections come from search-sections.js (`_ext/search_ext.py`), which a page from disk
// can load too. They are ranked by BM25: a word counts for more the fewer sections have it, and for
// less the longer the section is. The sum counts by the share of the words that a section has. Titles
// count too, and half of the page's own rank is added, so that of two good sections that of the
// chapter about the question comes first.

course.define("search", () => {
  const SHOWN = 20;
  const BEFORE = 40; // characters of an excerpt, before its first word and from there
  const AROUND = 200;
  const SATURATION = 1.2; // BM25's k₁ and b
  const SHORTNESS = 0.75;
  const TITLE = 2;
  const PATH = 1; // of each title above
  const UNSHOWN = 0.5; // a word of the code, however often it stands there
  const PAGE = 0.5; // of the rank of a section's page
  const TERM = 0.5; // an entry of the glossary is short, and the sections explain more
  const OTHER = 0.8; // a page that is no chapter: it uses what a chapter explains
  const CHAPTERS = "notebooks/";
  const GLOSSARY = "book/glossary.html#term-";
  const COMMON = new Set(
    `a about am an and any are as at be been but by can could did do does for from had has
      have how i if in into is it its me my of on or our should so than that the their them then there
      these they this to was we were what when where which who why will with would you your`.split(
      /\s+/,
    ),
  );
  const WORD = /[\p{L}\p{N}]+/gu;

  // A word without its endings: clips, clipped and clipping are clip
  const stemmed = new Map();
  function stem(word) {
    if (!stemmed.has(word)) stemmed.set(word, cut(word.toLowerCase()));
    return stemmed.get(word);
  }
  const cut = (word) =>
    word
      .replace(/ie(?=s$)/, "y")
      .replace(/(?<=..)(?<![sui])s$/, "")
      .replace(
        /(?<=...)(?:i[sz]ation|[ai]tion|ion|ator|ing|ed|er|or|ity|ive|able|ment|ly|al|e|y|i)$/,
        "",
      )
      .replace(/([^aeiouls])\1$/, "$1");

  const stems = (text) =>
    (text.toLowerCase().match(WORD) ?? []).filter((word) => !COMMON.has(word)).map(stem);

  const newBag = () => ({ counts: new Map(), length: 0 });

  // A section or a page as a bag of words: how often each stem stands in it, and its length
  function fill(bag, words, weight) {
    for (const word of words) bag.counts.set(word, (bag.counts.get(word) ?? 0) + weight);
    bag.length += weight * words.length;
  }

  // How many of these bags have a word, and a function: the score of a bag for some words
  function ranking(bags) {
    const having = new Map();
    for (const { counts } of bags)
      for (const word of counts.keys()) having.set(word, (having.get(word) ?? 0) + 1);
    const average = bags.reduce((sum, { length }) => sum + length, 0) / bags.length;
    const rarity = (n) => Math.log(1 + (bags.length - n + 0.5) / (n + 0.5));
    function score({ counts, length }, words) {
      const slack = SATURATION * (1 - SHORTNESS + (SHORTNESS * length) / average);
      const scores = words.map((word) => {
        const count = counts.get(word);
        return count ? (rarity(having.get(word)) * count) / (count + slack) : 0;
      });
      const share = scores.filter((one) => one > 0).length / (words.length || 1);
      return share * scores.reduce((a, b) => a + b, 0);
    }
    return { having, score };
  }

  // Whether two words differ in one letter, or in the order of two
  function isTypo(word, other) {
    let start = 0;
    while (start < word.length && word[start] === other[start]) start++;
    const [a, b] = [word.slice(start), other.slice(start)];
    const [rest, otherRest] = [a.slice(1), b.slice(1)];
    const isSwapped = rest && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
    return isSwapped || rest === otherRest || rest === b || a === otherRest;
  }

  // What searches these sections: [address, titles, text, words that no excerpt shows]
  function newSearch(sections) {
    const pages = {};
    const all = sections.map((section) => {
      const [address, titles, text, unshown] = section;
      const isTerm = address.startsWith(GLOSSARY);
      const name = isTerm ? address : address.split("#")[0];
      pages[name] ??= newBag();
      const page = pages[name];
      const bag = newBag();
      const parts = [
        [stems(text), 1],
        [stems(titles.at(-1)), TITLE],
        [stems(titles.slice(0, -1).join(" ")), PATH],
        [[...new Set(stems(unshown))], UNSHOWN],
      ];
      for (const part of parts) for (const target of [bag, page]) fill(target, ...part);
      return { section, bag, page, weight: isTerm ? TERM : name.startsWith(CHAPTERS) ? 1 : OTHER };
    });
    const ofSections = ranking(all.map(({ bag }) => bag));
    const ofPages = ranking(Object.values(pages));
    const vocabulary = [...ofSections.having.keys()];
    const commonest = (words) =>
      words.sort((a, b) => ofSections.having.get(b) - ofSections.having.get(a));

    // The words of the sections that are meant: this one, those that begin so, or one with a typo
    function meant(word) {
      if (ofSections.having.has(word)) return [word];
      const longer = vocabulary.filter((other) => other.startsWith(word));
      if (longer.length || word.length < 4) return commonest(longer).slice(0, 5);
      return commonest(vocabulary.filter((other) => isTypo(word, other))).slice(0, 1);
    }

    return function search(question) {
      const words = [...new Set(stems(question).flatMap(meant))];
      const results = all.map(({ section, bag, page, weight }) => {
        const score = ofSections.score(bag, words);
        return { section, score: score && weight * (score + PAGE * ofPages.score(page, words)) };
      });
      const found = results.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
      return { words, sections: found.map(({ section }) => section) };
    };
  }

  // The part of a text in which most of the words are
  function excerpt(text, words) {
    const places = [...text.matchAll(WORD)].filter(([word]) => words.includes(stem(word)));
    const within = (from, to) => places.filter(({ index }) => index >= from && index < to);
    const variety = ({ index }) =>
      new Set(within(index, index + AROUND).map(([word]) => stem(word))).size;
    const best = places.reduce((a, b) => (variety(b) > variety(a) ? b : a), places[0]);
    const first = best?.index ?? 0;
    const start = first > BEFORE ? text.indexOf(" ", first - BEFORE) + 1 : 0;
    const end = text.length > first + AROUND ? text.lastIndexOf(" ", first + AROUND) : text.length;
    return { first, start, end, places: within(start, end) };
  }

  // The browser marks the excerpt's first words on the page, if it can
  function fragment(text, { first, places }) {
    if (!places.length || !("fragmentDirective" in document)) return "";
    const phrase = text.slice(first).split(" ", 3).join(" ");
    return `:~:text=${encodeURIComponent(phrase).replaceAll("-", "%2D")}`;
  }

  function item([address, titles, text], words) {
    const shown = excerpt(text, words);
    const parts = [];
    let at = shown.start;
    for (const { 0: word, index } of shown.places) {
      parts.push(text.slice(at, index), course.el("mark", word));
      at = index + word.length;
    }
    const rest = text.slice(at, shown.end) + (shown.end < text.length ? " …" : "");
    const href = address + fragment(text, shown);
    return course.el(
      "li",
      course.el("a", { href }, titles.at(-1)),
      course.el("span.course-search-path", titles.slice(0, -1).join(" › ")),
      course.el("p", shown.start ? "… " : "", parts, rest),
    );
  }

  function show(search, question, status, list) {
    const { words, sections } = search(question);
    const results = sections.length === 1 ? "1 result" : `${sections.length} results`;
    const best = sections.length > SHOWN ? `; below are the best ${SHOWN}` : "";
    status.textContent = question.trim() ? results + best : "";
    list.replaceChildren(...sections.slice(0, SHOWN).map((section) => item(section, words)));
  }

  // Once the sections are there
  function start() {
    const field = document.querySelector(".bd-search-container input[name=q]");
    if (!field) return;
    const status = course.el("p", { role: "status" });
    const list = course.el("ol.course-search");
    document.querySelector("#search-results").replaceChildren(status, list);
    const search = newSearch(course.sections);
    let waiting = 0;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => show(search, field.value, status, list), 150);
    });
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    show(search, field.value, status, list);
  }

  if (course.isPage) addEventListener("DOMContentLoaded", start);
  return { newSearch };
});
