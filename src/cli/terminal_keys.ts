/** Keys from the bytes that a terminal sends (ECMA-48 sequences as xterm sends them). */
import { type Key, type Modifiers, named } from "../features/tui/keys.ts";
import { answerIn, type Background } from "./theme_choice.ts";
import { graphemes } from "../features/tui/text.ts";

/** What the mouse did, at a place of the screen from 0. */
export interface Mouse {
  type: "mouse";
  action: "press" | "drag" | "release" | "wheel";
  row: number;
  col: number;
  /** Of the wheel: up or down. */
  by: -1 | 0 | 1;
}

/** The window got or lost the focus. */
export interface WindowFocus {
  type: "focus";
  focused: boolean;
}

/** What comes from a terminal. */
export type TerminalEvent = Key | Mouse | WindowFocus;

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
/** Keys of the keypad and others that have a code of their own (kitty keyboard protocol). */
const KEYPAD: Readonly<Record<number, string>> = {
  57409: ".",
  57410: "/",
  57411: "*",
  57412: "-",
  57413: "+",
  57414: "enter",
  57415: "=",
  57417: "left",
  57418: "right",
  57419: "up",
  57420: "down",
  57421: "pageup",
  57422: "pagedown",
  57423: "home",
  57424: "end",
  57425: "insert",
  57426: "delete",
};
const KEYPAD_DIGITS = 57399;
/** Codes from here on are keys without a character. */
const FUNCTIONAL = 57344;
const FUNCTIONAL_END = 63743;
const SPACE = 32;
/** The last code of ASCII. */
const ASCII_END = 127;
/** Of kitty's protocol: the key was let go. */
const RELEASED = 3;
/** SGR mouse reports (xterm's mode 1006): the button, and bits for what happened. */
const MOUSE = /^<(\d+);(\d+);(\d+)$/;
const MOUSE_BUTTON = 0b11;
const MOUSE_LEFT = 0;
const MOUSE_MOVED = 32;
const MOUSE_WHEEL = 64;
const MOUSE_OTHER = 128;
/** Ctrl with _, / or 7. */
const UNDERSCORE = 0x1f;
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

  /** Takes bytes. @returns what is complete. */
  feed(bytes: Uint8Array): TerminalEvent[] {
    this.#rest += this.#utf8.decode(bytes, { stream: true });
    const keys: TerminalEvent[] = [];
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
  #take(keys: TerminalEvent[]): number {
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

  #takePasted(keys: TerminalEvent[]): number {
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

  #takeSequence(keys: TerminalEvent[]): number {
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
  if (code === UNDERSCORE) return named("_", { ctrl: true });
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

function sequenceKey(parameters: string, final: string): TerminalEvent[] {
  const mouse = MOUSE.exec(parameters);
  if (mouse !== null) return mouseInput(mouse.slice(1).map(Number), final);
  if (parameters === "" && (final === "I" || final === "O")) {
    return [{ type: "focus", focused: final === "I" }];
  }
  // Reports and a console's function keys are not used.
  if (!/^[0-9;:]*$/.test(parameters)) return [];
  const groups = parameters.split(";").map((group) => group.split(":").map((it) => parseInt(it)));
  const [[code, , base], [modifier, event], [third]] = [...groups, [], [], []];
  if (event === RELEASED) return [];
  const held = modifiers(modifier || 1);
  if (final === "Z") return [named("tab", { shift: true })];
  if (final === "u") return fromCode(code || 1, held, base);
  if (final === "~" && code === OTHER_KEY) return fromCode(third || 0, held);
  const name = final === "~" ? NUMBERED[code] : FINAL[final];
  return name === undefined ? [] : [named(name, held)];
}

function mouseInput([button, x, y]: readonly number[], final: string): Mouse[] {
  const at = { type: "mouse", row: y - 1, col: x - 1 } as const;
  if ((button & MOUSE_OTHER) > 0 || at.row < 0 || at.col < 0) return [];
  if ((button & MOUSE_WHEEL) > 0) {
    const to = button & MOUSE_BUTTON;
    return to > 1 ? [] : [{ ...at, action: "wheel", by: to === 0 ? -1 : 1 }];
  }
  if ((button & MOUSE_BUTTON) !== MOUSE_LEFT) return [];
  const action = final === "m" ? "release" : (button & MOUSE_MOVED) > 0 ? "drag" : "press";
  return [{ ...at, action, by: 0 }];
}

/** The modifiers of a sequence: a bit set, plus one. */
function modifiers(parameter: number): Modifiers {
  const bits = parameter - 1;
  return { shift: (bits & 1) > 0, alt: (bits & 2) > 0, ctrl: (bits & 4) > 0 };
}

/** @param base the key at the same place of a Latin keyboard, if the terminal tells it */
function fromCode(code: number, held: Modifiers, base?: number): Key[] {
  const digit = code - KEYPAD_DIGITS;
  if (digit >= 0 && digit <= 9) return [{ type: "character", text: String(digit) }];
  const pad = KEYPAD[code];
  if (pad !== undefined) {
    return [pad.length === 1 ? { type: "character", text: pad } : named(pad, held)];
  }
  if (code >= FUNCTIONAL && code <= FUNCTIONAL_END) return [];
  if (CONTROLS[code] !== undefined) return [named(CONTROLS[code], held)];
  if (!held.ctrl && !held.alt) {
    const char = String.fromCodePoint(Math.min(code, 0x10ffff));
    return [{ type: "character", text: char }];
  }
  const known = code > ASCII_END && base !== undefined && base > 0 ? base : code;
  if (known === SPACE) return [named("space", held)];
  return [named(String.fromCodePoint(Math.min(known, 0x10ffff)).toLowerCase(), held)];
}
