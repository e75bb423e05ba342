// The real model's file in this browser: loaded once, checked, kept for all pages, and deleted.
//
// Only the pinned file is given and kept: all of it lies in memory when its SHA-256 is compared, and
// Cache Storage takes it in one step, so that nothing is ever half kept. Only one tab loads at a time.
// What fails is an Error whose message is a sentence for the reader.

course.define("modelFile", () => {
  const PINNED = {
    name: "SmolLM2-135M-Instruct.Q4_1.gguf", // as in scratchformer/data/real_model.py
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  };
  const CACHE = "course-real-model"; // also the name of the lock, and of the channel
  const NOWHERE = "https://kept.invalid/"; // Cache Storage asks for an address
  const LEAST_MEMORY = 2; // GB: what is loaded, its copies while it is checked, and the page
  const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
  const hex = (buffer) =>
    Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

  // The pinned file; `address` is where the site has it
  function newModelFile(address) {
    const { name, bytes, sha256 } = PINNED;
    const key = NOWHERE + sha256;
    const channel = new BroadcastChannel(CACHE);

    // Why this browser cannot have the model, known before anything is loaded; else ""
    function refusal() {
      const { deviceMemory = LEAST_MEMORY } = /** @type {any} */ (navigator); // only some tell it
      if (deviceMemory < LEAST_MEMORY) {
        return `This device says that it has ${deviceMemory} GB of memory: too little for the model.`;
      }
      return globalThis.crypto?.subtle
        ? ""
        : "A browser checks files only on pages from https, localhost or a disk: nothing is loaded.";
    }

    // The file as a Blob, or null
    async function kept() {
      try {
        const answer = await (await caches.open(CACHE)).match(key);
        const blob = await answer?.blob();
        return blob?.size === bytes ? blob : null;
      } catch {
        return null; // this browser keeps nothing here
      }
    }

    // Whether it is kept now; an earlier edition's file is not any more
    async function keep(data) {
      try {
        await caches.delete(CACHE);
        await (await caches.open(CACHE)).put(key, new Response(data));
        channel.postMessage("kept");
        return true;
      } catch {
        return false; // forbidden, or there is no room
      }
    }

    async function forget() {
      await caches.delete(CACHE);
      channel.postMessage("deleted");
    }

    // The pinned file, or an Error
    async function checked(data) {
      const digest = hex(await crypto.subtle.digest("SHA-256", data));
      if (data.byteLength === bytes && digest === sha256) {
        const isKept = await keep(data);
        return { blob: (isKept && (await kept())) || new Blob([data]), isKept };
      }
      const other = `${data.byteLength.toLocaleString("en-US")} bytes, SHA-256 ${digest.slice(0, 12)}…`;
      throw new Error(`This is another file than ${name} (${other}). It is not kept.`);
    }

    // {blob, isKept} of a file that the reader has chosen
    async function take(file) {
      if (file.size === bytes) return checked(await file.arrayBuffer());
      const sizes = [file.size, bytes].map((size) => size.toLocaleString("en-US"));
      throw new Error(`This is another file than ${name}: ${sizes[0]} bytes, not ${sizes[1]}.`);
    }

    // The same from the site. `step` hears of each step, {is, done}; aborting `signal` stops it
    async function load(step, signal) {
      async function work() {
        const blob = await kept(); // another tab may have loaded it meanwhile
        return blob ? { blob, isKept: true } : checked(await fetched(step, signal));
      }
      step({ is: "waiting" });
      return navigator.locks ? navigator.locks.request(CACHE, { signal }, work) : work();
    }

    async function fetched(step, signal) {
      let done = 0;
      step({ is: "loading", done });
      try {
        const answer = await fetch(address, { signal, cache: "no-store" });
        if (!answer.ok || !answer.body) throw new Error(`the site answered ${answer.status}`);
        const [data, reader] = [new Uint8Array(bytes), answer.body.getReader()];
        for (let part = await reader.read(); part.value; part = await reader.read()) {
          data.set(part.value.subarray(0, bytes - done), done); // and nothing beyond
          done += part.value.length;
          step({ is: "loading", done });
        }
        step({ is: "checking", done });
        if (done < bytes) throw new Error("the file ended there");
        return data;
      } catch (error) {
        if (signal.aborted) throw error;
        const amounts = `${megabytes(done)} of ${megabytes(bytes)} MB`;
        throw new Error(
          `Loading broke off at ${amounts} (${error.message}). Nothing is kept; a press begins anew.`,
        );
      }
    }

    // Calls this when another page has kept or deleted the file
    const follow = (look) => channel.addEventListener("message", look);
    return { refusal, kept, forget, take, load, follow };
  }

  return { PINNED, newModelFile, megabytes };
});
