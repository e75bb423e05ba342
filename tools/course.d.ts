// What crosses the files of the course's JavaScript, for `npx tsc -p jsconfig.json`: nothing here
// runs. A part that is not listed may be anything.

/** A figure's numbers as Python gave them (`LiveFigure.settings`), and what stands in the page. */
type Figure = (settings: any, host: HTMLElement) => Element;
type Child = Node | string | number | null | Child[];
type Attributes = Record<string, unknown>;
type Numbers = ArrayLike<number> & Iterable<number>;

interface Course {
  /** The script of this name, run once: what it gives is a part of the course. */
  define<Name extends string>(name: Name, script: () => PartOf<Name>): void;
  /** The text of a program in which these parts are defined, for a worker. */
  program(...names: string[]): string;
  /** Whether this is a page, and neither Node.js nor a worker. */
  isPage: boolean;
  el(name: string, ...rest: (Attributes | Child)[]): any;
  button(text: Child, onclick: () => void, attributes?: Attributes): HTMLButtonElement;
  store: {
    recall(key: string): string | null;
    recallObject(key: string): any;
    keep(key: string, text: string | null): boolean;
    /** Calls this when what is kept may be another. */
    follow(show: () => void): void;
  };
  figures: Record<string, Figure>;
  descriptions: Record<string, any>;
  /** The one of this hash; throws if the page does not hold it (yet). */
  described(hash: string, what?: string): any;
  live: Live;
  model: ModelScript;
  [part: string]: any;
}
type PartOf<Name> = Name extends "live" ? Live : Name extends "model" ? ModelScript : unknown;

/** Of a slider: get() reads it, set(number) moves it. */
interface Slider {
  element: HTMLElement;
  min: number;
  max: number;
  get(): number;
  set(number: number): void;
}
interface Checked {
  box: HTMLInputElement;
  element: HTMLLabelElement;
}

/** What live figures are built of: kit/figure/live_figure.js. */
interface Live {
  el: Course["el"];
  newId(name: string): string;
  button: Course["button"];
  title(text?: Child): HTMLElement;
  note(text: Child): HTMLElement;
  table(columns: Child[], rows: Child[][], attributes?: Attributes, sums?: Child[][]): HTMLTableElement;
  bar(p: number): HTMLElement;
  label(text: string, field: HTMLElement): HTMLLabelElement;
  wordMap(
    words: string[],
    does: string,
    colour: string,
    choose: (t: number) => void,
  ): {
    element: HTMLTableElement;
    cells: HTMLElement[][];
    show(weights: Numbers[], asks: number, isClosed: (t: number, s: number) => boolean): void;
  };
  wordBars(
    name: string,
    words: Element[],
    colour: string,
  ): { element: HTMLElement; show(shares: number[], texts: string[]): void };
  numberField(
    name: string,
    largest: number,
    on: { write(number: number): void; refuse?(): void; left(): void },
  ): { input: HTMLInputElement; fill(number: number): void };
  slider(
    name: string,
    range: {
      min?: number;
      max: number;
      step?: number;
      value: number;
      show?: (number: number) => string;
    },
    oninput?: () => void,
  ): Slider;
  sliderOver(name: string, texts: string[], oninput: () => void, value?: number): Slider;
  choice(
    name: string,
    texts: string[],
    onchoose: (i: number) => void,
    chosen?: number,
  ): { element: HTMLElement; buttons: HTMLButtonElement[]; at(): number };
  check(text: Child, onchange?: (isOn: boolean) => void, attributes?: Attributes, isOn?: boolean): Checked;
  newSwitch(text: Child, onchange?: (isOn: boolean) => void, attributes?: Attributes, isOn?: boolean): Checked;
  seedField(
    value: number,
    onchange?: () => void,
  ): { element: HTMLElement; input: HTMLInputElement; get(): number };
  newStatus(text?: string): HTMLElement;
  region(tag: string, name: string, ...children: Child[]): any;
  scrolling(kind: string, name: string): HTMLElement;
  fold(name: string, ...children: Child[]): HTMLDetailsElement;
  tabs(
    parts: { title: string; panel: HTMLElement; tab?: HTMLElement }[],
    show: (part: any) => void,
  ): { list: HTMLElement; choose(part: any): void };
  bars(numbers: Numbers, colour: string, name: string): HTMLElement;
  roving(
    host: HTMLElement,
    at: (row: number, column: number) => HTMLElement | null | undefined,
    onmove?: (to: HTMLElement) => void,
  ): void;
  rovingLine(host: HTMLElement, line: () => (HTMLElement | undefined)[]): void;
  gridCursor(grid: HTMLElement, choose: (row: number, column: number) => void): void;
  press(buttons: Iterable<Element>, place: number | null, stops?: boolean): void;
  player(
    stops: Slider,
    next: () => number,
    still?: string,
  ): { button: HTMLButtonElement; moved(): void };
  draggable(
    svg: SVGSVGElement,
    grip: SVGElement,
    start: (place: DOMPoint) => void,
    move: (place: DOMPoint) => void,
  ): void;
  placeIn(svg: SVGSVGElement, event: MouseEvent): DOMPoint;
  turnable(
    svg: SVGSVGElement,
    grip: SVGElement,
    middle: { x: number; y: number },
    begin: (place: DOMPoint) => { sliders: Slider[]; radians: number },
  ): void;
  drawing(width: number, height: number, attributes: Attributes, ...children: Child[]): any;
  words(text: string | number, x: number, y: number, anchor?: string): SVGTextElement;
  line(...ends: any[]): SVGLineElement; // x, y of both, and a class
  circle(...place: any[]): any; // x, y, radius, and a class
  way(d: string, kind?: string): SVGPathElement;
  named(name: Child, colour: string): HTMLElement;
  path(points: Numbers[]): string;
  shadedMap(
    T: number,
    shades: number,
    shadeOf: (t: number, s: number) => number,
    attributes?: Attributes,
  ): SVGPathElement[];
  describe(element: Element, text: string): void;
  format(number: number, digits?: number): string;
  grouped(number: number): string;
  percent(p: number): string;
  visible(text: string): string;
  listed(names: string[]): string;
  sum(numbers: Numbers): number;
  mean(numbers: Numbers): number;
  listOf<T>(length: number, make: (i: number) => T): T[];
  ranked(numbers: { keys(): Iterable<number> }): number[];
  start(): void;
  fetchLast(): Promise<void>;
}

