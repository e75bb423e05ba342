// What the trainer keeps in this browser over a reload: the text, the settings, and the run with its
// model. It is sent nowhere. Where a browser forbids it, as some private windows do, nothing is kept.

course.define("browserStore", () => {
  const [BASE, STORE, KEY] = ["scratchformer-trainer", "kept", "last"];

  const answer = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
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
  const read = () => within("readonly", (store) => store.get(KEY)).catch(() => null);
  const write = (all) => within("readwrite", (store) => store.put(all, KEY));
  const clear = () => within("readwrite", (store) => store.delete(KEY)).catch(() => {});
  return { read, write, clear };
});
