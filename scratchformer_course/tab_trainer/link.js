// A text in a link: deflated, as base64 of the letters that an address may have. It is behind the #,
// which no server is sent. zlib's form of it ends in a sum over the text, so that damage is noticed.

course.define("link", () => {
  const MOST = 32000; // characters in a link, some 55,000 of a text: more are cut by some programs
  const LARGEST = 400000; // bytes of a text

  async function through(stream, bytes) {
    const piped = new Blob([bytes]).stream().pipeThrough(stream);
    return new Uint8Array(await new Response(piped).arrayBuffer());
  }

  async function pack(text) {
    const bytes = await through(new CompressionStream("deflate"), text);
    const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  // The text, or null if it is damaged or too long
  async function unpack(packed) {
    try {
      const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
      const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
      if (packed.length > MOST) return null;
      const text = await through(new DecompressionStream("deflate"), bytes);
      return text.length < LARGEST ? new TextDecoder().decode(text) : null;
    } catch {
      return null;
    }
  }

  return { pack, unpack, MOST };
});
