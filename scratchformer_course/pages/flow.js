// A text on its way through a model: the reader goes from stage to stage, by buttons or keys. It is a
// fixed prompt, drawn by Python, until the live model of the page has read another: then that one.
//
// Needs: flow_drawing.js

course.define("flow", () => {
  const { el, button } = course.live;
  const filled = (text, values) => text.replace(/{(\w+)}/g, (_, name) => String(values[name]));
  const inItalics = (text) => text.split("*").map((part, i) => (i % 2 ? el("em", part) : part));

  function build({ prompt, heads, opening, sentences, left_out, exercises, colours }, host) {
    const flow = host.querySelector(".flow");
    const drawings = [...flow.querySelectorAll("svg")].map((svg) => ({
      svg,
      layout: JSON.parse(svg.dataset.layout),
      parts: [...svg.querySelectorAll("a:has(.flow-band)")],
    }));
    const texts = [...flow.querySelectorAll("li")]; // a name, a sentence, and whose the stage is
    const [all, last] = [-1, texts.length - 1];
    const stageText = el("p.flow-now", { "aria-live": "polite" });
    let at = all; // the stage that is told; all: the whole way
    let start = inItalics(filled(opening, { text: prompt }));

    function show() {
      const isYours = (i) => course.progress?.load().has(exercises[i]);
      texts.forEach((text, i) => {
        const whose = ` Yours: you have written it in exercise ${exercises[i]}.`;
        text.lastChild.textContent = isYours(i) ? whose : "";
      });
      stageText.replaceChildren(...(at === all ? start : texts[at].cloneNode(true).childNodes));
      flow.classList.toggle("flow-ended", at === all || at === last);
      for (const { parts } of drawings) {
        parts.forEach((part, i) => {
          part.querySelector(".flow-drawn").style.opacity = at === all || i <= at ? 1 : 0.13;
          part.classList.toggle("flow-here", i === at);
          part.classList.toggle("flow-yours", Boolean(isYours(i)));
        });
      }
    }

    // From stage to stage, and past the last one to the whole; on a phone the picture is taller than
    // the window, and what is told stands at its foot
    function go(i) {
      at = ((i + 1 + texts.length + 1) % (texts.length + 1)) - 1;
      show();
      const { parts } = drawings.find(({ svg }) => svg.checkVisibility()) ?? drawings[0];
      const part = parts[Math.max(0, at)].querySelector(".flow-band").getBoundingClientRect();
      const foot = stageText.parentElement.parentElement.getBoundingClientRect().top;
      if (part.bottom > foot + 1) scrollBy(0, part.bottom - foot);
      else if (part.top < 0) scrollBy(0, part.top - 70);
    }

    // What the live model has read
    /** @type {(event: any) => void} */
    function take({ detail }) {
      if (detail.isGiven && flow.dataset.is !== "own") return;
      flow.dataset.is = "own";
      const n = course.flowDrawing.measure(detail, heads, drawings[0].layout.lanes);
      const values = course.flowDrawing.wordsOf(n, detail.ids.length);
      values.left_out = values.read > values.drawn ? filled(left_out, values) : "";
      start = inItalics(filled(opening, values));
      for (const [i, text] of texts.entries())
        text.childNodes[1].textContent = ` ${filled(sentences[i], values)}`;
      for (const { svg, layout, parts } of drawings) {
        course.flowDrawing.draw(n, layout, colours).forEach((shapes, i) => {
          parts[i].querySelector(".flow-drawn").innerHTML = shapes;
        });
        svg.setAttribute("aria-label", `From the text ${values.text} to its next character`);
      }
      show();
    }

    const buttons = [button("Back", () => go(at - 1)), button("Next", () => go(at + 1))];
    flow.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
      if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      go(to);
    });
    flow.tabIndex = 0;
    flow.setAttribute("role", "group");
    flow.setAttribute("aria-label", "To the next character: arrow keys go from stage to stage");
    flow.querySelector(".flow-said").append(stageText);
    flow.querySelector(".flow-controls").replaceChildren(...buttons);
    document.addEventListener("course-prompt", take);
    for (const event of ["load", "course-progress"]) addEventListener(event, show);
    course.store.follow(show);
    show();
    return flow;
  }

  course.figures.flow = build;
});
