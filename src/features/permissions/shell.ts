/**
 * Parses command lines like bash and sh, only to find the commands that a line runs. It does not
 * guess: what it does not understand makes the line unsure, and no rule allows such a line.
 * It reads each character once, and again for each level of nested backticks.
 */

/** After quote removal. */
export interface Word {
  text: string;
  /** The shell replaces a part at run time, so `text` is not what the program gets. */
  dynamic: boolean;
  /** Only a file name pattern makes it dynamic. */
  pattern?: true;
}

/** As in `CI=1 npm test`. */
interface Assignment {
  name: string;
  value: string;
  dynamic: boolean;
}

/** A simple command. */
export interface Part {
  source: string;
  assignments: Assignment[];
  words: Word[];
  /** Why no allow rule covers its redirections; undefined for harmless ones. */
  redirects?: string;
}

/** Commands in substitutions come first. */
export interface Line {
  parts: Part[];
  /** Why the commands are not certain. */
  unsure?: string;
  /** Why the line could run commands that are missing in `parts`. */
  blind?: string;
}

/** In characters. */
export const LINE_MAX = 64 * 1024;
const PARTS_MAX = 1_000;
/** Of substitutions. */
const DEPTH_MAX = 16;

/** Never throws. */
export function parseLine(text: string, depth = 0): Line {
  const line: Line = { parts: [] };
  if (text.length > LINE_MAX) {
    line.unsure = line.blind = `it is longer than ${LINE_MAX} characters`;
    return line;
  }
  if (text.includes("\0")) line.unsure = line.blind = "it contains a NUL byte";
  new Reader(text, line, depth).all();
  return line;
}

