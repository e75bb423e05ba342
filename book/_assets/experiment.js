// A button beside each experiment of a page: it brings the page's first live figure there, sets it
// up, and so shows the effect. A page holds an empty element for each, with what to press in turn:
//
//   <div class="course-do" data-press="Switch off | All on again | positions"></div>
//
// "Prompt = To be" writes into a field.
"use strict";

(() => {
  const figure = document.querySelector(".live-figure");
  const boxes = document.querySelectorAll(".course-do");
  if (!figure || !boxes.length) return;

  function element(tag, text, attributes = {}) {
    const made = Object.assign(document.createElement(tag), { textContent: text });
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // Where the figure stood, while it is away
  const home = element("p", "The figure stands at one of the experiments below. ", { hidden: "" });
  const back = element("button", "Bring it back", { type: "button" });
  home.className = "course-do-home";
  home.append(back);
  figure.before(home);
  back.addEventListener("click", () => {
    home.after(figure);
    home.hidden = true;
    figure.querySelector("button, textarea")?.focus();
  });

  // A button or a box of the figure, by its name, or a field and what to write into it
  function press(step) {
    const [name, text] = step.split(" = ");
    const all = [...figure.querySelectorAll("button, label")];
    const named = (one) => (one.getAttribute("aria-label") ?? one.textContent).trim() === name;
    const found = all.find(named);
    if (text === undefined) {
      found.click();
      return;
    }
    const field = document.getElementById(found.htmlFor);
    field.value = text;
    field.dispatchEvent(new Event("input"));
  }

  for (const box of boxes) {
    const steps = box.dataset.press.split(" | ");
    const button = element("button", "Do it", { type: "button" });
    const status = element("span", "", { role: "status" });
    box.append(button, status);
    button.addEventListener("click", () => {
      if (figure.dataset.live !== "yes") {
        status.textContent = "The model is still on its way. Press again in a moment.";
        return;
      }
      box.after(figure);
      home.hidden = false;
      for (const step of steps) press(step);
      status.textContent = `Pressed in the figure below: ${steps.join(", ")}.`;
      box.closest("section").scrollIntoView();
      button.focus({ preventScroll: true });
    });
  }
})();
