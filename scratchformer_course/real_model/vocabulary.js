// The tokenizer in a GGUF file of gguf.js, as tokenizer.js takes it: 256 bytes at most, and merges.

course.define("vocabulary", () => {
  // By llama.cpp's name, the patterns of scratchformer/tokenizers/patterns.py
  const WORDS = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+";
  const PATTERNS = {
    smollm: `\\p{N}|${WORDS}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?=\\p{N})|\\s+(?!\\S)|\\s+`,
    "gpt-2": `${WORDS}| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`,
  };
  const [ORDINARY, CONTROL] = [1, 3]; // the kinds of tokens that are read

  function check(isRight, message) {
    if (!isRight) throw new Error(`The file cannot be read: ${message}.`);
  }

  // The printable character that stands for each byte in GPT-2's files -> the byte
  function alphabet() {
    const byteOf = {};
    let others = 256;
    for (let byte = 0; byte < 256; byte++) {
      const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
      byteOf[String.fromCharCode(isPrintable ? byte : others++)] = byte;
    }
    return byteOf;
  }

  // Settings of the file -> a description. That merging by ids is merging in the order of the file's
  // list, Python has checked (ByteBPE.from_gguf).
  function describe(settings) {
    const [kind, name, tokens, kinds] = ["model", "pre", "tokens", "token_type"].map(
      (setting) => settings[`tokenizer.ggml.${setting}`],
    );
    const known = Object.keys(PATTERNS);
    const isKnown = kind === "gpt2" && known.includes(name);
    check(isKnown, `its tokenizer is ${kind}, ${name}, expected gpt2 with ${known.join(" or ")}`);
    const isRead = (token) => token === ORDINARY || token === CONTROL;
    const isComplete = tokens && kinds?.length === tokens.length && kinds.every(isRead);
    check(isComplete, "it holds no complete tokenizer");
    const byteOf = alphabet();
    const toByte = (letter) => String.fromCharCode(byteOf[letter]);
    const special_tokens = {};
    for (const [id, token] of tokens.entries()) {
      if (kinds[id] === CONTROL) special_tokens[token] = id;
    }
    return {
      tokenizer: "ByteBPE",
      pattern: PATTERNS[name],
      every_byte: false, // some have no token, and are left out
      special_tokens,
      tokens: tokens.map((token, id) =>
        kinds[id] === CONTROL ? token : Array.from(token, toByte).join(""),
      ),
    };
  }

  return { describe };
});
