// The course's two tokenizers for JavaScript: text -> ids -> text, as in scratchformer/tokenizers.
//
// A CharTokenizer has a token for each character it knows. A ByteBPE cuts text by a pattern, turns
// each chunk into bytes, and merges neighbours, those with the lowest id first. It learns nothing.

course.define("tokenizer", () => {
  // Characters that Unicode does not take apart, and what stands for them if it is known
  const ALIKE = {
    "'": '“”„‟«»‹›"‘’‚‛`´′″',
    "-": "–—―‒−_~",
    ".": "。·•",
    ",": "、",
    ss: "ß",
    ae: "æ",
    AE: "Æ",
    oe: "œ",
    OE: "Œ",
    o: "ø",
    O: "Ø",
    d: "đð",
    D: "ĐÐ",
    l: "ł",
    L: "Ł",
    th: "þ",
    i: "ı",
  };

  // All that could stand for a character, the nearest first
  function nearest(character) {
    const plain = character.normalize("NFKD").replace(/\p{M}/gu, ""); // é -> e, … -> ...
    const candidates = [character, plain].flatMap((form) => [
      form,
      ...Object.keys(ALIKE).filter((key) => form && ALIKE[key].includes(form)),
      form.toLowerCase(),
      form.toUpperCase(),
    ]);
    return /\s/u.test(character) ? [...candidates, " "] : candidates;
  }

  function charTokenizer({ characters }) {
    const ids = new Map(characters.map((character, id) => [character, id]));
    const isKnown = (text) => text !== "" && Array.from(text).every((letter) => ids.has(letter));

    // Any text as one that can be encoded, and [character, what stands for it] for each change;
    // "" stands for what is left out
    function fit(text) {
      const changes = new Map();
      const kept = Array.from(text.normalize("NFC"), (character) => {
        if (ids.has(character)) return character;
        const substitute = nearest(character).find(isKnown) ?? "";
        changes.set(character, substitute);
        return substitute;
      });
      return { text: kept.join(""), changes: [...changes] };
    }
    const encode = (text) =>
      Array.from(text, (character) => {
        if (ids.has(character)) return ids.get(character);
        throw new Error(`“${character}” is not one of the ${ids.size} characters the model knows.`);
      });
    return { encode, fit, decode: (someIds) => someIds.map((id) => characters[id]).join("") };
  }

  // Python's \s in a pattern is Unicode's white space; JavaScript's has one character more
  function patternOf(python) {
    const space = "\\p{White_Space}";
    const translated = python
      .replaceAll(/\[\^\\s/g, `[^${space}`)
      .replaceAll("\\S", "\\P{White_Space}")
      .replaceAll("\\s", space);
    return new RegExp(translated, "gu");
  }

  // A token's bytes are kept as a string with one character for each byte
  function byteBPE({ tokens, special_tokens, pattern, every_byte = true }) {
    const special = new Map(Object.entries(special_tokens));
    const specialIds = new Set(special.values()); // text never becomes one of these
    const idOf = new Map();
    for (const [id, token] of tokens.entries()) if (!specialIds.has(id)) idOf.set(token, id);
    const all = [...tokens]; // and the special ones, by id
    for (const [name, id] of special) all[id] = toBytes(name);
    const chunks = patternOf(pattern);
    // Cuts before and after every name; of names that begin alike, the longest counts
    const names = [...special.keys()].sort((a, b) => b.length - a.length);
    const escaped = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    const namesApart = new RegExp(`(${escaped.join("|")})`);

    function toBytes(text) {
      return Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b)).join("");
    }

    // The ids of a chunk's pieces when no merge is left. A chunk that is a token becomes it, even
    // if no merges lead to it. onmerge(place, n, id), if given, hears of each step: at this place, n
    // pieces become the token `id`.
    /** @param {null | ((place: number, n: number, id: number) => void)} [onmerge] */
    function merge(bytes, onmerge = null) {
      const wholeChunk = idOf.get(bytes) ?? Infinity;
      if (!onmerge && wholeChunk < Infinity) return [wholeChunk];
      const pieces = every_byte ? [...bytes] : [...bytes].filter((byte) => idOf.has(byte));
      const joined = (i) => idOf.get(pieces[i] + pieces[i + 1]) ?? Infinity;
      const ids = pieces.map((_, i) => joined(i)); // of each piece with the one after it
      for (;;) {
        let best = Infinity;
        let place = -1;
        let n = 2;
        for (let i = 0; i + 1 < pieces.length; i++) {
          if (ids[i] < best) [best, place] = [ids[i], i];
        }
        if (wholeChunk < best && pieces.length > 1)
          [best, place, n] = [wholeChunk, 0, pieces.length];
        if (place < 0) return pieces.map((piece) => idOf.get(piece));
        onmerge?.(place, n, best);
        pieces.splice(place, n, pieces.slice(place, place + n).join(""));
        ids.splice(place, n, joined(place));
        if (place > 0) ids[place - 1] = joined(place - 1);
      }
    }

    // a character U+FEFF at the start is text, not a mark to be dropped
    const read = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

    function decode(ids) {
      const bytes = ids.map((id) => all[id]).join("");
      return read(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    }

    // half of a pair of UTF-16, which is no character, becomes U+FFFD first
    const wellFormed = (text) => read(new TextEncoder().encode(text));
    const cut = (text) => (wellFormed(text).match(chunks) ?? []).map(toBytes);
    const encodePart = (text) => cut(text).flatMap((chunk) => merge(chunk));
    // The name of a special token is ordinary text, unless `allowSpecial`
    function encode(text, allowSpecial = false) {
      if (!allowSpecial || !special.size) return encodePart(text);
      return text.split(namesApart).flatMap((part) => special.get(part) ?? encodePart(part));
    }
    const fit = (text) => ({ text, changes: [] }); // bytes have room for all characters
    return { encode, fit, decode, wellFormed, cut, merge, tokens: all };
  }

  // A description of Python -> {encode, decode}
  function load(description) {
    if (description.tokenizer === "CharTokenizer") return charTokenizer(description);
    if (description.tokenizer === "ByteBPE") return byteBPE(description);
    throw new Error(`no tokenizer ${description.tokenizer}, expected CharTokenizer or ByteBPE`);
  }

  return { load };
});
