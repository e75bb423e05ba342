// A certificate of a reader's ticks, on the welcome page: a picture, and a line of text in the form of
// scratchformer_course/blank/certificate.py, which checks its hash: `python course.py climb --verify`.
// It proves that the line is as it was written, not who did what it says.

course.define("certificate", () => {
  const { el } = course;
  const LETTERS = 16; // of a hash
  const PROVES =
    ". The hash at the end of the line proves that the line was not changed. It does not prove who" +
    " did what it says.";
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  function hashOf(text) {
    const hash = course.sha256.newSha256();
    hash.update(new TextEncoder().encode(text));
    return hash.hex().slice(0, LETTERS);
  }

  // The parts of a line but its hash, by what stands for them in the picture
  function partsOf(name, day, edition, done, sums) {
    const written = `${sums.written} of ${plural(sums.allExercises, "exercise")} written`;
    return {
      NAME: name.replaceAll("|", " ").split(/\s+/).filter(Boolean).join(" "),
      DAY: day,
      CHAPTERS: `${sums.chapters} of ${plural(sums.allChapters, "chapter")}`,
      EXERCISES: `${written} and ${sums.workedOut} worked out`,
      COURSE: edition,
      TICKS: `ticks ${hashOf([...done].sort().join(" "))}`,
    };
  }

  function lineOf({ NAME, DAY, CHAPTERS, EXERCISES, COURSE, TICKS }) {
    const line = [NAME, DAY, `${CHAPTERS}, ${EXERCISES}`, COURSE, TICKS].join(" | ");
    return `${line} | ${hashOf(line)}`;
  }

  function pictureOf(template, parts) {
    const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
    const escaped = (text) => text.replace(/[&<>"]/g, (letter) => escapes[letter]);
    return template.replace(/\b[A-Z]{3,9}\b/g, (word) => escaped(parts[word] ?? word));
  }

  function onWelcome(host, edition, template) {
    const input = el("input", { type: "text", maxlength: 60, autocomplete: "name" });
    const label = el("label", "Your name: ", input);
    const send = el("button.course-button", { type: "submit" }, "Make a certificate");
    const shown = el("div", { role: "status" });
    host.after(el("form.course-certificate", { onsubmit: make }, label, " ", send), shown);

    function make(event) {
      event.preventDefault();
      const { count, load } = course.progress;
      const cards = [...document.querySelectorAll("[data-chapter]")];
      const chapters = cards.map(({ dataset }) => ({
        number: dataset.chapter,
        exercises: dataset.exercises.split(" ").filter(Boolean),
      }));
      const day = new Date().toLocaleDateString("sv-SE"); // 2026-11-29
      const parts = partsOf(input.value, day, edition, load(), count(chapters, load()));
      const fault = load().size ? "Write your name first." : "Nothing is ticked yet.";
      if (!parts.NAME || !load().size) return shown.replaceChildren(el("p", fault));
      const [line, picture] = [lineOf(parts), pictureOf(template, parts)];
      const file = (name, type, text) =>
        el("a", { download: name, href: `data:${type},${encodeURIComponent(text)}` }, name);
      const image = file("certificate.svg", "image/svg+xml", picture);
      const text = file("certificate.txt", "text/plain", `${line}\n`);
      shown.replaceChildren(
        el("img", { src: image.href, alt: `A certificate: ${line}`, width: 480 }),
        el("p", el("code.course-line-of-text", line)),
        el("p", "Keep ", image, " and ", text, PROVES),
      );
    }
  }

  if (course.isPage) {
    const { dataset } = /** @type {HTMLElement} */ (document.currentScript);
    onWelcome(document.getElementById("course-progress"), dataset.course, dataset.picture);
  }
  return { partsOf, lineOf, pictureOf };
});
