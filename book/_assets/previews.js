// A term of the glossary shows its first sentence, which the build writes at each link (previews_ext.py),
// when it is pointed at, has the focus, or is tapped; a second tap follows the link. Escape closes.

course.define("previews", () => {
  const tooltip = course.el("div.course-preview", { role: "tooltip", id: "course-preview" });
  tooltip.hidden = true;
  document.body.append(tooltip);
  let currentLink = null;
  const linkOf = ({ target }) => target.closest?.("a[data-preview]");

  function show(link) {
    if (link === currentLink) return;
    currentLink?.removeAttribute("aria-describedby");
    currentLink = link;
    tooltip.hidden = !link;
    if (!link) return;
    link.setAttribute("aria-describedby", tooltip.id);
    tooltip.textContent = link.dataset.preview;
    const { left, top, bottom } = link.getBoundingClientRect();
    const above = bottom + tooltip.offsetHeight > innerHeight ? top - tooltip.offsetHeight : bottom;
    tooltip.style.top = `${above + scrollY}px`;
    tooltip.style.left = `${Math.max(8, Math.min(left, document.body.clientWidth - tooltip.offsetWidth - 8))}px`;
  }

  const update = (event) => event.target !== tooltip && show(linkOf(event) ?? null);
  document.addEventListener("focusin", update);
  // not "mouseover", which a browser sends for a finger, too, and for a mouse that lies still
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") update(event);
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") show(null);
  });
  let linkBeforeTap = null; // what was shown when a finger came
  document.addEventListener("pointerdown", (event) => {
    linkBeforeTap = event.pointerType === "touch" ? currentLink : linkOf(event);
    if (event.pointerType === "touch" && event.target !== tooltip) show(linkOf(event) ?? null);
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (link && event.detail && linkBeforeTap !== link) event.preventDefault();
  });
});
