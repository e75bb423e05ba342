// The tokenizer in a GGUF file of gguf.js, as tokenizer.js takes it.

course.define("vocabulary", () => {
  // SMOLLM2_PATTERN of scratchformer/tokenizers/patterns.py; llama.cpp calls it smollm
  const PATTERN =
    "\\p{N}|'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?[^\\s\\p{L}\\p{N}]+" +
    "|\\s+(?=\\p{N})|\\s+(?!\\S)|\\s+";
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
    const isKnown = kind === "gpt2" && name === "smollm";
    check(isKnown, `its tokenizer is ${kind}, ${name}, expected gpt2, smollm`);
    const isRead = (token) => token === ORDINARY || token === CONTROL;
    const isComplete = tokens && kinds?.length === tokens.length && kinds.every(isRead);
    check(isComplete, "it holds no complete tokenizer");
    const byteOf = alphabet();
    function toByte(letter) {
      check(letter in byteOf, `its token with ${letter} stands for no bytes`);
      return String.fromCharCode(byteOf[letter]);
    }
    const special_tokens = {};
    for (const [id, token] of tokens.entries()) {
      if (kinds[id] === CONTROL) special_tokens[token] = id;
    }
    return {
      tokenizer: "ByteBPE",
      pattern: PATTERN,
      every_byte: false, // some have no token, and are left out
      special_tokens,
      tokens: tokens.map((token, id) =>
        kinds[id] === CONTROL ? token : Array.from(token, toByte).join(""),
      ),
    };
  }

  return { describe };
});
