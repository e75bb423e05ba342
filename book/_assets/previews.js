// A term of the glossary shows its first sentence, which the build writes at each link (previews_ext.py),
// when it is pointed at, has the focus, or is tapped; a second tap follows the link. Escape closes.

course.define("previews", () => {
  const box = course.el("div.course-preview", { role: "tooltip", id: "course-preview" });
  box.hidden = true;
  document.body.append(box);
  let shown = null;
  const linkOf = ({ target }) => target.closest?.("a[data-preview]");

  function show(link) {
    if (link === shown) return;
    shown?.removeAttribute("aria-describedby");
    shown = link;
    box.hidden = !link;
    if (!link) return;
    link.setAttribute("aria-describedby", box.id);
    box.textContent = link.dataset.preview;
    const { left, top, bottom } = link.getBoundingClientRect();
    const above = bottom + box.offsetHeight > innerHeight ? top - box.offsetHeight : bottom;
    box.style.top = `${above + scrollY}px`;
    box.style.left = `${Math.max(8, Math.min(left, document.body.clientWidth - box.offsetWidth - 8))}px`;
  }

  const follow = (event) => event.target !== box && show(linkOf(event) ?? null);
  document.addEventListener("focusin", follow);
  // not "mouseover", which a browser sends for a finger, too, and for a mouse that lies still
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") follow(event);
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") show(null);
  });
  let before = null; // what was shown when a finger came
  document.addEventListener("pointerdown", (event) => {
    before = event.pointerType === "touch" ? shown : linkOf(event);
    if (event.pointerType === "touch" && event.target !== box) show(linkOf(event) ?? null);
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (link && event.detail && before !== link) event.preventDefault();
  });
});
