// Needs: model_client.js
// A figure that asks the real model: a field for a text if it has one, its own parts, and at its end
// the panel that loads the model. Without the model it shows what was recorded.

course.define("modelFigure", () => {
  const { el } = course;
  const { label: labelOf, newStatus } = course.live;
  const PAUSE = 400; // milliseconds after a key until the text is read
  const RECORDED = "This was recorded. Load the model, and it computes here.";
  const NO_TEXT = "Write some words first.";

  // A function that has `work` done: again if it was called meanwhile, and never twice at once
  function newestOnly(work) {
    let [isBusy, isDue] = [false, false];
    return async () => {
      isDue = true;
      if (isBusy) return;
      isBusy = true;
      while (isDue) {
        isDue = false;
        await work();
      }
      isBusy = false;
    };
  }

  // label, text: of the field, which is left out without a label. work(model, text) computes and draws
  // when the model is there and seen, and after each change; a sentence that it gives is shown, and so
  // is what it throws. recorded() draws what was recorded. Of the children, those with the class
  // sx-with-model are disabled without it
  function newModelFigure({ label = "", text = "", work, recorded }, ...children) {
    const { client } = course.modelClient;
    const field = el("input", { type: "text", maxlength: 400, autocomplete: "off", oninput });
    field.value = text;
    const status = newStatus();
    let [isOpen, isSeen, timer] = [false, false, 0];
    const panel = course.modelPanel.newModelPanel(onopen, onclose);
    const form = label && el("div.sx-prompt", labelOf(label, field), field);
    const element = el("div", [form, children, status, panel]);
    const seen = new IntersectionObserver((entries) => {
      isSeen = entries.some(({ isIntersecting }) => isIntersecting);
      if (isSeen) again();
    });

    function oninput() {
      clearTimeout(timer);
      timer = setTimeout(again, PAUSE);
    }

    const compute = newestOnly(async () => {
      if (!isOpen) return;
      element.setAttribute("aria-busy", "true");
      try {
        if (label && !field.value.trim()) throw new Error(NO_TEXT);
        status.textContent = (await work(client, field.value)) ?? "";
      } catch (error) {
        if (isOpen) status.textContent = error.message;
      }
      element.removeAttribute("aria-busy");
    });

    function again() {
      if (isOpen) compute();
      else status.textContent = RECORDED;
    }

    function show(next) {
      isOpen = next;
      for (const part of element.querySelectorAll(".sx-with-model")) part.disabled = !isOpen;
    }
    function onopen(blob) {
      client.open(blob);
      show(true);
      seen.observe(element);
    }
    function onclose() {
      seen.disconnect();
      client.close();
      close();
    }
    function close() {
      show(false);
      recorded();
      status.textContent = RECORDED;
    }

    function fill(newText) {
      field.value = newText;
      again();
    }
    close();
    return { element, model: client, again, fill, text: () => field.value, isOpen: () => isOpen };
  }

  return { newModelFigure, newestOnly };
});