/** A model as Python writes it (`page_model.describe`), its weights in base64. */
interface Description {
  config: Config;
  tensors: { name: string; shape: number[] }[];
  weights: string;
  bits?: 8 | 16;
  tokenizer?: any;
}
interface Config {
  vocab_size: number;
  context_length: number;
  d_model: number;
  n_heads: number;
  n_layers: number;
  [setting: string]: any;
}
interface Model {
  config: Config;
  weights: any; // by name, a Float32Array each
}
interface TokenCache {
  ids: number[];
  k: Float32Array[];
  v: Float32Array[];
}
interface Off {
  heads?: number[][]; // [layer, head]
  blocks?: number[];
  positions?: boolean;
  scale?: boolean;
  causal?: boolean;
}
interface Run {
  logits: Float32Array;
  attention: (Float32Array | null)[];
  stream: Float32Array[];
}
interface Rules {
  temperature?: number;
  top_k?: number | null;
  top_p?: number | null;
}
type Hook = (name: string, array: Float32Array) => void;

/** The GPT in the page: page_model/model.js. */
interface ModelScript {
  load(description: Description): Model;
  newCache(model: Model): TokenCache;
  forward(
    model: Model,
    ids: number[],
    options?: { cache?: TokenCache; off?: Off; hook?: Hook },
  ): Run;
  readOut(model: Model, x: Float32Array): Float32Array;
  parts: any;
  softmax<Scores extends number[] | Float32Array | Float64Array>(
    scores: Scores,
    start?: number,
    length?: number,
    scale?: number,
  ): Scores;
  losses(logits: Float32Array, ids: number[]): number[];
  probabilities(logits: Numbers, rules?: Rules): Float64Array;
  generator(seed: number): () => number;
  pick(p: Float64Array, u: number): number;
  generate(
    model: Model,
    ids: number[],
    options?: Rules & { seed?: number; off?: Off },
  ): Generator<any, never>;
}

declare var course: Course;

// What a page holds is known to its HTML
interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
interface Element {
  closest(selectors: string): any;
}
interface Document {
  activeElement: any;
}
interface Window {
  MathJax?: any;
}
