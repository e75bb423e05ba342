// What can be done with a trained model: talk to it, look inside, save it for Python, share a
// picture of the run, and have it again when the page is opened the next time.

course.define("result", () => {
  const { store } = course;
  const { el, newId, format, button, title, note, table } = course.live;
  const { newTalk } = course.talk;
  const KEPT = "scratchformer-trained"; // where the browser keeps the last trained model
  const FILE = "trained-in-a-tab.safetensors";
  const PICTURE = "trained-in-a-tab.png";
  const VIEWS = ["attention", "next", "switches", "lens"];

  // ---- the browser's store, if there is one --------------------------------------------------

  const forget = () => store.keep(KEPT, null);
  // Whether the model is kept now; it is not where that is forbidden, or the model too large
  const keep = (description) => store.keep(KEPT, JSON.stringify(description)) || !forget();
  function kept() {
    try {
      const found = store.recallObject(KEPT);
      course.model.load(found); // throws if it is no model
      return Number.isFinite(found.loss) ? found : null;
    } catch {
      return null;
    }
  }

  // ---- using a model -------------------------------------------------------------------------

  // A button that opens a look inside the model, and closes it again. prompt() is what it reads first
  function newLook(describe, prompt, attempt = (action) => action()) {
    const views = el("div");
    const toggle = button("Look inside", () => attempt(press));
    function press() {
      if (views.firstChild) views.replaceChildren();
      else open(views, describe(), prompt());
      toggle.textContent = views.firstChild ? "Close" : "Look inside";
    }
    return { toggle, views };
  }

  function open(place, description, prompt) {
    const hash = `own-${newId("model")}`;
    course.descriptions[hash] = description;
    const host = el("div", { "data-models": hash });
    const options = { prompt, text: null, views: VIEWS, seed: 1 };
    place.replaceChildren(course.figures.explorer(options, host));
  }

  function download(blob, name) {
    const address = URL.createObjectURL(blob);
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // ---- on the page ---------------------------------------------------------------------------

  function newResult() {
    const element = el("div");
    const say = (words) => element.append(note(words));
    // What may fail, such as a weight too large for float16, is said below the table
    function attempt(action) {
      try {
        action();
      } catch (error) {
        say(`That did not work: ${error.message}.`);
      }
    }

    // Talk to it, look inside, save it, share its `picture`; then what it scored beside `rivals`.
    // `description` is null if float16 cannot hold its weights
    function show(
      { config, weights, characters, loss, seconds, given, description },
      rivals,
      how,
      draw,
    ) {
      const image = el("div.sx-picture");
      const model = [config, weights, characters];
      const talk = description && newTalk(description, given);
      const describe = () => course.export.describe(...model);
      const look = newLook(describe, () => talk?.line() || given, attempt);
      const bytes = () => course.export.safetensors(...model);
      const save = () => download(new Blob([bytes()], { type: "application/octet-stream" }), FILE);
      const share = () => {
        const canvas = draw();
        image.replaceChildren(canvas);
        canvas.toBlob((blob) => download(blob, PICTURE));
      };
      const rows = [["this tab", format(seconds, 1), format(loss)], ...rivals];
      element.replaceChildren(
        talk?.element ?? "",
        el("div.sx-bar.sx-use", [
          look.toggle,
          button("Save for Python", save),
          button("Picture of this run", () => attempt(share)),
        ]),
        image,
        look.views,
        title("The run in numbers"),
        table(["", "training, s", "nats"], rows),
        note(how),
        note(
          "The file opens in Python with this course’s package: " +
            "from scratchformer_course.page_model.speedrun import SpeedrunGPT, then " +
            `SpeedrunGPT.from_pretrained("${FILE}").`,
        ),
      );
      if (!description) forget();
      else if (!keep({ ...description, loss, given })) {
        say("This browser does not keep this model: save the file to have it again.");
      }
    }

    function showKept(old) {
      const talk = newTalk(old, old.given ?? old.tokenizer.characters.at(-1));
      const look = newLook(() => old, talk.line);
      element.append(
        note(`This browser keeps the model that you trained last: loss ${format(old.loss)}.`),
        talk.element,
        el("div.sx-bar", [
          look.toggle,
          button("Forget it", () => {
            forget();
            clear();
          }),
        ]),
        look.views,
      );
    }
    const clear = () => element.replaceChildren();

    const old = kept();
    if (old) showKept(old);
    return { element, show, clear };
  }

  return { newResult };
});
