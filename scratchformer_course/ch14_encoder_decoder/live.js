// A recording and what one head of Whisper reads of it: a word that is pressed lights up its row of
// the map, and the sound around the instant where the row has its peak is played. In a second figure
// the recording's halves can be swapped.

course.define("ch14_encoder_decoder", () => {
  const {
    el,
    button,
    choice,
    drawing,
    line,
    note,
    path,
    press,
    rovingLine,
    way,
    words,
    newStatus,
  } = course.live;
  const RATE = 16000; // bytes a second: one for each sample, in µ-law
  const STEP = 0.02; // seconds that a step of the map stands for
  const HALF = 0.25; // seconds that are heard before and after an instant
  const WIDTH = 480;
  const [WAVE, ROW] = [52, 9]; // heights of the recording and of a row of the map

  // ---- calculations ----

  // The bytes of a .wav file with one channel in µ-law, whose samples these are
  function wav(samples) {
    const file = new Uint8Array(44 + samples.length);
    const view = new DataView(file.buffer);
    for (const [at, text] of /** @type {[number, string][]} */ ([
      [0, "RIFF"],
      [8, "WAVEfmt "],
      [36, "data"],
    ])) {
      for (let i = 0; i < text.length; i++) file[at + i] = text.charCodeAt(i);
    }
    view.setUint32(4, 36 + samples.length, true);
    view.setUint32(16, 16, true);
    view.setUint16(20, 7, true); // µ-law
    view.setUint16(22, 1, true);
    view.setUint32(24, RATE, true);
    view.setUint32(28, RATE, true);
    view.setUint16(32, 1, true);
    view.setUint16(34, 8, true);
    view.setUint32(40, samples.length, true);
    file.set(samples, 44);
    return file;
  }

  // A list of samples or of bars, cut at this share of it, the second part first
  function swap(list, share) {
    const cut = Math.round(share * list.length);
    return [...list.slice(cut), ...list.slice(0, cut)];
  }

  // ---- the figures ----

  let recording = new Uint8Array(); // the page's first figure brings it, the second shares it

  function build({ said, times, instants, maps, seconds, after, loud, sound, start }) {
    if (sound) recording = Uint8Array.from(atob(sound), (letter) => letter.charCodeAt(0));
    const share = after / seconds;
    const sounds = [recording, Uint8Array.from(swap(recording, share))];
    const bars = [loud, swap(loud, share)];
    const x = (second) => (second / seconds) * WIDTH;
    const player = el("audio", { controls: "", preload: "none" });
    const short = el("audio");
    const status = newStatus();
    const picture = el("div");
    const names = said.map((word, i) =>
      button(word, () => choose(i), { "data-row": 0, "data-column": i }),
    );
    const buttons = el("div.sx-said", { role: "group", "aria-label": "Words" }, names);
    rovingLine(buttons, () => names);
    const canSwap = maps.length > 1;
    const order = canSwap && choice("The recording", ["as recorded", "halves swapped"], show);
    const shown = () => (order ? order.at() : 0);
    let chosen = start;

    const load = (audio, samples) => {
      if (audio.src) URL.revokeObjectURL(audio.src);
      audio.src = URL.createObjectURL(new Blob([wav(samples)], { type: "audio/wav" }));
    };

    function choose(i) {
      chosen = i;
      draw();
      player.pause();
      const middle = instants[shown()][i];
      const [from, to] = [middle - HALF, middle + HALF].map((s) => Math.max(0, s * RATE));
      load(short, sounds[shown()].slice(from, to));
      short.play().catch(() => {}); // where nothing can be heard, the map is there all the same
    }

    function show() {
      load(player, sounds[shown()]);
      draw();
    }

    function draw() {
      const now = shown();
      const [begin, end] = times[now][chosen];
      const peak = instants[now][chosen];
      press(names, chosen, true);
      const step = WIDTH / loud.length;
      const wave = bars[now].map((tall, i) => {
        const half = (tall / 100) * (WAVE / 2);
        return `M${(i * step).toFixed(1)} ${(WAVE / 2 - half).toFixed(1)}v${(2 * half).toFixed(1)}`;
      });
      const cells = maps[now].map((row, i) =>
        row.map(([s, percent]) =>
          el("svg:rect", {
            x: x(s * STEP).toFixed(1),
            y: WAVE + i * ROW,
            width: x(STEP).toFixed(2),
            height: ROW - 1,
            "fill-opacity": Math.min(1, 0.2 + percent / 30).toFixed(2),
            class: i === chosen ? "sx-now" : null,
          }),
        ),
      );
      const height = WAVE + said.length * ROW + 22;
      const seam = x(seconds - after);
      const about = `The recording, and a row of the map for each of ${said.length} words`;
      picture.replaceChildren(
        drawing(WIDTH, height, { "aria-label": about }, [
          el("svg:rect", {
            class: "sx-spoken",
            x: x(begin),
            y: 0,
            width: x(end - begin),
            height: WAVE + said.length * ROW,
          }),
          way(wave.join(""), "sx-wave"),
          now ? line(seam, 0, seam, height - 22, "sx-seam") : null,
          cells,
          way(path([peak, peak].map((s, i) => [x(s), i ? WAVE + chosen * ROW : 0])), "sx-peak"),
          [0, 1, 2, 3, 4, 5, 6].map((s) =>
            words(`${s} s`, x(s), height - 3, s ? "middle" : "start"),
          ),
        ]),
      );
      status.textContent =
        `While it writes ${said[chosen]}, the head reads most at ${peak.toFixed(2)} s. ` +
        `The word is spoken from ${begin.toFixed(2)} to ${end.toFixed(2)} s.`;
    }

    show();
    return el("div", [
      buttons,
      status,
      picture,
      el("div.sx-bar", order ? order.element : null, player),
      order
        ? null
        : note(
            "Above, how loud the recording is; below, a row for each word that is written, dark where " +
              "one head of Whisper reads while writing it. The coloured band is the time in which the chosen word " +
              "is spoken, by a program that is given the text.",
          ),
    ]);
  }

  course.figures.spoken_words = build;
  course.figures.swapped_halves = build;
  return { wav, swap };
});
