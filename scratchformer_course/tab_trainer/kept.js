// What the trainer keeps in this browser over a reload: the text, the settings, and the run with its
// model. It is sent nowhere. Where a browser forbids it, as some private windows do, nothing is kept.

course.define("kept", () => {
  const [BASE, STORE, KEY] = ["scratchformer-trainer", "kept", "all"];

  const answer = (request) =>
    new Promise((then, fail) => {
      request.onsuccess = () => then(request.result);
      request.onerror = () => fail(request.error);
    });

  async function within(mode, ask) {
    const opening = indexedDB.open(BASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    const base = await answer(opening);
    try {
      return await answer(ask(base.transaction(STORE, mode).objectStore(STORE)));
    } finally {
      base.close();
    }
  }

  // What was kept, or null
  const recall = () => within("readonly", (store) => store.get(KEY)).catch(() => null);
  const keep = (all) => within("readwrite", (store) => store.put(all, KEY));
  const forget = () => within("readwrite", (store) => store.delete(KEY)).catch(() => {});
  return { recall, keep, forget };
});
