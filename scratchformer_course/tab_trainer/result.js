// What can be done with a trained model: see why it writes that, break it, share it; talk to it, look
// inside, save it for Python.

course.define("result", () => {
  const { el, newId, format, button, note, table, fold } = course.live;
  const { newTalk } = course.talk;
  const { address, copyButton, hasPictures, shareButton } = course.scene;
  const FILE = "trained-in-a-tab.safetensors";
  const PICTURE = "trained-in-a-tab.png";
  const VIEWS = ["attention", "next", "switches", "lens"];

  // A button that opens a look inside the model, and closes it again. prompt() is what it reads first
  function newLook(describe, prompt, attempt) {
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
    const href = URL.createObjectURL(blob);
    el("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  const card = (name, text, ...rest) => el(name, ...rest, el("b", text[0]), el("span", text[1]));

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

    // The picture of the run, and the ways to hand it on
    function newShare(draw) {
      const panel = el("div.sx-picture");
      let blob = null; // a promise, asked for once: a share has to follow its press at once
      function show() {
        const canvas = draw();
        blob = new Promise((then) => canvas.toBlob(then));
        const picture = async () => new File([await blob], PICTURE, { type: "image/png" });
        const shared = async () => {
          const files = [await picture()];
          const url = address() || undefined;
          return navigator.canShare?.({ files, url })
            ? { files, url }
            : { text: document.title, url };
        };
        const link = address() && copyButton("Copy a link to these settings", address);
        panel.replaceChildren(
          el("div.sx-bar.sx-use", [
            hasPictures() ? copyButton("Copy image", address, () => blob) : null,
            button("Save image", () => blob.then((data) => download(data, PICTURE))),
            link || null,
            shareButton(shared),
          ]),
          canvas,
          link ? note("The link holds neither your text nor your model.") : "",
        );
        panel.scrollIntoView({ block: "nearest" });
      }
      return { panel, show };
    }

    // A run, then what it scored beside `rivals`. Its description is null if float16 cannot hold its
    // weights
    function show(run, rivals, how, draw) {
      const { config, weights, characters, loss, seconds, given, description } = run;
      const model = [config, weights, characters];
      const talk = description && newTalk(description, given);
      const describe = () => course.export.describe(...model);
      const look = newLook(describe, () => talk?.line() || given, attempt);
      const bytes = () => course.export.safetensors(...model);
      const save = () => download(new Blob([bytes()], { type: "application/octet-stream" }), FILE);
      const share = newShare(draw);
      const cards = [
        [
          "Why did it write that?",
          "Build such a model yourself, line by line. Chapter 01 begins where all of them begin: text becomes numbers.",
        ],
        ["Break it", "Train too fast, too briefly, or without its best ideas, and compare."],
        ["Share", "A picture of your run, with what it wrote."],
      ];
      element.replaceChildren(
        el("div.sx-next-steps", [
          why ? card("a", cards[0], { href: why }) : null,
          card("button", cards[1], { type: "button", onclick: breakIt }),
          card("button", cards[2], { type: "button", onclick: () => attempt(share.show) }),
        ]),
        share.panel,
        talk?.element ?? "",
        el("div.sx-bar.sx-use", look.toggle, button("Save for Python", save)),
        look.views,
        fold("The run in numbers", [
          table(
            ["", "training, s", "loss"],
            [["your GPT", format(seconds, 1), format(loss)], ...rivals],
          ),
          note(how),
          note(
            "The file opens in Python with this course’s package: " +
              "from scratchformer_course.page_model.speedrun import SpeedrunGPT, then " +
              `SpeedrunGPT.from_pretrained("${FILE}").`,
          ),
        ]),
      );
    }
    const clear = () => element.replaceChildren();
    return { element, show, clear };
  }

  return { newResult };
});
