// Needs: sha256.js
// The real model's file in this browser: loaded once, checked, kept for all pages, and deleted.
//
// It comes in pieces, which are hashed and become files of the origin's private file system, and so is
// never in memory as a whole. Their number is written last, when the SHA-256 is right: without it nothing
// is offered, and the next page removes what is there. Only one tab loads at a time.
// What fails is an Error whose message is a sentence for the reader.

course.define("modelFile", () => {
  const PINNED = {
    name: "SmolLM2-135M-Instruct.Q4_1.gguf", // as in scratchformer/data/real_model.py
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  };
  const KEPT = "course-real-model"; // a folder; also the name of the lock, and of the channel
  const PIECE = 4_194_304; // bytes
  const LEAST_MEMORY = 2; // GB: the model, and what the device does besides
  const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);

  // The pinned file; `address` is where the site has it
  function newModelFile(address) {
    const { name, bytes, sha256 } = PINNED;
    const number = `pieces-${sha256}`;
    const channel = new BroadcastChannel(KEPT);

    // Why this browser cannot have the model, known before anything is loaded; else ""
    function refusal() {
      const { deviceMemory = LEAST_MEMORY } = /** @type {any} */ (navigator); // only some tell it
      if (deviceMemory >= LEAST_MEMORY) return "";
      return `This device says that it has ${deviceMemory} GB of memory: too little for the model.`;
    }

    const fileOf = async (folder, name) => (await folder.getFileHandle(String(name))).getFile();
    const pieces = (folder, length) =>
      Promise.all(Array.from({ length }, (_, i) => fileOf(folder, i)));

    // The file as a Blob, or null
    async function kept() {
      try {
        const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(KEPT);
        const count = await (await fileOf(folder, number)).text();
        const blob = new Blob(await pieces(folder, Number(count)));
        return blob.size === bytes ? blob : null;
      } catch {
        return null; // it is not there, or this browser keeps nothing here
      }
    }

    async function clear() {
      const root = await navigator.storage.getDirectory();
      await root.removeEntry(KEPT, { recursive: true }).catch(() => {}); // it is not there
      return root;
    }
    async function forget() {
      await clear();
      channel.postMessage("deleted");
    }

    // Works while no other tab does. A page without an origin, as in a sandbox, shares nothing
    function alone(work, options) {
      const isShared = navigator.locks && self.origin !== "null";
      return isShared ? navigator.locks.request(KEPT, options, work) : work();
    }

    // What was left half done, or by an earlier edition, goes
    const tidy = () =>
      alone(async (lock) => lock && !(await kept()) && clear(), { ifAvailable: true });

    // Where pieces go: into files or, when that fails, into memory, but for those of a `chosen` file
    async function newStore(chosen) {
      const inMemory = /** @type {Blob[]} */ ([]);
      let count = 0; // of files
      let folder = await emptyFolder().catch(() => null); // it is forbidden

      async function write(name, data) {
        if (!folder) return false;
        try {
          const handle = await folder.getFileHandle(String(name), { create: true });
          const writable = await handle.createWritable();
          await writable.write(data);
          await writable.close();
          return true;
        } catch {
          if (!chosen) {
            for (const piece of await pieces(folder, count)) {
              inMemory.push(new Blob([await piece.arrayBuffer()]));
            }
          }
          folder = null; // there is no room
          await clear();
          return false;
        }
      }
      async function add(piece) {
        if (await write(count, piece)) count++;
        else if (!chosen) inMemory.push(new Blob([piece]));
      }
      async function end() {
        const isKept = await write(number, String(count));
        if (isKept) channel.postMessage("kept");
        const parts = isKept ? await pieces(folder, count) : inMemory;
        return { blob: (!isKept && chosen) || new Blob(parts), isKept };
      }
      return { add, end, drop: async () => folder && clear() };
    }
    async function emptyFolder() {
      return (await clear()).getDirectoryHandle(KEPT, { create: true });
    }

    // {blob, isKept} of a file that the reader has chosen
    async function take(chosen, step, signal) {
      if (chosen.size === bytes) return load(step, signal, chosen);
      const sizes = [chosen.size, bytes].map((size) => size.toLocaleString("en-US"));
      throw new Error(`This is another file than ${name}: ${sizes[0]} bytes, not ${sizes[1]}.`);
    }

    // The same from the site. `step` hears of each step, {is, done}; aborting `signal` stops it
    async function load(step, signal, chosen = null) {
      step({ is: "waiting" });
      return alone(
        async () => {
          const blob = await kept(); // another tab may have loaded it meanwhile
          return blob ? { blob, isKept: true } : receive(step, signal, chosen);
        },
        { signal },
      );
    }

    async function receive(step, signal, chosen) {
      const [store, hash] = [await newStore(chosen), course.sha256.newSha256()];
      let [done, difference] = [0, "it is longer"];
      try {
        step({ is: "loading", done });
        const reader = (chosen?.stream() ?? (await fetched(signal))).getReader();
        const piece = new Uint8Array(PIECE);
        let filled = 0;
        for (let part = await reader.read(); part.value; part = await reader.read()) {
          signal.throwIfAborted();
          hash.update(part.value);
          done += part.value.length;
          step({ is: "loading", done });
          if (done > bytes) break;
          for (let start = 0; start < part.value.length; ) {
            const some = part.value.subarray(start, start + PIECE - filled);
            piece.set(some, filled);
            start += some.length;
            filled += some.length;
            if (filled < PIECE) continue;
            await store.add(piece);
            filled = 0;
          }
        }
        if (done === bytes && filled) await store.add(piece.subarray(0, filled));
        if (done < bytes) throw new Error("the file ended there");
        if (done > bytes) await reader.cancel();
        else {
          const digest = hash.hex();
          if (digest === sha256) return await store.end();
          difference = `SHA-256 ${digest.slice(0, 12)}…`;
        }
      } catch (error) {
        await store.drop();
        if (signal.aborted) throw error;
        const amounts = `${megabytes(done)} of ${megabytes(bytes)} MB`;
        throw new Error(
          `Loading broke off at ${amounts} (${error.message}). Nothing is kept; a press begins anew.`,
        );
      }
      await store.drop();
      throw new Error(`This is another file than ${name} (${difference}). It is not kept.`);
    }

    async function fetched(signal) {
      const answer = await fetch(address, { signal, cache: "no-store" });
      if (!answer.ok || !answer.body) throw new Error(`the site answered ${answer.status}`);
      return answer.body;
    }

    // Calls this when another page has kept or deleted the file
    const follow = (look) => channel.addEventListener("message", look);
    tidy().catch(() => {});
    return { refusal, kept, forget, take, load, follow };
  }

  return { PINNED, newModelFile, megabytes };
});
