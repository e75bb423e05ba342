// Who does long work: a worker, so that the page stays free, or the page itself where workers are
// not allowed. A worker is made of the scripts that the page holds already, so it starts from disk,
// too.
//
// The work is a part of the course with newSession(course, send, later) -> {receive}: it is told what
// to do by messages, and sends what is done. `later(f)` calls f when messages have been read.

course.define("workers", () => {
  // What a worker runs when its parts are defined
  function serve(part) {
    const { port1, port2 } = new MessageChannel();
    const queue = [];
    port1.onmessage = () => queue.shift()();
    const later = (f) => {
      queue.push(f);
      port2.postMessage(null);
    };
    const send = (message, transfer = []) => postMessage(message, { transfer });
    const { receive } = part.newSession(course, send, later);
    globalThis.onmessage = ({ data }) => receive(data);
  }

  // `parts` are what the work needs, the last of them the work itself. What it sends comes to
  // `onmessage`. `send` sends it a message, and `stop` ends it at once
  function startWork(parts, onmessage) {
    const name = parts.at(-1);
    const onPage = () =>
      course[name].newSession(course, onmessage, (f) => setTimeout(f, 0)).receive;
    let worker;
    try {
      const program = `${course.program(...parts)}\n(${serve})(course.${name});`;
      worker = new Worker(URL.createObjectURL(new Blob([program], { type: "text/javascript" })));
    } catch {
      return { send: onPage(), stop: () => {} };
    }
    const sent = [];
    let send = (message) => {
      sent.push(message);
      worker.postMessage(message);
    };
    worker.onmessage = ({ data }) => onmessage(data);
    worker.onerror = ({ message }) => {
      if (message) return onmessage({ is: "failed", why: message });
      send = onPage(); // the worker could not even start
      sent.forEach(send);
    };
    return { send: (message) => send(message), stop: () => worker.terminate() };
  }

  return { startWork };
});
