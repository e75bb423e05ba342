// Who does the work of a run: one worker or two, so that the page stays free, or the page itself
// where workers are not allowed. Workers are made of the scripts that the page holds already, so
// they start from disk, too.
"use strict";

globalThis.scratchformerWorkers ??= (() => {
  // What a worker runs: the sources of all parts, and a session that messages speak to
  const program = () => `
    globalThis.scratchformerModel = ${scratchformerModel.source};
    globalThis.scratchformerMatrix = ${scratchformerMatrix.source};
    globalThis.scratchformerTrainer = ${scratchformerTrainer.source};
    const parts = { model: scratchformerModel, trainer: scratchformerTrainer,
      text: ${scratchformerText.source}, export: ${scratchformerExport.source},
      counts: ${scratchformerCounts.source} };
    const { port1, port2 } = new MessageChannel(), queue = [];
    port1.onmessage = () => queue.shift()();
    const later = (f) => { queue.push(f); port2.postMessage(null); };
    const send = (message, transfer) => postMessage(message, transfer ?? []);
    const { receive } = ${scratchformerSession.source}.newSession(parts, send, later);
    onmessage = ({ data }) => receive(data);`;

  // The page does the work, between its own
  function onPage(onmessage) {
    const parts = {
      model: scratchformerModel,
      trainer: scratchformerTrainer,
      text: scratchformerText,
      export: scratchformerExport,
      counts: scratchformerCounts,
    };
    return scratchformerSession.newSession(parts, onmessage, (f) => setTimeout(f, 0)).receive;
  }

  // A second worker helps the first, if it starts
  function addSecond(address, worker, send) {
    const { port1, port2 } = new MessageChannel();
    const second = new Worker(address);
    second.onerror = () => send({ do: "alone" });
    worker.postMessage({ do: "meet", port: port1 }, [port1]);
    second.postMessage({ do: "help", port: port2 }, [port2]);
  }

  // A function that sends a message to whoever works; what is answered comes to `onmessage`
  function startWork(onmessage) {
    const sent = []; // so far, in case that the worker does not start
    let send = null;
    try {
      const address = URL.createObjectURL(new Blob([program()], { type: "text/javascript" }));
      const worker = new Worker(address);
      send = (message) => {
        sent.push(message);
        worker.postMessage(message);
      };
      worker.onmessage = ({ data }) => onmessage(data);
      worker.onerror = ({ message }) => {
        if (message) return onmessage({ is: "failed", why: message });
        send = onPage(onmessage); // the worker could not even start
        for (const old of sent.splice(0)) send(old);
      };
      if (navigator.hardwareConcurrency > 1) {
        addSecond(address, worker, (message) => send(message));
      }
    } catch {
      send ??= onPage(onmessage);
    }
    return (message) => send(message);
  }

  return { startWork };
})();
