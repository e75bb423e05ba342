// What can be done with a trained model: look inside, save it for Python, and have it again when
// the page is opened the next time.
"use strict";

globalThis.scratchformerResult ??= (() => {
  const { el, newId, format, button, title, note, table } = scratchformerLive;
  const KEPT = "scratchformer-trained"; // where the browser keeps the last trained model
  const FILE = "trained-in-a-tab.safetensors";
  const VIEWS = ["attention", "next", "switches", "lens"];

  // ---- the browser's store, if there is one --------------------------------------------------

  function forget() {
    try {
      localStorage.removeItem(KEPT);
    } catch {
      // nothing was kept
    }
  }
  // Whether the model is kept now; it is not where that is forbidden, or the model too large
  function keep(description) {
    try {
      localStorage.setItem(KEPT, JSON.stringify(description));
      return true;
    } catch {
      forget();
      return false;
    }
  }
  function kept() {
    try {
      const found = JSON.parse(localStorage.getItem(KEPT));
      scratchformerModel.load(found); // throws if it is no model
      return Number.isFinite(found.loss) ? found : null;
    } catch {
      return null;
    }
  }

  // ---- using a model -------------------------------------------------------------------------

  function open(place, description, prompt) {
    const hash = `own-${newId("model")}`;
    scratchformerDescriptions[hash] = description;
    const host = { dataset: { models: hash } };
    const options = { prompt, text: null, views: VIEWS, seed: 1 };
    place.replaceChildren(scratchformerLive.figures.explorer(options, host));
  }

  function download(bytes) {
    const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    el("a", { href: address, download: FILE }).click();
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

    // What the model scored beside `rivals`, and its buttons; `description` is null if float16
    // cannot hold its weights
    function show(
      { config, weights, characters, loss, seconds, given, description },
      rivals,
      told,
    ) {
      const views = el("div");
      const model = [config, weights, characters];
      const look = () => open(views, scratchformerExport.describe(...model), given);
      const save = () => download(scratchformerExport.safetensors(...model));
      const rows = [["this tab", format(seconds, 1), format(loss)], ...rivals];
      element.replaceChildren(
        title("The trained model"),
        table(["", "training, s", "validation"], rows),
        note(told),
        el("div", { class: "sx-bar" }, [
          button("Look inside", () => attempt(look)),
          button("Save for Python", save),
        ]),
        note(
          "The file opens in Python with this course’s package: " +
            "from scratchformer_course.ch17_speedrun.model import SpeedrunGPT, then " +
            `SpeedrunGPT.from_pretrained("${FILE}").`,
        ),
        views,
      );
      if (!description) forget();
      else if (!keep({ ...description, loss, given })) {
        say("This browser does not keep this model: save the file to have it again.");
      }
    }

    function showKept(old) {
      const views = el("div");
      const prompt = old.given ?? old.tokenizer.characters.at(-1);
      element.append(
        note(`This browser keeps the model that you trained last: loss ${format(old.loss)}.`),
        el("div", { class: "sx-bar" }, [
          button("Look inside", () => open(views, old, prompt)),
          button("Forget it", () => {
            forget();
            clear();
          }),
        ]),
        views,
      );
    }
    const clear = () => element.replaceChildren();

    const old = kept();
    if (old) showKept(old);
    return { element, show, clear };
  }

  return { newResult };
})();
