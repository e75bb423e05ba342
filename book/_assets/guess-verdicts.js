// What a guess is, what is wrong with one, and how far it is off: the calculations of guess.js,
// which need no page.

course.define("verdicts", () => {
  const parts = (text) => text.split("|").map((part) => part.trim());

  // What an element for a guess asks for, from its data-attributes
  function read({ ask, answer, unit = "", choices, answerIs }) {
    const kind = choices ? "choice" : "numbers";
    const answers = kind === "choice" ? [answer] : parts(answer);
    const several = kind === "numbers" && answers.length > 1;
    return {
      kind,
      ask: several ? parts(ask).join(", ") : ask,
      asks: several ? parts(ask) : [ask],
      options: choices ? parts(choices) : [],
      answers,
      unit,
      source: answerIs === "prose" ? "the answer is" : "the output shows",
    };
  }

  // What a reader typed, without the unit
  function bare(text, unit = "") {
    const trimmed = text.trim();
    const ends = unit && trimmed.toLowerCase().endsWith(unit.toLowerCase());
    return ends ? trimmed.slice(0, -unit.length).trim() : trimmed;
  }

  // 1,234.5 and 0,5 and 1/256 and ½ and −2 and 2e3 and 70 %: a number, or NaN
  function parse(text) {
    if (/\d\s*%\s*$/.test(text)) return parse(text.replace("%", "")) / 100;
    const typed = text
      .trim()
      .replace(/^[−–‐‑]\s*|^-\s+/, "-")
      .replace(/^(-?)([¼-¾⅐-⅞])$/, (_, sign, half) => sign + half.normalize("NFKD"))
      .replace("⁄", "/");
    const fraction = typed.split("/");
    if (fraction.length === 2) {
      const share = parse(fraction[0]) / parse(fraction[1]);
      return Number.isFinite(share) ? share : NaN;
    }
    const english = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(typed); // commas by thousands
    const plain = english ? typed.replaceAll(",", "") : typed.replace(",", ".");
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  }

  // What is wrong with a typed number; nothing if it will do
  function fault(text, unit) {
    const number = parse(bare(text, unit));
    if (!text.trim()) return "Write a number first.";
    if (Number.isNaN(number)) return `“${text.trim()}” is not a number. Write it in figures.`;
    if (unit === "%" && (number < 0 || number > 100)) return "Write a share from 0 to 100 %.";
    return "";
  }

  // What is wrong with each value of a guess; all are empty if it will do
  function faults({ kind, asks, options, unit }, values) {
    if (kind === "numbers") return asks.map((_, i) => fault(values[i] ?? "", unit));
    return [options.includes(values[0]) ? "" : "Choose one first."];
  }

  const decimals = (text) => text.split(".")[1]?.length ?? 0;

  // How far a number is off, in a sentence
  function verdict(guess, answer, unit) {
    const off = parse(guess) - parse(answer);
    const size = Math.abs(off);
    if (size < 1e-9) return "You are exactly right.";
    const digits = `${guess}${answer}`.includes("/")
      ? { maximumSignificantDigits: 2 }
      : {
          maximumFractionDigits: Math.max(
            ...[guess, answer].map((text) => decimals(String(parse(text)))),
          ),
        };
    const shown = size.toLocaleString("en-US", digits);
    if (!/[1-9]/.test(shown)) return "You are very close."; // nearer than its digits can say
    return `You are ${shown}${unit === "%" ? " points" : ""} too ${off > 0 ? "high" : "low"}.`;
  }

  // A guess beside its answer: the first line says the guess, the others how good it is
  function lines({ kind, asks, answers, unit, source }, values) {
    const number = (text) => (unit ? `${text}\u00a0${unit}` : text);
    const upper = source[0].toUpperCase() + source.slice(1);
    if (kind === "numbers" && asks.length === 1) {
      const sentence = `${upper} ${number(answers[0])}.`;
      return [
        `Your guess: ${number(values[0])}.`,
        `${sentence} ${verdict(values[0], answers[0], unit)}`,
      ];
    }
    if (kind === "numbers") {
      const sentences = asks.map(
        (ask, i) =>
          `${ask}: your guess is ${number(values[i])}, ${source} ${number(answers[i])}. ` +
          verdict(values[i], answers[i], unit),
      );
      return ["Your guesses.", ...sentences];
    }
    const judged = values[0] === answers[0] ? " You are right." : "";
    return [`Your guess: ${values[0]}.`, `${upper}: ${answers[0]}.${judged}`];
  }

  return { read, bare, parse, fault, faults, verdict, lines };
});
