// Needs: page_model/model.js
// Chapter 02's training, in the page: pairs of a text pull two vectors together, pairs drawn at
// random push them apart. And a plane on which words with a high cosine attract each other.

course.define("wordTraining", () => {
  const { el, button, newSwitch, format, grouped } = course.live;
  const CHANNELS = 32;
  const WINDOW = 5; // words to each side
  const NEGATIVES = 5;
  const RATE = 0.1; // falls to 0
  const DRAWN = 1 << 16; // places in the list that negatives are drawn from
  const ONE_BYTE = 250; // words with a lower id have one byte in the text, others two
  const END = 255; // of a speech
  // of the plane
  const KIN = 0.35; // a cosine from which words attract each other
  const REPULSION = 0.05;
  const PULL_HOME = 0.1; // towards the middle
  const STEP = 0.1;
  const HALF = 4.4; // from the middle of the plane to its edge
  // of the figure
  const PAIRS = 1.2e6; // that a training takes
  const SLICE = 2000; // pairs between two looks at the clock
  const BUSY = 30; // milliseconds of training a frame
  const REST = 150; // frames that the plane moves on for

  // The speeches of a text, each a list of ids
  function speeches(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    /** @type {number[][]} */
    const found = [];
    /** @type {number[]} */
    let ids = [];
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === END) {
        found.push(ids);
        ids = [];
      } else if (byte < ONE_BYTE) ids.push(byte);
      else ids.push(ONE_BYTE + 256 * (byte - ONE_BYTE) + bytes[++i]);
    }
    return found;
  }

  // Centres and neighbours, one pair behind the other
  function pairsOf(spoken) {
    const pairs = [];
    for (const ids of spoken) {
      for (let i = 0; i < ids.length; i++) {
        const last = Math.min(ids.length - 1, i + WINDOW);
        for (let j = Math.max(0, i - WINDOW); j <= last; j++) {
          if (j !== i) pairs.push(ids[i], ids[j]);
        }
      }
    }
    return Uint16Array.from(pairs);
  }

  // Ids, each as often as its share of the weights n ** 0.75
  function drawnFrom(spoken, V) {
    const weights = new Float64Array(V);
    for (const ids of spoken) for (const id of ids) weights[id]++;
    for (let id = 0; id < V; id++) weights[id] **= 0.75;
    const total = weights.reduce((a, b) => a + b, 0);
    const list = new Uint16Array(DRAWN);
    let id = 0;
    let sum = weights[0];
    for (let i = 0; i < DRAWN; i++) {
      while ((i + 0.5) * total > sum * DRAWN && id < V - 1) sum += weights[++id];
      list[i] = id;
    }
    return list;
  }

  // Two tables of V rows, and a way to go on: run(n, rate, negatives) takes n pairs of the text
  function newTraining(spoken, V, seed = 0) {
    const random = course.model.generator(seed);
    const pairs = pairsOf(spoken);
    const drawn = drawnFrom(spoken, V);
    const C = CHANNELS;
    const centres = Float32Array.from({ length: V * C }, () => (random() - 0.5) / C);
    const neighbours = new Float32Array(V * C);
    const move = new Float32Array(C);

    // One pair, real (label 1) or invented (0): the neighbour moves, the centre's move adds up
    function meet(v, u, label, rate) {
      let score = 0;
      for (let c = 0; c < C; c++) score += centres[v + c] * neighbours[u + c];
      const by = rate * (label - 1 / (1 + Math.exp(-score)));
      for (let c = 0; c < C; c++) {
        move[c] += by * neighbours[u + c];
        neighbours[u + c] += by * centres[v + c];
      }
    }

    function run(n, rate, negatives) {
      for (let i = 0; i < n; i++) {
        const pair = 2 * Math.floor((random() * pairs.length) / 2);
        const v = C * pairs[pair];
        move.fill(0);
        meet(v, C * pairs[pair + 1], 1, rate);
        for (let k = 0; k < negatives; k++) {
          meet(v, C * drawn[Math.floor(random() * DRAWN)], 0, rate);
        }
        for (let c = 0; c < C; c++) centres[v + c] += move[c];
      }
    }

    // The rows of some words, of length 1
    function units(ids) {
      return ids.map((id) => {
        const row = centres.slice(id * C, id * C + C);
        const length = Math.hypot(...row) || 1;
        return row.map((number) => number / length);
      });
    }
    return { run, units, count: pairs.length / 2 };
  }

  // All cosines, and their mean over the pairs
  function cosinesOf(units) {
    const M = units.length;
    const cosines = new Float32Array(M * M).fill(1);
    let sum = 0;
    for (let a = 0; a < M; a++) {
      for (let b = 0; b < a; b++) {
        let cosine = 0;
        for (let c = 0; c < CHANNELS; c++) cosine += units[a][c] * units[b][c];
        cosines[a * M + b] = cosine;
        cosines[b * M + a] = cosine;
        sum += cosine;
      }
    }
    return { cosines, mean: sum / ((M * (M - 1)) / 2) };
  }

  // Words on a plane, at first anywhere. Two with a cosine above KIN attract each other, all others
  // repel: where all cosines are 1, nothing keeps the words apart
  function newPlane(M, seed = 0) {
    const random = course.model.generator(seed);
    const y = Float32Array.from({ length: 2 * M }, () => 4 * (random() - 0.5));
    const forces = new Float32Array(2 * M);

    function settle(cosines) {
      forces.fill(0);
      for (let a = 0; a < M; a++) {
        for (let b = 0; b < a; b++) {
          const dx = y[2 * a] - y[2 * b];
          const dy = y[2 * a + 1] - y[2 * b + 1];
          const far = dx * dx + dy * dy;
          const kin = Math.max(0, (cosines[a * M + b] - KIN) / (1 - KIN)) ** 2;
          const force = (((1 - kin) * REPULSION) / (0.1 + far) - kin) / (1 + far);
          forces[2 * a] += force * dx;
          forces[2 * a + 1] += force * dy;
          forces[2 * b] -= force * dx;
          forces[2 * b + 1] -= force * dy;
        }
      }
      for (let i = 0; i < 2 * M; i++) {
        const by = STEP * (forces[i] - PULL_HOME * y[i]);
        y[i] += Math.max(-0.5, Math.min(0.5, by));
      }
    }

    // From 0 to 1, as the figure has them
    const inside = (x) => Math.max(0, Math.min(1, 0.5 + x / (2 * HALF)));
    const places = () =>
      Array.from({ length: M }, (_, i) => [inside(y[2 * i]), inside(y[2 * i + 1])]);
    return { settle, places };
  }

  // ---- a button, a switch and what they do: changed(units, places, isLast) hears of each new map ----

  function newControls({ text, known, ids, pair }, changed) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    const push = newSwitch("Push apart", () => training && begin(false), {}, true);
    const told = el("p.sx-caption.sx-told", "Recorded, of 5,120,000 pairs.");
    const spoken = speeches(text);
    let training = null;
    let plane = null;
    let read = 0; // pairs
    let waits = 0; // frames until the plane rests
    let isRunning = false;

    // From noise, or from where the vectors are
    function begin(isNew) {
      if (isNew) [training, plane] = [newTraining(spoken, known), newPlane(ids.length)];
      [read, waits] = [0, REST];
      if (!isRunning) requestAnimationFrame(frame);
      isRunning = true;
    }

    function frame() {
      isRunning = element.isConnected && (read < PAIRS || waits > 0);
      if (!isRunning) return;
      const end = performance.now() + BUSY;
      while (read < PAIRS && performance.now() < end) {
        training.run(SLICE, RATE * (1 - read / PAIRS), push.box.checked ? NEGATIVES : 0);
        read += SLICE;
      }
      if (read >= PAIRS) waits--;
      const units = training.units(ids);
      const { cosines, mean } = cosinesOf(units);
      for (let i = 0; i < 2; i++) plane.settle(cosines);
      if (!calm.matches || waits === 0) {
        changed(units, plane.places(), waits === 0);
        const [a, b] = pair;
        told.textContent =
          `${grouped(read)} pairs. Mean of all cosines ${format(mean, 2)}, ` +
          `king and sword ${format(cosines[a * ids.length + b], 2)}.`;
      }
      requestAnimationFrame(frame);
    }

    const train = button("Train from noise", () => begin(true));
    const element = el("div.sx-training", el("div.sx-bar", [train, push.element]), told);
    return element;
  }

  return { newControls, speeches, pairsOf, drawnFrom, newTraining, cosinesOf, newPlane };
});
