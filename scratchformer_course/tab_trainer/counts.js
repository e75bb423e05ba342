// The rival of a trained model: tables that count which character follows which, on the same text.
//
// Table n knows the n characters before. Behind characters that it has met N times, with T different
// followers, one that came c times has the probability (c + T · p) / (N + T), where p is that of
// table n - 1 (Witten and Bell 1991). Nothing in it is chosen, so nothing has to be tried out.

course.define("counts", () => {
  const LONGEST = 5; // characters before, in the last table

  // ids below `cut` are counted, those behind it are judged; the one at `cut` has nothing before it.
  // Gives for each table the share of characters that it names (its likeliest is the right one), and
  // the mean of -ln p. Places that have the same characters before them stand side by side: first
  // all of them, then they are sorted by the character before, then by the one before that.
  function judge(ids, cut, V, longest = LONGEST) {
    const places = Int32Array.from(ids.keys());
    const sorted = new Int32Array(ids.length);
    const tables = Array.from({ length: longest + 1 }, () => ({ right: 0, nats: 0 }));
    const levels = tables.map(() => ({ p: new Float64Array(V), ends: new Int32Array(V + 1) }));
    const tally = new Int32Array(V);
    const judged = ids.length - cut - 1;

    function note(n, right, p) {
      tables[n].right += right / judged;
      tables[n].nats -= Math.log(p) / judged;
    }

    // The places from..to have the same n characters before them; `lower` is table n - 1's p there
    function visit(from, to, n, lower) {
      const { p, ends } = levels[n];
      let all = 0;
      let kinds = 0;
      tally.fill(0);
      for (let i = from; i < to; i++) {
        if (places[i] >= cut) continue;
        if (tally[ids[places[i]]]++ === 0) kinds += 1;
        all += 1;
      }
      let best = 0;
      for (let c = 0; c < V; c++) {
        p[c] = all ? (tally[c] + kinds * lower[c]) / (all + kinds) : lower[c];
        if (p[c] > p[best]) best = c;
      }
      for (let i = from; i < to; i++) {
        const id = ids[places[i]];
        if (places[i] > cut) note(n, best === id, p[id]);
      }
      if (n === longest) return;
      sort(from, to, n + 1, ends);
      for (let c = 0; c < V; c++) {
        const [start, end] = [ends[c], ends[c + 1]];
        if (places.subarray(start, end).some((t) => t > cut)) visit(start, end, n + 1, p);
      }
    }

    // By the character `back` places before; the text's first places have none and are dropped
    function sort(from, to, back, ends) {
      ends.fill(0);
      for (let i = from; i < to; i++) {
        if (places[i] >= back) ends[ids[places[i] - back] + 1] += 1;
      }
      ends[0] = from;
      for (let c = 0; c < V; c++) ends[c + 1] += ends[c];
      for (let i = from; i < to; i++) {
        if (places[i] >= back) sorted[ends[ids[places[i] - back]]++] = places[i];
      }
      places.set(sorted.subarray(from, ends[V - 1]), from);
      for (let c = V; c > 0; c--) ends[c] = ends[c - 1];
      ends[0] = from;
    }

    visit(0, ids.length, 0, new Float64Array(V).fill(1 / V));
    return tables;
  }

  return { judge };
});
