// Needs: model_client.js
// A figure that asks the real model: a field for a text if it has one, its own parts, and at its end
// the panel that loads the model. Without the model it shows what was recorded. And what several such
// figures show: tokens with weights, and the chances of the next token.

course.define("modelFigure", () => {
  const { el } = course;
  const { label: labelOf, newStatus, button, bar, percent, press, rovingLine, table } = course.live;
  const { visible, describe, roving, listOf } = course.live;
  const PAUSE = 400; // milliseconds after a key until the text is read
  const RECORDED = "This was recorded. Load the model, and it answers here.";
  const NONE = /** @type {any} */ (null);
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

  // label, text: of the field, which is left out without a label. work(model, text), if there is such, computes
  // and draws when the model is there and seen, and after each change; a sentence that it gives is shown,
  // and so is what it throws. recorded() draws what was recorded. Of the children, those with the
  // class sx-with-model are disabled without it
  function newModelFigure({ label = "", text = "", work = NONE, recorded }, ...children) {
    const { client } = course.modelClient;
    const field = el("input", { type: "text", maxlength: 400, autocomplete: "off", oninput });
    field.value = text;
    const status = newStatus();
    let [isOpen, isSeen, timer] = [false, false, 0];
    const panel = course.modelPanel.newModelPanel(onopen, onclose);
    const form = label && el("div.sx-prompt.sx-model-field", labelOf(label, field), field);
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
      if (!isOpen || !work) return;
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
      if (isOpen) status.textContent = "";
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
    function say(words) {
      status.textContent = words;
    }
    close();
    const state = { text: () => field.value, isOpen: () => isOpen };
    return { element, model: client, again, fill, say, ...state };
  }

  // The tokens of a text as buttons: show(pieces, weights, chosen) colours them, from 0 to 1, and
  // choose(t) hears of the one that is pressed
  function newTokens(name, choose) {
    const element = el("div.sx-model-tokens", { role: "group", "aria-label": name });
    rovingLine(element, () => element.children);
    function show(pieces, weights, chosen) {
      const hadFocus = element.contains(document.activeElement);
      const tokens = pieces.map((piece, t) =>
        button(visible(piece), () => choose(t), {
          "data-row": 0,
          "data-column": t,
          style: `--w: ${(weights[t] ?? 0).toFixed(3)}`,
          title: weights[t] === undefined ? "" : percent(weights[t]),
        }),
      );
      press(tokens, chosen, true);
      element.replaceChildren(...tokens);
      if (hadFocus) tokens[chosen]?.focus();
    }
    return { element, show };
  }

  // rows: [text of a token, its chances, one for each column]
  const chanceTable = (columns, rows) =>
    table(
      ["next token", ...columns],
      rows.map(([text, ...chances]) => [
        visible(text),
        ...chances.map((p) => [percent(p), bar(p)]),
      ]),
      { class: "sx-model-chances" },
    );

  // A square for each head, a row for each of the heads in a block: show(kindOf, offs) gives each one the
  // class of its kind, and crosses out those that are off; choose(block, head) hears of the chosen one
  function newHeadGrid({ n_layers, n_heads }, choose) {
    const cells = listOf(n_heads, (h) =>
      listOf(n_layers, (l) =>
        el("span", { role: "img", tabindex: h + l ? -1 : 0, "data-row": h, "data-column": l }),
      ),
    );
    const style = `--columns: ${n_layers}`;
    const about = `${n_layers} blocks from left to right, the heads of each from top to bottom`;
    const element = el("div.sx-model-heads", { role: "group", "aria-label": about, style }, cells);
    roving(element, (row, column) => cells[row]?.[column]);
    element.addEventListener("focusin", ({ target: { dataset } }) =>
      choose(Number(dataset.column) + 1, Number(dataset.row) + 1),
    );
    function show(kindOf, wordsOf, [block, head]) {
      for (const [h, row] of cells.entries()) {
        for (const [l, cell] of row.entries()) {
          cell.className = kindOf(l + 1, h + 1);
          describe(cell, `head ${l + 1}.${h + 1}: ${wordsOf(l + 1, h + 1)}`);
          cell.tabIndex = l + 1 === block && h + 1 === head ? 0 : -1;
        }
      }
    }
    return { element, show };
  }

  // A button that writes, and stops what it has begun: write(signal) gives a promise of a sentence, or of
  // nothing, which `say` hears of, and of the message if it fails
  function newWriteButton(name, write, say) {
    let stopping = null;
    const element = button(name, () => (stopping ? stopping.abort() : start()), {
      class: "sx-go sx-with-model",
    });
    async function start() {
      stopping?.abort();
      const own = new AbortController();
      stopping = own;
      element.textContent = "Stop";
      try {
        say((await write(own.signal)) ?? "");
      } catch (error) {
        say(error.message);
      }
      if (stopping !== own) return; // another one has begun
      stopping = null;
      element.textContent = name;
    }
    return { element, start, isWriting: () => stopping !== null };
  }

  const figures = { newModelFigure, newestOnly, newTokens, chanceTable };
  return { ...figures, newHeadGrid, newWriteButton };
});
