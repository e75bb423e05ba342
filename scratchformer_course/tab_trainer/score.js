// What a run was worth, in plain words: how often it names the next character, beside tables of
// counts and beside the run before.

course.define("score", () => {
  const { el, format, title, note, table, bar, fold } = course.live;
  const { inHundred } = course.film;
  const REPEATED = 0.75; // a text in which a table of counts is right more often repeats itself
  const OPENING = 90; // characters of a sample that stand beside those of the other run

  // The model among the tables of counts, from the worst to the best
  function ladder({ right, loss, reads }, tables) {
    const mine = { name: `your GPT: ${reads} before`, right, nats: loss };
    const counts = tables.map((of, n) => ({ name: `count: ${n ? `${n} before` : "none"}`, ...of }));
    const rows = [...counts, mine].sort((a, b) => a.right - b.right);
    const cells = rows.map(({ name, right, nats }) => {
      return [name, inHundred(right), bar(right), format(nats, 2)];
    });
    const look = { class: "sx-bars sx-ladder" };
    const element = table(["looks at", "right in 100", "", "loss"], cells, look);
    element.tBodies[0].rows[rows.indexOf(mine)].classList.add("sx-own-row");
    return element;
  }

  // What the counts say of a run, and what they say of its text
  function verdict({ right, isOwnText }, tables) {
    const best = Math.max(...tables.map((counts) => counts.right));
    if (isOwnText && best > REPEATED) {
      return (
        "The text repeats itself. Even a plain table, which counts what followed the last few " +
        `characters, is right ${inHundred(best)} times in 100. So this score says more about memory ` +
        "than about learning."
      );
    }
    const passed = tables.filter((counts) => inHundred(right) > inHundred(counts.right)).length;
    const isAll = passed === tables.length;
    return (
      "Without any learning, a plain table, which counts what followed the last few characters, is " +
      `right up to ${inHundred(best)} times in 100. Your GPT beats ${isAll ? "all" : passed} of ` +
      `${tables.length} such tables${isAll ? "." : "; with longer training it beats more."}`
    );
  }

  // A run {choices: [[name, value]], right, loss, seconds, text, sample} beside another
  function comparison(run, other) {
    const differing = run.choices.filter(([, value], i) => value !== other.choices[i][1]);
    const before = Object.fromEntries(other.choices);
    const rows = [
      ...differing.map(([name, value]) => [name, value, before[name]]),
      ["right in 100", inHundred(run.right), inHundred(other.right)],
      ["loss", format(run.loss), format(other.loss)],
      ["seconds of training", format(run.seconds, 1), format(other.seconds, 1)],
    ];
    const opening = ({ sample }) => el("code", sample.slice(0, OPENING));
    const alike = differing.length ? "All other settings are" : "All settings are";
    return el("div", [
      title("This run and the one before"),
      table(["", "this run", "the run before"], rows, { class: "sx-two-runs" }),
      el("p", "This run writes: ", opening(run)),
      el("p", "The run before wrote: ", opening(other)),
      note(
        run.text === other.text
          ? `${alike} the same. In the plot, the run before is the grey line.`
          : "The two learned from different texts, so their scores are no contest.",
      ),
    ]);
  }

  // show(run) for a run that has ended, count(tables, seconds) when its counts are there; `ease` says
  // what the page's own text is worth
  function newScore(ease) {
    const element = el("div", { hidden: "" });
    const counts = el("div");
    let last = null;

    function show(run) {
      element.hidden = false;
      counts.replaceChildren();
      element.replaceChildren(
        el("p.sx-verdict", [
          "It gets the next character right ",
          el("strong", `${inHundred(run.right)} times in 100`),
          ` in the last tenth of ${run.isOwnText ? "your" : "the"} text, which was kept apart. ` +
            `Before training it was ${inHundred(run.untrained)}.`,
        ]),
        ease && !run.isOwnText ? el("p", ease) : "",
        counts,
        ...(last ? [comparison(run, last)] : []),
      );
      last = run;
    }

    function count(tables, seconds) {
      counts.replaceChildren(
        el("p", verdict(last, tables)),
        fold("Your GPT among the tables of counts", [
          ladder(last, tables),
          note(
            "A table that looks at the 3 characters before holds how often each character " +
              "followed each three in the text that the GPT learned from. The tables were counted " +
              `here in ${seconds < 0.1 ? "less than 0.1" : format(seconds, 1)} s, and are asked about ` +
              "the same last tenth of the text. The loss, in nats, says how much its characters " +
              "surprise each of them: less is better.",
          ),
        ]),
      );
    }
    return { element, show, count };
  }

  return { newScore };
});
