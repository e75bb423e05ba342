// Who does the work of a run: a worker, so that the page stays free, or the page itself where
// workers are not allowed. A worker is made of the scripts that the page holds already, so it
// starts from disk, too.

course.define("workers", () => {
  const PARTS = ["model", "kernels", "matrix", "trainer", "text", "export", "counts", "session"];
  const program = () => `${course.program(...PARTS)}\ncourse.session.serve();`;

  // The page does the work, between its own
  const onPage = (onmessage) =>
    course.session.newSession(course, onmessage, (f) => setTimeout(f, 0)).receive;

  // A function that sends a message to whoever works; what is answered comes to `onmessage`
  function startWork(onmessage) {
    let worker = null;
    try {
      const blob = new Blob([program()], { type: "text/javascript" });
      worker = new Worker(URL.createObjectURL(blob));
    } catch {
      return onPage(onmessage);
    }
    const sent = [];
    let send = (message) => {
      sent.push(message);
      worker.postMessage(message);
    };
    worker.onmessage = ({ data }) => onmessage(data);
    worker.onerror = ({ message }) => {
      if (message) return onmessage({ is: "failed", why: message });
      send = onPage(onmessage); // the worker could not even start
      sent.forEach(send);
    };
    return (message) => send(message);
  }

  return { startWork };
});
