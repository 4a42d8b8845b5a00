/** Writes YAML: what is simple stands as it is, everything else in quotes. */

const PLAIN = /^[\p{L}_$./^][\p{L}\p{N} _$./^()+-]*$/u;
/** Words that YAML, or another reader of it, takes for something other than a text. */
const WORDS = /^(true|false|null|yes|no|on|off|y|n|~|\.inf|\.nan|\.[\d_.].*)$/i;
/** Not printable for YAML: in quotes, and there only as an escape. */
const HIDDEN = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]/u;

/** A value of JSON as YAML, which reads as the same value. */
export function toYaml(value: unknown): string {
  return `${lines(value).join("\n")}\n`;
}

function lines(value: unknown): string[] {
  if (Array.isArray(value) && value.length > 0 && value.some(isObject)) {
    return value.flatMap((item) =>
      lines(item).map((line, n) => line === "" ? "" : `${n === 0 ? "- " : "  "}${line}`)
    );
  }
  if (!isObject(value)) return [scalar(value)];
  return Object.entries(value).flatMap(([name, it]) => {
    const key = `${scalar(name)}:`;
    if (isObject(it) || Array.isArray(it) && it.some(isObject)) {
      return [key, ...lines(it).map((line) => line === "" ? "" : `  ${line}`)];
    }
    if (typeof it !== "string" || !isBlock(it)) return [`${key} ${scalar(it)}`];
    return [`${key} |-`, ...it.split("\n").map((line) => line === "" ? "" : `  ${line}`)];
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.keys(value).length > 0;
}

/** Whether a text of several lines reads the same as a block: no blanks or tabs that it would lose. */
function isBlock(text: string): boolean {
  return text.includes("\n") && !/^\s|\s$|[\r\t]|[ ]\n/.test(text) && !isHidden(text);
}

function isHidden(text: string): boolean {
  // deno-lint-ignore no-control-regex -- what YAML refuses
  return HIDDEN.test(text) || /[\x00-\x08\x0b-\x1f]/.test(text);
}

function scalar(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(scalar).join(", ")}]`;
  if (typeof value !== "string") return JSON.stringify(value);
  if (PLAIN.test(value) && !WORDS.test(value) && !/ $/.test(value)) return value;
  return JSON.stringify(value).replace(
    new RegExp(HIDDEN, "gu"),
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
