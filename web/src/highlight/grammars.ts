/** Finds the tokens of code. It is large: only the worker of token_worker.ts imports it. */
import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { Token, Tone } from "./tokens.ts";

const GRAMMARS = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  markdown,
  python,
  ruby,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};

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
  return (_emitter as unknown as Tokens).tokens;
}