const BLANK = /[ \t]/;
const METACHARACTER = /[ \t\n|&;()<>]/;
/** Blanks only for some shells, or invisible. */
const ODD = /[\p{Cc}\p{Cf}\p{Z}]/u;
/** Before the first `=` of an assignment. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*(\+|\[.*\])?$/s;
const SIMPLE_BRACES = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/y;
const VARIABLE = /\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])/y;
const NAME_MAX = 200;

class Reader {
  readonly #text: string;
  readonly #line: Line;
  readonly #depth: number;
  #at = 0;

  constructor(text: string, line: Line, depth: number) {
    this.#text = text;
    this.#line = line;
    this.#depth = depth;
    if (depth > DEPTH_MAX) {
      this.#giveUp("it is nested too deeply");
    }
  }

  all(): void {
    this.#list(this.#depth, false);
  }

  #unsure(why: string): void {
    this.#line.unsure ??= why;
  }

  /** Stops reading. */
  #giveUp(why: string): void {
    this.#unsure(why);
    this.#line.blind ??= why;
    this.#at = this.#text.length;
  }

  get #done(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads commands to the end, or to the `)` of a substitution. */
  #list(depth: number, substituted: boolean): void {
    if (depth > DEPTH_MAX) return this.#giveUp("it is nested too deeply");
    let part: Part = { source: "", assignments: [], words: [] };
    let start = -1;
    let end = 0;
    let groups = 0;
    let both = false;
    const finish = () => {
      if (start >= 0) {
        part.source = this.#text.slice(start, end);
        this.#line.parts.push(part);
        if (this.#line.parts.length > PARTS_MAX) this.#giveUp("it has too many commands");
      }
      part = { source: "", assignments: [], words: [] };
      start = -1;
      both = false;
    };
    while (!this.#done) {
      const char = this.#text[this.#at];
      if (BLANK.test(char)) {
        this.#at++;
      } else if (this.#text.startsWith("\\\n", this.#at)) {
        this.#at += 2;
      } else if (char === "#") {
        const newline = this.#text.indexOf("\n", this.#at);
        this.#at = newline < 0 ? this.#text.length : newline;
      } else if (char === "&" && this.#text[this.#at + 1] === ">") {
        if (start < 0) start = this.#at;
        this.#at++;
        this.#redirect(part, depth);
        end = this.#at;
        both = true;
      } else if (char === "\n" || char === ";" || char === "|" || char === "&") {
        finish();
        const two = this.#text.slice(this.#at, this.#at + 2);
        if (two === ";;" || two === ";&" || two === "|&") this.#unsure(`it uses ${two}`);
        this.#at += char !== "\n" && (two[1] === char || two === "|&" || two === ";&") ? 2 : 1;
      } else if (char === "(") {
        finish();
        this.#unsure("it has a group or a function");
        groups++;
        this.#at++;
      } else if (char === ")") {
        finish();
        this.#at++;
        if (groups === 0 && substituted) return;
        if (groups === 0) this.#unsure("it has a ) too many");
        else groups--;
      } else {
        if (start < 0) start = this.#at;
        if (char === "<" || char === ">") this.#redirect(part, depth);
        else {
          // For sh, `&` ends the command before it, and a new one starts here.
          if (both) this.#unsure("it has words after &>");
          this.#add(part, this.#word(depth));
        }
        end = this.#at;
      }
    }
    finish();
    if (substituted) this.#giveUp("a substitution is not closed");
  }

  #add(part: Part, { word, raw, equals }: Read): void {
    const next = this.#text[this.#at];
    if (next === "<" || next === ">") {
      // A number is a descriptor, `{name}` sets a variable.
      if (/^[0-9]{1,9}$/.test(raw)) return;
      if (raw.includes("{")) this.#unsure("it names a descriptor");
    }
    if (equals === undefined || part.words.length > 0) {
      part.words.push(word);
      return;
    }
    const name = word.text.slice(0, equals);
    if (!/^\w+$/.test(name)) this.#unsure("it sets part of a variable");
    part.assignments.push({ name, value: word.text.slice(equals + 1), dynamic: word.dynamic });
  }

  /** Reads a redirection from its `<` or `>`. */
  #redirect(part: Part, depth: number): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    if (rest.startsWith("<(") || rest.startsWith(">(")) {
      part.redirects ??= "it connects to another command";
      this.#unsure("it has a process substitution");
      this.#at += 2;
      part.words.push({ text: "", dynamic: true });
      return this.#list(depth + 1, true);
    }
    if (rest.startsWith("<<")) {
      const here_string = rest === "<<<";
      this.#unsure(here_string ? "it has a here-string" : "it has a here-document");
      part.redirects ??= "it is given input";
      // The text below is read as commands, so that deny rules hold for them.
      this.#at += here_string || rest === "<<-" ? 3 : 2;
      if (here_string) this.#target(depth);
      return;
    }
    const operator = [">>", ">|", ">&", "<&", "<>"].find((it) => rest.startsWith(it)) ?? rest[0];
    this.#at += operator.length;
    const target = this.#target(depth);
    if (target === undefined) {
      this.#unsure("a redirection has no file");
      return;
    }
    const { text, dynamic } = target;
    if (dynamic) part.redirects ??= "it redirects to a file that only the shell knows";
    else if (operator.endsWith("&") && /^(?:[0-9]{1,9}|-)$/.test(text)) return;
    else if (text === "/dev/null") return;
    else if (operator === "<") part.redirects ??= `it reads ${text}`;
    else part.redirects ??= `it writes to ${text}`;
  }

  #target(depth: number): Word | undefined {
    while (!this.#done && BLANK.test(this.#text[this.#at])) this.#at++;
    if (this.#done || METACHARACTER.test(this.#text[this.#at])) return undefined;
    return this.#word(depth).word;
  }

  #word(depth: number): Read {
    const begin = this.#at;
    const word: Word = { text: "", dynamic: false };
    let plain = true;
    let equals: number | undefined;
    let pieces = "";
    let pattern = false;
    while (!this.#done) {
      const char = this.#text[this.#at];
      if (METACHARACTER.test(char)) break;
      switch (char) {
        case "'": {
          plain = false;
          const end = this.#text.indexOf("'", this.#at + 1);
          if (end < 0) {
            this.#giveUp("a quote is not closed");
            break;
          }
          pieces += this.#text.slice(this.#at + 1, end);
          this.#at = end + 1;
          break;
        }
        case '"':
          plain = false;
          this.#at++;
          pieces += this.#quoted(word, depth);
          break;
        case "\\": {
          plain = false;
          const next = this.#text[this.#at + 1];
          if (next === undefined) this.#unsure("it ends with a backslash");
          else if (next !== "\n") pieces += next;
          this.#at += 2;
          break;
        }
        case "$":
          plain = false;
          pieces += this.#dollar(word, depth, false);
          break;
        case "`":
          plain = false;
          this.#backtick(word, depth);
          break;
        default: {
          if (char === "=" && plain && equals === undefined) {
            const named = pieces.length <= NAME_MAX && NAME.test(pieces);
            equals = named ? pieces.length : undefined;
            if (!named) plain = false;
          }
          // A file name pattern or a brace expansion.
          if (char === "{") word.dynamic = true;
          if (char === "*" || char === "?" || char === "[") pattern = true;
          if (char === "~") {
            const before = this.#text[this.#at - 1];
            if (this.#at === begin || before === "=" || before === ":") word.dynamic = true;
          }
          if (char < " " || char > "~") {
            if (ODD.test(String.fromCodePoint(this.#text.codePointAt(this.#at)!))) {
              this.#unsure("it has a character that shells read differently");
            }
          }
          pieces += char;
          this.#at++;
        }
      }
    }
    word.text = pieces;
    if (pattern && !word.dynamic) {
      word.dynamic = true;
      word.pattern = true;
    }
    const length = this.#at - begin;
    const raw = length <= NAME_MAX ? this.#text.slice(begin, this.#at) : "";
    if (raw === "[" || raw === "{" || raw === "{}") word.dynamic = false;
    return { word, raw, equals };
  }

  /** Reads to the closing double quote. */
  #quoted(word: Word, depth: number): string {
    let pieces = "";
    while (!this.#done) {
      const char = this.#text[this.#at];
      if (char === '"') {
        this.#at++;
        return pieces;
      }
      if (char === "\\") {
        const next = this.#text[this.#at + 1] ?? "";
        if (next !== "\n") pieces += '$`"\\'.includes(next) ? next : `\\${next}`;
        this.#at += 2;
      } else if (char === "$") pieces += this.#dollar(word, depth, true);
      else if (char === "`") this.#backtick(word, depth);
      else {
        pieces += char;
        this.#at++;
      }
    }
    this.#giveUp("a quote is not closed");
    return pieces;
  }

  /** Reads an expansion. @returns its text */
  #dollar(word: Word, depth: number, quoted: boolean): string {
    const next = this.#text[this.#at + 1];
    if (next === "(") {
      word.dynamic = true;
      if (this.#text[this.#at + 2] === "(") this.#unsure("it has arithmetic");
      this.#at += 2;
      this.#list(depth + 1, true);
      return "";
    }
    for (const simple of [VARIABLE, SIMPLE_BRACES]) {
      simple.lastIndex = this.#at;
      if (!simple.test(this.#text)) continue;
      word.dynamic = true;
      this.#at = simple.lastIndex;
      return "";
    }
    this.#at++;
    if (next === "{" || next === "[") {
      word.dynamic = true;
      this.#unsure("it has an expansion that can run commands");
    } else if (!quoted && (next === "'" || next === '"')) {
      word.dynamic = true;
      this.#unsure("it has a quote that shells read differently");
      if (next === "'") this.#ansi();
    } else return "$";
    return "";
  }

  /** Reads `'…'` after a `$`, where a backslash escapes a quote. */
  #ansi(): void {
    for (this.#at++; !this.#done; this.#at++) {
      const char = this.#text[this.#at];
      if (char === "\\") this.#at++;
      else if (char === "'") {
        this.#at++;
        return;
      }
    }
    this.#giveUp("a quote is not closed");
  }

  #backtick(word: Word, depth: number): void {
    word.dynamic = true;
    let inner = "";
    for (this.#at++; !this.#done; this.#at++) {
      const char = this.#text[this.#at];
      if (char === "`") {
        this.#at++;
        if (depth >= DEPTH_MAX) this.#giveUp("it is nested too deeply");
        else new Reader(inner, this.#line, depth + 1).all();
        return;
      }
      if (char === "\\") {
        this.#unsure("it has a backslash in backticks");
        const next = this.#text[++this.#at] ?? "";
        inner += "$`\\".includes(next) ? next : `\\${next}`;
      } else inner += char;
    }
    this.#giveUp("a substitution is not closed");
  }
}

interface Read {
  word: Word;
  /** The source; empty for a long word. */
  raw: string;
  /** The index of an assignment's `=`. */
  equals?: number;
}
