// Two texts with one ending, and what a GPT expects after each. A letter's colour is as strong as the
// attention that one head of the last block gives it at the end; a pressed word is hidden from there,
// and the head can be switched off.
//
// Needs: page_model/explorer.js

course.define("twoScenes", () => {
  const { el, button, bar, choice, format, listOf, newSwitch, note, percent } = course.live;
  const { ranked, region, sum, table, newStatus, visible } = course.live;
  const { newCache, forward, probabilities, softmax, parts } = course.model;
  const SHOWN = 3; // likeliest next letters of a scene

  // ---- calculations ----

  // A text's ids -> a function of the letters that are hidden in the last block, and of the head
  // that is switched off in it, which gives probabilities (V) and each head's weights (T). All letters but the last are read once.
  function reader(model, ids) {
    const { n_layers, n_heads: H, d_model: C } = model.config;
    const [T, D] = [ids.length, C / H];
    const cache = newCache(model);
    if (T > 1) forward(model, ids.slice(0, -1), { cache });
    const last = `h.${n_layers - 1}.attn.`;
    return (isHidden, off = -1) => {
      const seen = /** @type {any} */ ({});
      let weights;
      const hook = (name, array) => {
        if (!name.startsWith(last)) return;
        seen[name.slice(last.length)] = array;
        if (name !== `${last}heads`) return;
        const { q, k, v, heads } = seen; // (1, C), (T, C) twice, (1, C)
        const score = (h, s) => parts.dot(q, h * D, k, s * C + h * D, D) / Math.sqrt(D);
        weights = listOf(H, (h) =>
          softmax(listOf(T, (s) => (isHidden(s) ? -Infinity : score(h, s)))),
        );
        for (let c = 0; c < C; c++) {
          const h = Math.floor(c / D);
          heads[c] = h === off ? 0 : sum(weights[h].map((w, s) => w * v[s * C + c]));
        }
      };
      cache.ids.length = T - 1;
      const { logits } = forward(model, ids.slice(-1), { cache, hook });
      return { p: probabilities(logits), weights };
    };
  }

  // How many letters at the end are the same
  function sameEnd(one, other) {
    const most = Math.min(one.length, other.length);
    const differs = (n) => n === most || one.at(-1 - n) !== other.at(-1 - n);
    return listOf(most + 1, differs).indexOf(true);
  }

  // Half the sum of the differences: 0 for equal answers, 1 for answers that share nothing
  const apart = (p, others) => sum(Array.from(p, (x, id) => Math.abs(x - others[id]))) / 2;

  // ---- the figure ----

  // prompts: two texts; block and head, from 1: whose look is shown at first
  function build({ prompts, block, head }, host) {
    const { modelOf, promptField, reading } = course.explorer;
    const { model, tokenizer } = modelOf(host.dataset.models);
    const { n_heads, context_length } = model.config;
    const names = listOf(n_heads, (h) => `${block}.${h + 1}`);
    const heads = choice("Head", names, drawAll, head - 1);
    const off = newSwitch("switched off", drawAll);
    const told = newStatus();
    const scenes = prompts.map(newScene);
    for (const [i, { read }] of scenes.entries()) read(prompts[i]);

    function newScene(prompt, i) {
      const field = promptField({ prompt }, read, `Scene ${i + 1}`);
      const map = region("p.sx-text", `What is looked at in scene ${i + 1}`);
      const chances = el("div");
      const element = el("div", field.element, map, chances);
      const scene = { element, text: "", p: new Float64Array(), read, draw };
      let predict;
      let words = []; // {from, to, isHidden}

      function read(typed) {
        const { ids, text, said } = reading(tokenizer, typed, context_length, true);
        field.say(said);
        scene.text = text;
        predict = reader(model, ids);
        words = [...text.matchAll(/\S+(?=\s)/g)].map(({ index: from, 0: word }) => {
          return { from, to: from + word.length, isHidden: false };
        });
        draw();
        compare();
      }

      function draw() {
        const at = (s) => words.find(({ from, to }) => s >= from && s < to);
        const silent = off.box.checked;
        const { p, weights } = predict((s) => at(s)?.isHidden, silent ? heads.at() : -1);
        scene.p = p;
        const shades = weights[heads.at()].map((w) => `--w: ${silent ? 0 : w.toFixed(3)}`);
        const letters = Array.from(scene.text, (c, s) => {
          return el("i", { style: shades[s] }, c === "\n" ? "⏎\n" : c);
        });
        const press = (word, n) => {
          word.isHidden = !word.isHidden;
          draw();
          compare();
          map.querySelectorAll("button")[n].focus();
        };
        const shown = words.flatMap((word, n) => {
          const pressed = { "aria-pressed": String(word.isHidden) };
          const piece = letters.slice(word.from, word.to);
          const between = letters.slice(word.to, words[n + 1]?.from);
          return [button(piece, () => press(word, n), pressed), ...between];
        });
        map.replaceChildren(...letters.slice(0, words[0]?.from), ...shown);
        const sight = (id) => visible(tokenizer.decode([id]));
        const likely = ranked(p).slice(0, SHOWN);
        const rows = likely.map((id) => [sight(id), percent(p[id]), bar(p[id])]);
        chances.replaceChildren(table(["next", "", ""], rows, { class: "sx-bars" }));
      }

      return scene;
    }

    function drawAll() {
      for (const { draw } of scenes) draw();
      compare();
    }

    function compare() {
      const [one, other] = scenes;
      if (one.p.length !== other.p.length) return; // the second has not been read yet
      const same = sameEnd(one.text, other.text);
      const far = format(apart(one.p, other.p), 2);
      told.textContent = `The last ${same} characters are the same, and the answers are ${far} apart.`;
    }

    return el("div", [
      el(
        "div.sx-columns",
        scenes.map(({ element }) => element),
      ),
      told,
      el("div.sx-look", "Shades: head ", heads.element, off.element),
      note(
        "The stronger a letter's colour, the more of its attention the head gives it at the framed end. A press hides a word from that end, in the last block.",
      ),
    ]);
  }

  course.figures.two_scenes = build;
  return { reader, sameEnd, apart };
});
