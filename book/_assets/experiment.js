// A button beside each experiment of a page: it brings the page's first live figure there, sets it
// up, and so shows the effect. A page holds an empty element for each, with what to press in turn:
//
//   <div class="course-do" data-press="Switch off | All on again | positions"></div>
//
// "Prompt = To be" writes into a field.

course.define("experiment", () => {
  const { el } = course;
  const figure = document.querySelector(".live-figure");
  const boxes = document.querySelectorAll(".course-do");
  if (!figure || !boxes.length) return;

  // Where the figure stood, while it is away
  const bringBack = () => {
    placeholder.after(figure);
    placeholder.hidden = true;
    figure.querySelector("button, textarea")?.focus();
  };
  const placeholder = el("p.course-do-home", { hidden: "" }, [
    "The figure stands at one of the experiments below. ",
    course.button("Bring it back", bringBack),
  ]);
  figure.before(placeholder);

  // A button or a box of the figure, by its name, or a field and what to write into it
  function press(step) {
    const [name, text] = step.split(" = ");
    const all = [...figure.querySelectorAll("button, label")];
    const hasName = (control) =>
      (control.getAttribute("aria-label") ?? control.textContent).trim() === name;
    const control = all.find(hasName);
    if (text === undefined) {
      control.click();
      return;
    }
    const field = figure.querySelector(`#${control.htmlFor}`);
    field.value = text;
    field.dispatchEvent(new Event("input"));
  }

  function build(box) {
    const steps = box.dataset.press.split(" | ");
    const button = course.button("Do it", onclick);
    const status = el("span", { role: "status" });
    box.append(button, status);
    function onclick() {
      if (figure.dataset.live !== "yes") {
        status.textContent = "The model is still on its way. Press again in a moment.";
        return;
      }
      box.after(figure);
      placeholder.hidden = false;
      for (const step of steps) press(step);
      status.textContent = `Pressed in the figure below: ${steps.join(", ")}.`;
      box.closest("section").scrollIntoView();
      button.focus({ preventScroll: true });
    }
  }
  boxes.forEach(build);
});
