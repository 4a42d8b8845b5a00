/** Finds the tokens of code. It is large: a worker of the web app loads it, and a terminal with colours. */
import { core, GRAMMARS } from "./highlight_js.js";
import type { Token, Tone } from "./tokens.ts";

/** By the first part of a scope; what is not in here is as what it lies in. */
const TONES: Record<string, Tone | undefined> = {
  addition: "addition",
  attr: "type",
  attribute: "type",
  built_in: "type",
  bullet: "keyword",
  char: "string",
  class: "type",
  code: "string",
  comment: "comment",
  deletion: "deletion",
  doctag: "keyword",
  function: "title",
  keyword: "keyword",
  link: "string",
  literal: "number",
  meta: "comment",
  name: "keyword",
  number: "number",
  quote: "comment",
  regexp: "string",
  section: "title",
  selector: "keyword",
  string: "string",
  subst: undefined,
  symbol: "number",
  template: "type",
  title: "title",
  type: "type",
  variable: "type",
};

/** Collects tokens where highlight.js would make HTML; neighbours of one tone become one. */
class Tokens {
  readonly tokens: Token[] = [];
  readonly #tones: (Tone | undefined)[] = [];

  addText(text: string): void {
    this.#add({ text, tone: this.#tones.at(-1) });
  }

  startScope(scope: string): void {
    const [name] = scope.split(/[.-]/);
    this.#tones.push(name in TONES ? TONES[name] : this.#tones.at(-1));
  }

  endScope(): void {
    this.#tones.pop();
  }

  openNode(scope: string): void {
    this.startScope(scope);
  }

  closeNode(): void {
    this.endScope();
  }

  __addSublanguage(inner: Tokens): void {
    for (const { text, tone } of inner.tokens) {
      this.#add({ text, tone: tone ?? this.#tones.at(-1) });
    }
  }

  finalize(): void {}

  toHTML(): string {
    return "";
  }

  #add({ text, tone }: Token): void {
    const last = this.tokens.at(-1);
    if (last !== undefined && last.tone === tone) last.text += text;
    else if (text !== "") this.tokens.push({ text, tone });
  }
}

/** An instance of its own: the package's has the settings of whoever was there first. */
function makeParser() {
  const parser = core.newInstance();
  for (const [name, grammar] of Object.entries(GRAMMARS)) parser.registerLanguage(name, grammar);
  parser.registerAliases(["shell"], { languageName: "bash" });
  parser.configure({ __emitter: Tokens });
  return parser;
}

const parser = makeParser();

/** The tokens of code; together they are its text. @throws {Error} for an unknown language. */
export function tokensOf(code: string, language: string): Token[] {
  const { _emitter, errorRaised } = parser.highlight(code, { language, ignoreIllegals: true });
  // It has stopped somewhere then.
  if (errorRaised !== undefined) return [{ text: code }];
  return (_emitter as Tokens).tokens;
}
