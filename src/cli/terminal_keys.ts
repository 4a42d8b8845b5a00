/** Keys from the bytes that a terminal sends (ECMA-48 sequences as xterm sends them). */
import { type Key, type Modifiers, named } from "../features/tui/keys.ts";
import { answerIn, type Background } from "./theme_choice.ts";
import { graphemes } from "../features/tui/text.ts";

const ESC = "\x1b";
const PASTE_END = "\x1b[201~";
// deno-lint-ignore no-control-regex -- an escape sequence is what is looked for
const CSI = /^\x1b\[(\[?[0-9:;<=>?]*[ -/]*)([@-~])/;
// deno-lint-ignore no-control-regex -- as above
const CSI_BEGUN = /^\x1b\[\[?[0-9:;<=>?]*[ -/]*$/;
// deno-lint-ignore no-control-regex -- as above
const TEXT = /^[^\x00-\x1f\x7f]+/;

const FINAL: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
};
const KEYPAD_ENTER = "M";
const NUMBERED: Record<number, string> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};
const CONTROLS: Record<number, string> = {
  8: "backspace",
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
};
const PASTE_BEGINS = 200;
/** xterm's modifyOtherKeys: `CSI 27 ; modifiers ; code ~`. */
const OTHER_KEY = 27;

/**
 * Decodes raw terminal input. Sequences and characters may be split anywhere; unknown sequences are
 * dropped whole.
 */
export class KeyDecoder {
  readonly #utf8 = new TextDecoder();
  #rest = "";
  #pasted: string | undefined;

  /** @param onBackground called with the terminal's background, once it tells. */
  constructor(readonly onBackground: (background: Background | undefined) => void = () => {}) {}

  /** Takes bytes. @returns the keys that are complete. */
  feed(bytes: Uint8Array): Key[] {
    this.#rest += this.#utf8.decode(bytes, { stream: true });
    const keys: Key[] = [];
    for (let taken; this.#rest !== "" && (taken = this.#take(keys)) > 0;) {
      this.#rest = this.#rest.slice(taken);
    }
    return keys;
  }

  /** Whether a sequence has begun; it is a lone Esc if nothing follows. */
  get waiting(): boolean {
    return this.#pasted === undefined && this.#rest.startsWith(ESC) &&
      answerIn(this.#rest) === undefined;
  }

  /** Ends a begun sequence as the Esc key. */
  flush(): Key[] {
    if (!this.waiting) return [];
    this.#rest = "";
    return [named("escape")];
  }

  /** Takes one key off the front. @returns its code units; 0 while it is incomplete. */
  #take(keys: Key[]): number {
    const text = this.#rest;
    if (this.#pasted !== undefined) return this.#takePasted(keys);
    const answer = answerIn(text);
    if (answer !== undefined) {
      if (answer.length > 0) this.onBackground(answer.background);
      return answer.length;
    }
    if (text[0] === ESC) return this.#takeSequence(keys);
    const plain = text.match(TEXT)?.[0];
    if (plain !== undefined) {
      for (const char of graphemes(plain)) keys.push({ type: "character", text: char });
      return plain.length;
    }
    const key = control(text.charCodeAt(0));
    if (key !== undefined) keys.push(key);
    return 1;
  }

  #takePasted(keys: Key[]): number {
    const text = this.#rest;
    const end = text.indexOf(PASTE_END);
    if (end >= 0) {
      keys.push({ type: "paste", text: this.#pasted + text.slice(0, end) });
      this.#pasted = undefined;
      return end + PASTE_END.length;
    }
    // The end mark may have begun.
    let whole = text.length;
    for (let size = Math.min(PASTE_END.length - 1, whole); size > 0; size--) {
      if (PASTE_END.startsWith(text.slice(-size))) {
        whole -= size;
        break;
      }
    }
    this.#pasted += text.slice(0, whole);
    return whole;
  }

  #takeSequence(keys: Key[]): number {
    const text = this.#rest;
    const csi = text.match(CSI);
    if (csi !== null) {
      const [{ length }, parameters, final] = csi;
      if (parameters === String(PASTE_BEGINS) && final === "~") this.#pasted = "";
      else keys.push(...sequenceKey(parameters, final));
      return length;
    }
    if (text === ESC || text === `${ESC}O` || CSI_BEGUN.test(text)) return 0;
    if (text[1] === "[") return 2;
    if (text[1] === "O") {
      const name = text[2] === KEYPAD_ENTER ? "enter" : FINAL[text[2]];
      if (name !== undefined) keys.push(named(name));
      return 3;
    }
    if (text[1] === ESC) {
      keys.push(named("escape"));
      return 1;
    }
    keys.push(withAlt(text.slice(1)));
    return 1 + String.fromCodePoint(text.codePointAt(1)!).length;
  }
}

function control(code: number): Key | undefined {
  if (CONTROLS[code] !== undefined) return named(CONTROLS[code]);
  if (code === 0) return named("space", { ctrl: true });
  return code <= 26 ? named(letter(code), { ctrl: true }) : undefined;
}

function letter(code: number): string {
  return String.fromCharCode(code + 0x60);
}

/** Reads what follows an Esc that means Alt. */
function withAlt(text: string): Key {
  const char = String.fromCodePoint(text.codePointAt(0)!);
  const code = char.charCodeAt(0);
  if (CONTROLS[code] !== undefined) return named(CONTROLS[code], { alt: true });
  if (code > 0 && code <= 26) return named(letter(code), { ctrl: true, alt: true });
  return named(char.toLowerCase(), { alt: true });
}

function sequenceKey(parameters: string, final: string): Key[] {
  // Reports and a console's function keys are not used.
  if (!/^[0-9;]*$/.test(parameters)) return [];
  const [first = 1, second = 1, third = 0] = parameters.split(";").map((it) => parseInt(it) || 1);
  if (final === "Z") return [named("tab", { shift: true })];
  if (final === "u") return [fromCode(first, modifiers(second))];
  if (final === "~" && first === OTHER_KEY) return [fromCode(third, modifiers(second))];
  const name = final === "~" ? NUMBERED[first] : FINAL[final];
  return name === undefined ? [] : [named(name, modifiers(second))];
}

/** The modifiers of a sequence: a bit set, plus one. */
function modifiers(parameter: number): Modifiers {
  const bits = parameter - 1;
  return { shift: (bits & 1) > 0, alt: (bits & 2) > 0, ctrl: (bits & 4) > 0 };
}

function fromCode(code: number, held: Modifiers): Key {
  if (CONTROLS[code] !== undefined) return named(CONTROLS[code], held);
  const char = String.fromCodePoint(Math.min(code, 0x10ffff));
  if (held.ctrl || held.alt) return named(char.toLowerCase(), held);
  return { type: "character", text: char };
}
