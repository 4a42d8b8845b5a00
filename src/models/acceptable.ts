/**
 * What every provider accepts. They check the whole conversation, so that one refused name or
 * character would end it for good.
 */

/** The longest name of a tool, and the longest id of a call (OpenAI). */
const NAME_MAX = 64;
const ID_MAX = 40;

/**
 * Returns an acceptable tool name: letters, digits, `_` and `-`, first a letter or `_` (Gemini), at
 * most 64.
 */
export function acceptableName(name: string): string {
  const safe = name.trim().replace(/[^a-zA-Z0-9_-]+/g, "_");
  if (!/[a-zA-Z0-9]/.test(safe)) return "unknown_tool";
  return (/^[a-zA-Z_]/.test(safe) ? safe : `_${safe}`).slice(0, NAME_MAX);
}

/** Returns text without half surrogate pairs and zero bytes. */
export function acceptableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\ufffd") : whole;
}

/** Applies {@linkcode acceptableText} to all texts and names of a JSON value. */
export function acceptableJson(value: unknown): unknown {
  if (typeof value === "string") return acceptableText(value);
  if (Array.isArray(value)) return value.map(acceptableJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [acceptableText(name), acceptableJson(part)]),
  );
}

/** Unique ids of calls in one request. Some servers number the calls of each answer anew. */
export class CallIds {
  readonly #convert: (id: string) => string;
  readonly #used = new Set<string>();
  /** Ids of the newest calls without a result, by the model's own ids. */
  #open = new Map<string, string[]>();

  /** @param convert makes an id that the provider accepts. */
  constructor(convert: (id: string) => string) {
    this.#convert = convert;
  }

  /** Begins the calls of another answer. */
  begin(): void {
    this.#open = new Map();
  }

  ofCall(id: string): string {
    const base = this.#acceptable(id);
    let unique = base;
    for (let n = 2; this.#used.has(unique); n++) {
      // Converted again, because a provider's ids may have a fixed length.
      unique = this.#acceptable(`${base.slice(0, ID_MAX - 8)}_${n}`);
    }
    this.#used.add(unique);
    this.#open.set(id, [...this.#open.get(id) ?? [], unique]);
    return unique;
  }

  /** Returns the id of the call that a result belongs to. */
  ofResult(id: string): string {
    return this.#open.get(id)?.shift() ?? this.#acceptable(id);
  }

  #acceptable(id: string): string {
    const safe = acceptableText(id);
    const short = safe.length <= ID_MAX ? safe : `${safe.slice(0, ID_MAX - 9)}_${digest(safe)}`;
    return this.#convert(short === "" ? "call" : short);
  }
}

/** FNV-1a, 32 bits, as eight hexadecimal digits; distinguishes long ids that begin alike. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
