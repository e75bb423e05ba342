// Who does the work of a run: one worker or two, so that the page stays free, or the page itself
// where workers are not allowed. Workers are made of the scripts that the page holds already, so
// they start from disk, too.

course.define("workers", () => {
  const PARTS = ["model", "kernels", "matrix", "trainer", "text", "export", "counts", "session"];

  // What a worker runs
  const program = () => `${course.program(...PARTS)}\ncourse.session.serve();`;

  // The page does the work, between its own
  const onPage = (onmessage) =>
    course.session.newSession(course, onmessage, (f) => setTimeout(f, 0)).receive;

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
});
