// The card of the wager: what the reader believes of the memory of his machine, and his forecast. The
// browser keeps it. It is filled in at the beginning of the chapter, and settled at its end.

course.define("wager", () => {
  const { el, button, numberField, newStatus, table, note, format } = course.live;
  const { store } = course;
  const KEY = "course-wager";
  const LARGEST = 1e6;
  const FIELDS = {
    bandwidth: "Bandwidth of your memory, in GB/s",
    forecast: "Your forecast, in tokens a second",
  };
  const shows = [];
  let card = recalled();

  // What is kept, but for what is no number of such a card
  function recalled() {
    const kept = store.recallObject(KEY);
    const isGood = ([name, number]) => name in FIELDS && number > 0 && number <= LARGEST;
    return Object.fromEntries(Object.entries(kept ?? {}).filter(isGood));
  }

  function write(name, number) {
    const { [name]: _, ...others } = card;
    card = number > 0 ? { ...others, [name]: number } : others;
    store.keep(KEY, JSON.stringify(card));
    for (const show of shows) show();
  }

  store.follow(() => {
    card = recalled();
    for (const show of shows) show();
  });

  // The card, or some of its fields; changed(card) hears of what is written in this or in another figure
  function newCard(changed, names = Object.keys(FIELDS)) {
    const fields = names.map((name) => {
      const field = numberField(FIELDS[name], LARGEST, {
        write: (number) => write(name, number),
        refuse: () => write(name, 0),
        left: () => show(),
      });
      return { name, ...field };
    });
    function show() {
      for (const { name, fill } of fields) fill(card[name] ?? "");
      changed(card);
    }
    const rows = fields.map(({ name, input }) =>
      el("label.sx-wager-field", el("span", FIELDS[name]), input),
    );
    shows.push(show);
    return { element: el("div.sx-wager-card", rows), show };
  }

  // How many bytes one core copies in a second, from memory that is too large for its caches
  function copiedASecond() {
    const from = new Uint8Array(1 << 27).fill(1);
    const to = new Uint8Array(1 << 25);
    const rates = Array.from({ length: 20 }, (_, i) => {
      const start = performance.now();
      to.set(from.subarray((i % 4) * to.length, ((i % 4) + 1) * to.length));
      return (1000 * to.length) / Math.max(performance.now() - start, 0.1);
    });
    return Math.max(...rates);
  }

  function build({ memories }) {
    const status = newStatus();
    const { element, show } = newCard(({ bandwidth, forecast }) => {
      status.textContent =
        bandwidth && forecast
          ? "Both are written down, and this browser keeps them."
          : "Write both numbers down. If you do not know the first, take one from the table.";
    });
    const measure = button("Measure this tab", () => {
      const said = card.bandwidth ? ` You wrote ${format(card.bandwidth, 1)}.` : "";
      status.textContent = `In this tab one core copies ${format(copiedASecond() / 1e9, 1)} GB/s.${said}`;
    });
    show();
    return el("div.sx-wager", [
      el("div", element, measure, status),
      el("div", note("By their makers' sheets, at most:"), table(["", "GB/s"], memories)),
    ]);
  }

  course.figures.wager = build;
  return { newCard };
});
