// What can be done with a trained model: see why it writes that, break it, share it; talk to it, look
// inside, save it for Python.

course.define("result", () => {
  const { el, newId, format, grouped, button, note, table, fold, check, newStatus } = course.live;
  const { address, copyButton, shareButton } = course.scene;
  const FILE = "trained-in-a-tab.safetensors";
  const PICTURE = "trained-in-a-tab.png";
  const VIEWS = ["attention", "next", "switches", "lens"];

  // A button that opens a look inside a model, and closes it again. prompt() is what it reads first
  function newLook(describe, prompt, attempt) {
    const views = el("div");
    const toggle = button("Look inside", () => attempt(press));
    function press() {
      if (views.firstChild) views.replaceChildren();
      else {
        const hash = `own-${newId("model")}`;
        course.descriptions[hash] = describe();
        const options = { prompt: prompt(), text: null, views: VIEWS, seed: 1 };
        const host = el("div", { "data-models": hash });
        views.replaceChildren(course.figures.explorer(options, host));
      }
      toggle.textContent = views.firstChild ? "Close" : "Look inside";
    }
    return { toggle, views };
  }

  function download(blob, name) {
    const href = URL.createObjectURL(blob);
    el("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  // The picture of a run, and the ways to hand it on
  function showPicture(panel, canvas, run) {
    // a promise, asked for once: a share has to follow its press at once
    const blob = new Promise((resolve) => canvas.toBlob(resolve));
    async function shared() {
      const files = [new File([await blob], PICTURE, { type: "image/png" })];
      const url = link() || undefined;
      return navigator.canShare?.({ files, url }) ? { files, url } : { text: document.title, url };
    }
    let packed = ""; // the text
    const { box, element: agreed } = check("Put my text into the link", tell);
    box.disabled = true;
    const holds = () => ({ seed: 0, ...run.chosen, ...(box.checked && { text: packed }) });
    const link = () => address() && `${address().split("#")[0]}#${new URLSearchParams(holds())}`;
    const told = newStatus();
    function tell() {
      told.textContent = box.checked
        ? `The link holds your settings, the seed and your text, ${grouped(link().length)} characters in all. Whoever opens it can read the text, and train the model again.`
        : "The link holds your settings and the seed, neither your text nor your model.";
    }
    tell();
    course.link.pack(run.text).then((all) => {
      packed = all;
      box.disabled = all.length > course.link.MOST;
      if (box.disabled) told.textContent += " Your text is too long for a link.";
    });
    panel.replaceChildren(
      el("div.sx-bar.sx-use", [
        copyButton("Copy image", link, () => blob),
        button("Save image", () => blob.then((data) => download(data, PICTURE))),
        address() ? copyButton("Copy a link to this run", link) : null,
        shareButton(shared),
      ]),
      ...(address() ? [run.isOwnText ? agreed : "", told] : []),
      canvas,
    );
    panel.scrollIntoView({ block: "nearest" });
  }

  const card = (tag, attributes, name, text) =>
    el(tag, attributes, el("b", name), el("span", text));
  const press = (onclick) => ({ type: "button", onclick });

  // `why` is the address of the chapter that the first card opens, breakIt() what the second does
  function newResult(why, breakIt) {
    const element = el("div");
    // What may fail, such as a weight too large for float16, is said at the end
    function attempt(action) {
      try {
        action();
      } catch (error) {
        element.append(note(`That did not work: ${error.message}.`));
      }
    }

    // A run, then what it scored beside `rivals`. Its description is null if float16 cannot hold its
    // weights
    function show(run, rivals, how, draw) {
      const { config, weights, characters, loss, seconds, given, description } = run;
      const model = [config, weights, characters];
      const talk = description && course.talk.newTalk(description, given);
      const describe = () => course.export.describe(...model);
      const look = newLook(describe, () => talk?.line() || given, attempt);
      const save = () => download(new Blob([course.export.safetensors(...model)]), FILE);
      const panel = el("div.sx-picture");
      const share = () => attempt(() => showPicture(panel, draw(), run));
      const begins =
        "Build such a model yourself, line by line. Chapter 01 begins where all of them begin: text becomes numbers.";
      const accidents = "Train too fast, too briefly, or without its best ideas, and compare.";
      const mine = ["your GPT", format(seconds, 1), format(loss)];
      element.replaceChildren(
        el("div.sx-next-steps", [
          why ? card("a", { href: why }, "Why did it write that?", begins) : null,
          card("button", press(breakIt), "Break it", accidents),
          card("button", press(share), "Share", "A picture of your run, with what it wrote."),
        ]),
        panel,
        talk?.element ?? "",
        el("div.sx-bar.sx-use", look.toggle, button("Save for Python", save)),
        look.views,
        fold("The run in numbers", [
          table(["", "training, s", "loss"], [mine, ...rivals]),
          note(how),
          note(
            "The file opens in Python with this course’s package: " +
              "from scratchformer_course.page_model.speedrun import SpeedrunGPT, then " +
              `SpeedrunGPT.from_pretrained("${FILE}").`,
          ),
        ]),
      );
    }
    return { element, show, clear: () => element.replaceChildren() };
  }

  return { newResult };
});
