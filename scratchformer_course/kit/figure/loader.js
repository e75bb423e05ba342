// How the scripts of the course find each other: in a page, in Node.js and in a worker.
//
// A page that is opened from disk loads no modules. So a script is one function, which gives what
// others need of it, and stands under one name:
//
//   course.define("counts", () => { …; return { judge }; });  // from now on course.counts.judge
//
// A page lists its scripts in the order in which they need each other, this one first. A notebook may
// run a script twice: the first holds. Node.js loads the same files (tests/node.py), and the program
// of a worker is made of the same functions (`program`): what they need they find in `course`.
"use strict";

globalThis.course ??= (() => {
  const bodies = {};

  function define(name, body) {
    if (name in bodies) return;
    course[name] = body();
    bodies[name] = body;
  }

  // The text of a program in which these parts are defined, in this order
  function program(...names) {
    const lines = names.map((name) => `course.${name} = (${bodies[name]})();`);
    return ['"use strict";', "globalThis.course = {};", ...lines].join("\n");
  }

  // An element: el("p.sx-note", { id }, "text", […]). The tag is of HTML, or of SVG behind "svg:",
  // with its classes. Attributes and listeners ("onclick") may follow, then children
  function el(name, ...rest) {
    const [tag, ...classes] = name.split(".");
    const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
    const element = tag.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
      : document.createElement(tag);
    if (classes.length) element.classList.add(...classes);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(key, value);
    }
    element.append(...rest.flat(Infinity).filter((child) => child !== null));
    return element;
  }

  const button = (text, onclick, attributes = {}) =>
    el("button", { type: "button", onclick, ...attributes }, text);

  // What the browser keeps under a name, a text or null; it keeps nothing where that is forbidden
  function recall(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  }

  // What was kept as JSON, or null
  function recallObject(key) {
    try {
      return JSON.parse(recall(key) ?? "null");
    } catch {
      return null; // somebody else's
    }
  }

  // Whether it is kept; null forgets what was. A store may be full, or blocked
  function keep(key, text) {
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
      return true;
    } catch {
      return false;
    }
  }

  // Another tab may change what is kept, and a page may come back from the browser's cache
  function follow(show) {
    for (const event of ["storage", "pageshow"]) addEventListener(event, show);
  }

  const isPage = typeof document !== "undefined";
  const store = { recall, recallObject, keep, follow };
  // `figures` build live figures, by name; `descriptions` are of models and texts, by their hash
  const descriptions = {};
  function described(hash, what = "the model's weights") {
    if (!descriptions[hash]) throw new Error(`the page does not hold ${what}`);
    return descriptions[hash];
  }
  const elements = { el, button };
  const course = {
    define,
    program,
    isPage,
    ...elements,
    store,
    figures: {},
    descriptions,
    described,
  };
  return /** @type {Course} */ (/** @type {unknown} */ (course));
})();
