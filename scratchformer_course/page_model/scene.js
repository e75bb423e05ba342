// A text as a scene of a play: the lines as they are, speakers' names in bold, what was given to the
// model shaded. And what a reader does with it: copies it, or shares its address.

course.define("scene", () => {
  const { el, button, scrolling } = course.live;
  // "ROMEO:" where a line begins, or "First Citizen:" where it is all of the line
  const NAME = /^([A-Z][A-Z' -]*[A-Z]:|([A-Z][\w'.-]* ?){1,4}:(?=\n?$))/;
  const LONGEST = 300; // characters of a text in an address

  function drawn([given, written]) {
    let left = given.length; // characters of the given text that are still to come
    const shaded = (part) => {
      const cut = Math.max(0, Math.min(left, part.length));
      left -= part.length;
      return [cut ? el("mark", part.slice(0, cut)) : "", part.slice(cut)];
    };
    return (given + written).split(/(?<=\n)/).flatMap((line) => {
      const speaker = NAME.exec(line)?.[0] ?? "";
      return [speaker ? el("b", shaded(speaker)) : "", ...shaded(line.slice(speaker.length))];
    });
  }

  // A box of fixed height. show(…[given, written]) fills it, plain() gives its text
  function newScene(name) {
    const element = scrolling("sx-text sx-scene", name);
    function show(...turns) {
      element.replaceChildren(...turns.flatMap(drawn));
      element.scrollTop = element.scrollHeight;
    }
    return { element, show, plain: () => element.textContent };
  }

  // ---- the address ----

  // Where others find this page: nowhere, if it was opened from disk
  const address = () => (/^http/.test(location.protocol) ? location.href : "");
  // A notebook's address is not ours to read or to change
  const hasAddress = (host) =>
    host.closest(".bd-article")?.querySelector(`[data-figure=${host.dataset.figure}]`) === host;

  // What the address asks for, as texts by name: what comes after #, which no server is sent
  function asked() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(
      [...parameters].map(([name, text]) => [name, text.slice(0, LONGEST)]),
    );
  }
  function setAddress(texts) {
    const all = Object.entries(texts).map(([name, text]) => [name, String(text).slice(0, LONGEST)]);
    try {
      const ending = all.length
        ? `#${new URLSearchParams(all)}`
        : location.pathname + location.search;
      history.replaceState(history.state, "", ending);
    } catch {
      // a page without an address of its own, such as one in a frame
    }
  }

  // ---- copying and sharing ----

  // A button that copies text(), or the picture that picture() promises; it says for a moment what
  // became of it
  function copyButton(name, text, picture = /** @type {any} */ (null)) {
    const copier = button(name, async () => {
      copier.style.minWidth = `${copier.offsetWidth}px`; // or those beside it would move
      let done = "Copied";
      try {
        const clipboard = navigator.clipboard;
        if (picture) await clipboard.write([new ClipboardItem({ "image/png": picture() })]);
        else await clipboard.writeText(text());
      } catch {
        done = "Not allowed here";
      }
      copier.textContent = done;
      setTimeout(() => {
        copier.textContent = name;
      }, 2000);
    });
    copier.setAttribute("aria-live", "polite");
    return copier;
  }
  // A button for the system's own ways of sharing, where it has some; what() gives what is shared
  function shareButton(what) {
    const share = async () => navigator.share(await what()).catch(() => {}); // given up
    return typeof navigator.share === "function" ? button("Share …", share) : null;
  }

  return { newScene, address, hasAddress, asked, setAddress, copyButton, shareButton };
});
