// The training time machine: one slider over the steps of a run. For the step chosen, the page
// computes the attention of each head on a prompt, and text, from that step's weights. The loss curve
// above the slider has a place for each step, as it has. A head can be silenced: it then adds
// nothing, at any step, until it is let speak again, and a second curve has the losses.
//
// Needs: page_model/explorer.js page_model/views/attention.js

course.define("ch11_training", () => {
  const { el, button, format, percent, visible, sliderOver, title, note, scrolling, table } =
    course.live;
  const { listOf, newStatus, fold, listed, mean, player, describe, way, grouped } = course.live;
  const WINDOW = 26; // how many tokens fit a phone: of a longer prompt the last ones are shown
  const FARTHEST = 4; // characters that a head is asked to look back

  // ---- calculations ----

  // What a step's model makes of a prompt's ids: attention and text
  function look({ model, tokenizer }, ids, { written, temperature, seed, off = {} }) {
    const { forward, generate } = course.model;
    const { attention } = forward(model, ids, { off });
    const writer = generate(model, ids, { temperature, seed, off });
    const text = [];
    while (text.length < written) text.push(writer.next().value);
    return { attention, text: tokenizer.decode(text) };
  }

  // For each of T queries, from `first` on: the key with the largest weight -> [query, key, weight]
  function strongest(weights, T, first = 0) {
    return listOf(T - first, (i) => {
      const row = weights.subarray((first + i) * T, (first + i + 1) * T);
      const key = row.reduce((best, weight, s) => (weight > row[best] ? s : best), 0);
      return [first + i, key, row[key]];
    });
  }

  // What a head of (T, T) looks back at: its largest mean weight at one fixed distance, and which
  function lookBack(weights, T) {
    const far = Math.min(FARTHEST, T - 1);
    const means = listOf(far, (k) => mean(listOf(T - 1 - k, (t) => weights[(t + k + 1) * T + t])));
    const weight = Math.max(0, ...means);
    return { weight, distance: means.indexOf(weight) + 1 };
  }

  // Where losses stand in a picture, from 0 (top) to 1 (bottom), the counted ones among them
  function heights(losses, counted) {
    const all = [...losses, ...counted.map(([, loss]) => loss)];
    const highest = Math.max(...all);
    const lowest = Math.min(...all);
    const range = highest - lowest || 1;
    const height = (loss) => 0.05 + (0.8 * (highest - loss)) / range;
    return Object.assign(height, { lowest, highest });
  }

  const passed = (counted, loss) =>
    counted.filter(([, other]) => loss < other).map(([name]) => name);

  // ---- the picture of the run ----

  function lossCurve({ steps, losses, counted }) {
    const y = heights(losses, counted);
    const last = losses.length - 1;
    const style = (i, loss) => `--x: ${i / last}; --y: ${y(loss).toFixed(4)}`;
    const dot = el("span.sx-dot");
    // A name on the right would stand in the way of a curve that is above it here
    const late = losses[Math.floor((3 * losses.length) / 4)];
    let aside = -1; // names at the left are in three columns: their lines may be close
    const lines = counted.map(([name, loss]) => {
      const text = `${name}: ${format(loss, 2)}`;
      if (late > loss) aside = (aside + 1) % 3;
      const place = `${style(last, loss)}; --aside: ${Math.max(0, aside)}`;
      const label = el("span.sx-counted-name", { style: place }, text);
      label.classList.toggle("sx-above", losses[last] < loss);
      label.classList.toggle("sx-left", late > loss);
      return [el("span.sx-counted", { style: style(0, loss) }), label];
    });
    // Numbers of both axes: round ones beside the curve, some of the steps below it
    const first = Math.ceil(y.lowest);
    const count = Math.floor(y.highest) - first + 1;
    const numbers = [
      listOf(count, (i) => el("span.sx-across", { style: style(0, first + i) }, first + i)),
      [0, 1 / 3, 2 / 3, 1].map((part) => {
        const i = Math.round(part * last);
        return el("span.sx-down", { style: `--x: ${i / last}` }, grouped(steps[i]));
      }),
    ];
    const through = (all) =>
      way(all.map((loss, i) => `${i ? "L" : "M"}${i / last} ${y(loss)}`).join(""));
    const own = through(losses);
    const other = el("svg:g.sx-without");
    const element = el("div.sx-run", { role: "img" }, [
      el("svg:svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, [
        own,
        other,
      ]),
      el("span.sx-axis-name", "loss in nats; below, a place for each snapshot"),
      numbers,
      lines,
      dot,
    ]);
    // without: the losses without a head that is silenced, or null
    function mark(i, without) {
      const loss = (without ?? losses)[i];
      other.replaceChildren(...(without ? [through(without)] : []));
      dot.setAttribute("style", style(i, loss));
      const marked = `${format(loss, 2)} at step ${grouped(steps[i])}`;
      describe(
        element,
        `The loss on the validation text, from ${format(losses[0], 2)} before the first step to ` +
          `${format(losses[last], 2)} after step ${grouped(steps[last])}` +
          `${without ? `, and without the silenced head ${format(without[last], 2)}` : ""}; marked: ${marked}`,
      );
    }
    return { element, mark };
  }

  // ---- the figure ----

  function build(settings, host) {
    const { modelOf, promptField, reading, views } = course.explorer;
    const { steps, losses, counted, without } = settings;
    const hashes = host.dataset.models.split(" ");
    let prompt = null; // what the model reads of what is typed
    let chosen = 0;
    let layer = 0;
    let head = 0;
    let silent = null; // [layer, head]
    let seen = null;

    const curve = lossCurve(settings);

    const step = sliderOver("Steps of training", steps.map(grouped), () => {
      chosen = step.get();
      show();
      play.moved();
    });

    const play = player(step, () => (chosen + 1) % steps.length, "Next step");
    step.element.append(play.button);

    const status = newStatus();
    const heads = views.attention.headChoice(modelOf(hashes[0]).model.config, (i, h) => {
      [layer, head] = [i, h];
      drawMap();
    });
    const field = promptField(settings, read);
    const name = title();
    const silence = button("", () => {
      silent = isSilent() ? null : [layer, head];
      show();
    });
    const map = el("div");
    const text = scrolling("sx-text", "Text of the model");
    const weightTable = scrolling("sx-scroll", "What each character looks at most");
    const element = el("div.sx-time", [
      curve.element,
      step.element,
      status,
      el("div.sx-columns", [
        el("div.sx-main", [
          field.element,
          title("It writes"),
          text,
          note(`Temperature ${settings.temperature}, seed ${settings.seed}, at every step.`),
        ]),
        el("div.sx-detail", [
          title("It looks back"),
          note(
            "Every head, on the prompt. Rows: blocks. Choose one. Below each: its mean weight at " +
              `the distance, from 1 to ${FARTHEST} back, where that is largest.`,
          ),
          heads.element,
          name,
          silence,
          map,
          fold("The largest weights as a table", weightTable),
        ]),
      ]),
    ]);

    function read(typed) {
      const { model, tokenizer } = modelOf(hashes[chosen]);
      prompt = reading(tokenizer, typed, model.config.context_length);
      field.say(prompt.said);
      show();
    }

    function show() {
      const own = modelOf(hashes[chosen]);
      seen = look(own, prompt.ids, { ...settings, off: { heads: silent ? [silent] : [] } });
      const T = prompt.ids.length;
      const less = silent && without[silent[0]][silent[1]];
      const loss = (less ?? losses)[chosen];
      const names = passed(counted, loss);
      const lacks = silent ? `, without head ${silent[1] + 1} of block ${silent[0] + 1}` : "";
      curve.mark(chosen, less);
      status.textContent =
        `After ${grouped(steps[chosen])} ` +
        `${steps[chosen] === 1 ? "step" : "steps"}${lacks}: ${format(loss, 2)} nats a character on the ` +
        `validation text${names.length ? `, better than counted ${listed(names)}` : ""}.`;
      heads.show(seen.attention, T, (weights) => format(lookBack(weights, T).weight, 2));
      for (const one of heads.element.querySelectorAll("button")) {
        const { row, column } = one.dataset;
        one.classList.toggle("sx-silent", isSilent(Number(row), Number(column)));
      }
      drawMap();
      text.replaceChildren(prompt.text, el("mark", seen.text));
    }

    const isSilent = (b = layer, h = head) => silent?.[0] === b && silent?.[1] === h;
    const letter = (id) => visible(modelOf(hashes[chosen]).tokenizer.decode([id]));

    function drawMap() {
      const T = prompt.ids.length;
      const first = Math.max(0, T - WINDOW);
      const weights = seen.attention[layer].subarray(head * T * T, (head + 1) * T * T);
      const names = prompt.ids.map(letter);
      const shown = names.slice(first);
      heads.mark(layer, head);
      const { weight, distance } = lookBack(weights, T);
      name.textContent = `Block ${layer + 1}, head ${head + 1}: ${isSilent() ? "silenced" : `${format(weight, 2)} at ${distance} back`}`;
      silence.textContent = isSilent() ? "Let it speak again" : "Silence this head";
      const top = strongest(weights, T, first);
      const largest = top
        .slice(-3)
        .map(([t, s, w]) => `“${names[t]}” at “${names[s]}”, ${percent(w)}`);
      const cell = (t, s) =>
        el("td", {
          class: s > t ? "sx-closed" : null,
          style: `--w: ${weights[t * T + s].toFixed(4)}`,
        });
      const rows = shown.map((n, r) => [n, ...shown.map((_, c) => cell(first + r, first + c))]);
      const grid = { class: "sx-grid", style: `--n: ${shown.length}` };
      const picture = el("div", { role: "img" }, table(["", ...shown], rows, grid));
      describe(
        picture,
        `${name.textContent}: a row for each character, ` +
          `coloured where it looks. Largest weights of the last rows: ${largest.join("; ")}`,
      );
      map.replaceChildren(
        picture,
        note(
          `${first ? `The last ${T - first} of ${T} characters. ` : ""}` +
            "Each row is a character. The fuller the colour of a cell, the more it looks there.",
        ),
      );
      const lines = top.map(([t, s, w]) => {
        return [names[t], names[s], t === s ? "itself" : `${t - s} back`, percent(w)];
      });
      weightTable.replaceChildren(table(["character", "looks most at", "place", "weight"], lines));
    }

    read(settings.prompt);
    return element;
  }

  course.figures.time_machine = build;
  return { look, lookBack };
});
