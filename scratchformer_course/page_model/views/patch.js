// Activation patching: one vector of the run on the prompt is carried over into the run on an
// altered text, and the answer at the end tells how much of the difference it restores.

course.define("view_patch", () => {
  const { el, format, percent, gridCursor, button, title, note, table, bar } = course.live;
  const { listOf, newStatus, region, sum, ranked, describe } = course.live;
  const { promptField, inFrames, last, question, logOdds } = course.explorer;
  const { newCache, forward, probabilities } = course.model;
  const PLACES = 48; // how many are asked: of texts that differ earlier, the last ones
  const OFFERED = 8; // likeliest tokens of each text, about which a reader may ask

  // ---- calculations ----

  // Where the stream is cut, as `forward` names it: after the embedding, and after each block
  const boundary = (row) => (row ? `h.${row - 1}` : "embedding");

  // Runs of the altered text in which some numbers are those of the clean one
  function patching(model, clean, altered) {
    const { d_model: C, vocab_size: V } = model.config;
    function record(ids, cache) {
      const seen = {};
      const hook = (name, array) => {
        seen[name] = array;
      };
      const run = forward(model, ids, { cache, hook });
      return { seen, attention: run.attention, end: last(run, V) };
    }
    const cache = newCache(model); // of the altered text
    const from = record(clean);
    const to = record(altered, cache);
    const vector = (run, name, t) => run.seen[name].subarray(t * C, (t + 1) * C);

    // Whether both runs have the same numbers there, so that carrying them over changes nothing
    function isSame(name, t) {
      const other = vector(to, name, t);
      return vector(from, name, t).every((value, c) => value === other[c]);
    }

    // The logits at the end, when `width` channels of the array `name`, from `start`
    // on, are carried over at place t. What stands before t stays: the cache has it.
    function carry(name, t, start = 0, width = C) {
      const numbers = vector(from, name, t).subarray(start, start + width);
      const copy = (rows) => rows.map((row) => row.slice());
      const before = { ids: altered.slice(0, t), k: copy(cache.k), v: copy(cache.v) };
      const hook = (now, array) => {
        if (now === name) array.set(numbers, start);
      };
      return last(forward(model, altered.slice(t), { cache: before, hook }), V);
    }
    return { clean: from, altered: to, isSame, carry };
  }

  // ---- the view ----

  const percentOf = (share) => String(Math.round(100 * share) || 0).replace("-", "−");
  const rowName = (row) => (row ? `block ${row}` : "embedding");

  // A labelled choice between tokens
  function tokenChoice(text, onchange) {
    const field = el("select", { onchange });
    return { field, element: el("span", course.live.label(`${text} `, field), field) };
  }

  function build({ model, label, settings, alter }) {
    const { n_layers: L, n_heads: H, d_model: C } = model.config;
    let state = { text: settings.prompt };
    let runs; // what is carried between them
    let first; // the first place that is shown
    let changed; // the first and the last place where the texts differ
    let ends; // ends[row][t]: the logits of each run, null as long as it has not been made
    let cells; // cells[row][t]: the elements of the map
    let chosen; // [row, t]: what the detail tells
    let heads; // {t, ends}: the logits of each head's run at a place
    let stopMap = () => {};
    let stopHeads = () => {};

    const prompt = settings.altered ?? settings.prompt;
    const field = promptField({ prompt }, alter, "Altered text");
    const copy = button("Copy the prompt here", () => {
      field.field.value = state.text;
      alter(state.text);
    });
    const asked = tokenChoice("Asked about", drawAll);
    const rival = tokenChoice("against", drawAll);
    const status = newStatus();
    const map = el("div.sx-scroll");
    const detail = el("div");
    const ofHeads = el("div.sx-of-heads");
    const body = el("div", [
      el("div.sx-bar.sx-question", asked.element, rival.element),
      el("div.sx-columns", [
        el("div.sx-main.sx-wide", [
          map,
          note(
            "Each cell: how many percent of the difference come back when the vector there is " +
              "carried over from the prompt into the altered text. A dot is less than half a " +
              "percent, hatched cells make the difference larger. Point at a cell, or move with " +
              "the arrow keys; press one to ask the heads at its place.",
          ),
          status,
        ]),
        region("div.sx-detail", "Details", detail, ofHeads),
      ]),
    ]);
    const element = el("div", field.element, el("div.sx-side", copy), body);

    // ---- numbers ----
    const quoted = (id) => `“${label(id)}”`;
    const chosenQuestion = () => ({
      asked: Number(asked.field.value),
      rival: rival.field.value === "" ? null : Number(rival.field.value),
    });
    // What of the difference between the two texts a run restores
    function share(logits) {
      const [patched, from, to] = [logits, runs.clean.end, runs.altered.end].map((ending) =>
        logOdds(ending, chosenQuestion()),
      );
      return (patched - to) / (from - to);
    }

    // ---- the two texts ----
    function update(newState) {
      const isUntouched = newState.altered === null && field.field.value === state.text;
      state = newState;
      stopMap();
      stopHeads();
      const { ids, altered } = state;
      if (isUntouched) field.field.value = state.text;
      const others = altered?.ids ?? ids;
      const isDifferent = (id, t) => id !== others[t];
      changed = [ids.findIndex(isDifferent), ids.findLastIndex(isDifferent)];
      const isLong = ids.length === others.length;
      body.inert = !isLong || changed[0] < 0; // the last map stays, faded: the page keeps its height
      let message = altered?.said ?? "";
      if (!isLong) {
        message += ` The prompt has ${ids.length}. A vector is carried over to its own place, so the two need equally many.`;
      } else if (body.inert) message += " It is the same as the prompt: change a letter or a word.";
      field.say(message.trim());
      if (!body.inert) compute(others);
    }

    function compute(others) {
      const T = state.ids.length;
      runs = patching(model, state.ids, others);
      first = Math.max(changed[0], T - PLACES);
      fillChoices();
      ends = listOf(L + 1, () => Array(T).fill(null));
      const jobs = [];
      for (let t = T - 1; t >= first; t--) {
        for (let row = L; row >= 0; row--) {
          if (row === L && t === T - 1)
            ends[row][t] = runs.clean.end; // all that is read
          else if (row === L || runs.isSame(boundary(row), t)) ends[row][t] = runs.altered.end;
          else jobs.push([row, t]);
        }
      }
      map.replaceChildren(newMap(others));
      chosen = [0, first];
      status.textContent = "Computing …";
      let n = 0;
      const step = () => {
        if (n === jobs.length) return; // there may be nothing to do
        const [row, t] = jobs[n++];
        ends[row][t] = runs.carry(boundary(row), t);
      };
      const done = () => {
        status.textContent = `Computed, in ${jobs.length} runs of the model. ${toldBefore()}`;
      };
      stopMap = inFrames(jobs.length, step, drawMap, done);
      drawMap();
      askHeads(T - 1);
    }

    function toldBefore() {
      if (first > changed[0]) {
        return `The last ${PLACES} places are shown, and the texts differ from place ${changed[0] + 1} on.`;
      }
      if (!first) return "The texts differ from their first place on.";
      const places = first === 1 ? "place 1" : `places 1 to ${first}`;
      return `At ${places} both texts are the same, so nothing there could restore anything.`;
    }

    // The heads' runs at a place; `news` is said when they are made
    function askHeads(t, news = "") {
      stopHeads();
      heads = { t, ends: [] };
      const step = () => {
        const [i, h] = [Math.floor(heads.ends.length / H), heads.ends.length % H];
        heads.ends.push(runs.carry(`h.${i}.attn.heads`, t, (h * C) / H, C / H));
      };
      const done = () => {
        drawHeads();
        if (news) status.textContent = news;
      };
      stopHeads = inFrames(L * H, step, () => {}, done);
    }

    // The question: the likeliest tokens of both texts, at first what the one expects most against
    // what the other does
    function fillChoices() {
      const [p, q] = [runs.clean.end, runs.altered.end].map((logits) => probabilities(logits));
      const best = [p, q].flatMap((chances) => ranked(chances).slice(0, OFFERED));
      const chance = (id) => Math.max(p[id], q[id]);
      const ids = [...new Set(best)].sort((a, b) => chance(b) - chance(a));
      const options = () => ids.map((id) => el("option", { value: id }, quoted(id)));
      const first = question(runs.clean.end, runs.altered.end);
      asked.field.replaceChildren(...options());
      rival.field.replaceChildren(...options(), el("option", { value: "" }, "any other"));
      asked.field.value = first.asked;
      rival.field.value = first.rival ?? "";
    }

    // ---- the map: the last block on top, the texts at the bottom ----
    function newMap(others) {
      const shown = [...state.ids.keys()].slice(first);
      cells = ends.map((_, row) =>
        state.ids.map((_, t) => {
          const place = { "data-row": L - row, "data-column": t - first };
          return el("td", { ...place, tabindex: row || t !== first ? -1 : 0 }, el("span"));
        }),
      );
      const rows = cells.map((row, i) => [rowName(i), ...row.slice(first)]);
      const text = (name, ids) => [
        name,
        ...shown.map((t) => {
          const kind = state.ids[t] === others[t] ? null : "sx-changed";
          return el("th", { scope: "col", class: kind }, label(ids[t]));
        }),
      ];
      const longest = Math.max(3, ...shown.map((t) => label(state.ids[t]).length));
      const attributes = {
        class: "sx-grid sx-lens-grid sx-patch-grid",
        role: "grid",
        style: `--n: ${shown.length}; --longest: ${Math.min(longest, 8)}`,
        "aria-label":
          "What each vector restores: rows are blocks, the last one on top; columns are places",
      };
      const texts = [text("prompt", state.ids), text("altered", others)];
      const made = table([], rows.reverse(), attributes, texts);
      const ask = ({ target }) => {
        const at = target.closest("td[data-column]")?.dataset;
        if (!at) return;
        const t = first + Number(at.column);
        askHeads(t, `The table now has the heads at place ${t + 1}.`);
      };
      gridCursor(made, (r, c) => {
        chosen = [L - r, first + c];
        drawDetail();
      });
      made.addEventListener("click", ask);
      made.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        ask(event);
      });
      return made;
    }

    // What the texts answer alike leaves nothing to restore: all shares would be noise
    function isOpen() {
      const [from, to] = [runs.clean.end, runs.altered.end];
      return Math.abs(logOdds(from, chosenQuestion()) - logOdds(to, chosenQuestion())) > 0.05;
    }

    const toldShare = (logits) => {
      if (!logits) return "not computed yet";
      return isOpen() ? `restores ${percentOf(share(logits))} %` : "no difference to restore";
    };

    function drawMap() {
      const isMeant = isOpen();
      for (const [row, all] of ends.entries()) {
        for (let t = first; t < all.length; t++) {
          const value = all[t] && isMeant ? share(all[t]) : 0;
          const shown = percentOf(value) === "0" ? "·" : percentOf(value);
          const cell = cells[row][t];
          cell.firstChild.textContent = all[t] && isMeant ? shown : "";
          cell.style.setProperty("--w", Math.min(1, Math.abs(value)).toFixed(3));
          cell.classList.toggle("sx-against", value < -0.005);
          const at = `${rowName(row)}, place ${t + 1}, ${quoted(state.ids[t])}`;
          describe(cell, `${at}: ${toldShare(all[t])}`);
        }
      }
      drawDetail();
    }

    function drawDetail() {
      const [row, t] = chosen;
      const { asked: id, rival: other } = chosenQuestion();
      const line = (name, logits) => [
        name,
        percent(probabilities(logits)[id]),
        format(logOdds(logits, chosenQuestion()), 2),
      ];
      const logits = ends[row][t];
      const after = row ? `After block ${row}` : "After the embedding";
      const lines = [line("prompt", runs.clean.end), line("altered", runs.altered.end)];
      if (logits) lines.push(line("carried over", logits));
      detail.replaceChildren(
        title(`${after}, place ${t + 1}, ${quoted(state.ids[t])}: ${toldShare(logits)}`),
        table(["", `chance of ${quoted(id)}`, "log-odds"], lines, { class: "sx-losses" }),
        note(
          `Log-odds: of ${quoted(id)} against ${other === null ? "any other token" : quoted(other)}, as the next token.`,
        ),
      );
    }

    // What each head restores, beside its weight on what was changed
    function drawHeads() {
      if (heads.ends.length < L * H) return;
      const { t } = heads;
      const T = state.ids.length;
      const weight = (i, h) => {
        const row = runs.clean.attention[i].subarray((h * T + t) * T, (h * T + t + 1) * T);
        return sum(row.subarray(changed[0], changed[1] + 1));
      };
      const rows = heads.ends.map((logits, n) => {
        const [i, h] = [Math.floor(n / H), n % H];
        const value = isOpen() ? share(logits) : 0;
        const length = bar(Math.min(1, Math.abs(value)));
        length.classList.toggle("sx-against", value < -0.005);
        const on = weight(i, h);
        return [
          `${i + 1}, ${h + 1}`,
          `${percentOf(value)} %`,
          length,
          `${percentOf(on)} %`,
          bar(on),
        ];
      });
      ofHeads.replaceChildren(
        title(`The heads at place ${t + 1}, ${quoted(state.ids[t])}`),
        table(["block, head", "restores", "", "weight", ""], rows, { class: "sx-bars sx-carried" }),
        note(
          "Restores: what comes back when this head’s output, at this place, is carried over. " +
            "Weight: the share of its attention on what was changed, from the first changed " +
            "token to the last. The two need not agree.",
        ),
      );
    }

    function drawAll() {
      drawMap();
      drawHeads();
    }
    return { element, update };
  }

  course.explorer.views.patch = { title: "Patch", build };
  return { patching };
});
