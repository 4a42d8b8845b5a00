/**
 * Finds in a provider's refusal how long its limit lasts. Providers say it in headers, in fields of
 * the body, or only in words; the test has a real answer of each.
 */

/** What a provider sent with a refusal. */
export interface Refusal {
  /** Names in lower case. */
  headers?: Record<string, unknown>;
  /** The body, parsed as far as it is JSON. */
  sent?: unknown;
  message: string;
}

/** A limit per day may come with the delay of another one, per minute. */
const DAY_LEAST_MS = 10 * 60_000;
/** A named time of day that has passed by less is not tomorrow's: the limit is about to end. */
const JUST_PASSED_MS = 2 * 3_600_000;
/** Less is the time that the answer took, and that the header has no milliseconds. */
const SKEW_MS = 30_000;
/** Google's limits per day start again at midnight here. */
const GOOGLE_ZONE = "America/Los_Angeles";
/** How deep fields are looked for. */
const DEPTH_MAX = 6;
/** Longer text is not searched: an expression may take the square of its length. */
const WORDS_MAX = 4_000;
const VALUE_MAX = 100;

/**
 * Returns how long a refusal asks to wait, in milliseconds; undefined if it does not say so.
 *
 * @param now milliseconds since 1970, by this machine's clock
 */
export function waitAsked(
  { headers = {}, sent, message }: Refusal,
  now: number,
): number | undefined {
  const theirs = Date.parse(textOf(headers.date));
  // Its times are by its own clock.
  const clock = Math.abs(theirs - now) > SKEW_MS ? theirs : now;
  const fields = [...fieldsOf(sent)];
  const asked = longest([
    retryAfter(headers, clock),
    ...fields.map((field) => fieldWait(field, clock)),
    wordsWait(message.slice(0, WORDS_MAX), clock),
  ]);
  if (fields.some(isPerDay) && (asked ?? 0) < DAY_LEAST_MS) {
    return atClock({ hour: 0, minute: 0 }, GOOGLE_ZONE, clock);
  }
  return asked ?? resetHeaders(headers, clock);
}

/** Reports whether words are about a limit that ends at a time, whatever the status. */
export function namesUsageLimit(text: string): boolean {
  return /\busage[ _]limit|\bregain access on\b/i.test(text.slice(0, WORDS_MAX));
}

/** Codes of providers for an account without credit: waiting does not help. */
const NO_CREDIT = new Set([
  "insufficient_quota",
  "billing_hard_limit_reached",
  "exceeded_current_quota_error",
  "insufficient_balance",
  "insufficient_credits",
]);

/** Reports whether waiting cannot help: no credit, or no quota at all for this model. */
export function neverEnds({ sent, message }: Pick<Refusal, "sent" | "message">): boolean {
  for (const { name, value } of fieldsOf(sent)) {
    if ((name === "code" || name === "type") && NO_CREDIT.has(textOf(value))) return true;
  }
  // Google, for a model that the free tier does not have.
  return /\blimit: 0\b/.test(message) && !/\blimit: [1-9]/.test(message);
}

function longest(waits: readonly (number | undefined)[]): number | undefined {
  let most: number | undefined;
  for (const wait of waits) {
    if (wait !== undefined && wait > (most ?? -1)) most = wait;
  }
  return most;
}

// ── fields ─────────────────────────────────────────────────────────────────────────────────────

interface Field {
  name: string;
  value: unknown;
}

/** All fields of a body, names in lower case, also those of JSON in strings (gateways). */
function* fieldsOf(sent: unknown, depth = 0): Generator<Field> {
  if (depth > DEPTH_MAX) return;
  if (typeof sent === "string") {
    if (/^\s*[[{]/.test(sent)) yield* fieldsOf(parsed(sent), depth + 1);
    return;
  }
  if (typeof sent !== "object" || sent === null) return;
  for (const [name, value] of Object.entries(sent)) {
    yield { name: name.toLowerCase(), value };
    yield* fieldsOf(value, depth + 1);
  }
}

/** A short value as text; empty for anything else, which may not even convert. */
function textOf(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number") return "";
  const text = String(value);
  return text.length > VALUE_MAX ? "" : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fieldWait({ name, value }: Field, clock: number): number | undefined {
  switch (name) {
    case "resets_in_seconds":
    case "retry_after_seconds":
    case "retry_after":
      return seconds(value);
    case "resets_at":
    case "reset_at":
    case "x-ratelimit-reset":
    case "quotaresettimestamp":
      return timeWait(value, clock);
    case "retrydelay":
    case "quotaresetdelay":
      return durationIn(textOf(value));
  }
}

function isPerDay({ name, value }: Field): boolean {
  return name === "quotaid" && /PerDay/.test(textOf(value));
}

// ── headers ────────────────────────────────────────────────────────────────────────────────────

function retryAfter(headers: Record<string, unknown>, clock: number): number | undefined {
  const ms = Number.parseFloat(textOf(headers["retry-after-ms"]));
  if (Number.isFinite(ms)) return Math.max(0, Math.round(ms));
  const after = headers["retry-after"];
  if (typeof after !== "string" || after.trim() === "") return undefined;
  const wait = seconds(after) ?? Date.parse(after) - clock;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Headers of limits that are used up. Those of other limits come with every answer. */
function resetHeaders(headers: Record<string, unknown>, clock: number): number | undefined {
  const waits: (number | undefined)[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const [, of] = /^((?:anthropic-|x-)?ratelimit)-?(.*)$/.exec(name) ?? [];
    if (of === undefined || !/(^|-)reset(-|$)/.test(name)) continue;
    const left = headers[name.replace(/(^|-)reset(?=-|$)/, "$1remaining")];
    const status = name.endsWith("-reset") ? headers[name.replace(/reset$/, "status")] : undefined;
    const used_up = status === "rejected" || (status === undefined && Number(left ?? 0) === 0);
    if (used_up) waits.push(durationIn(textOf(value)) ?? timeWait(value, clock));
  }
  for (const window of ["primary", "secondary"]) {
    if (Number(headers[`x-codex-${window}-used-percent`]) < 100) continue;
    waits.push(seconds(headers[`x-codex-${window}-reset-after-seconds`]));
  }
  return longest(waits);
}

function seconds(value: unknown): number | undefined {
  const text = textOf(value).trim();
  const count = text === "" ? NaN : Number(text);
  return Number.isFinite(count) ? Math.max(0, Math.round(count * 1000)) : undefined;
}

/** A time as seconds or milliseconds since 1970, as seconds from now, or as a date. */
function timeWait(value: unknown, clock: number): number | undefined {
  const text = textOf(value).trim();
  const count = text === "" ? NaN : Number(text);
  const at = Number.isNaN(count)
    ? Date.parse(text)
    : count > 1e12
    ? count
    : count > 1e9
    ? count * 1000
    : clock + count * 1000;
  return Number.isFinite(at) ? Math.max(0, Math.round(at - clock)) : undefined;
}

// ── words ──────────────────────────────────────────────────────────────────────────────────────

const UNIT_MS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };
const COUNT =
  "\\d+(?:\\.\\d+)?\\s*(?:ms|milliseconds?|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])";
const SOME = `${COUNT}(?:(?:,|\\s|and)*${COUNT})*`;
/** `1h2m3s` has no word boundary between its parts. */
const JOINED = "(?:\\d+d)?(?:\\d+h)?(?:\\d+m)?\\d+(?:\\.\\d+)?s|(?:\\d+d)?(?:\\d+h)?\\d+m|" +
  "(?:\\d+d)?\\d+h";
const BEFORE =
  "(?:try(?:ing)?[ _]again|retry(?:ing)?|resets?|renews?|wait|available(?: again)?)(?: (?:in|after|for))?:? " +
  "(?:about |approximately |~)?";
const IN = new RegExp(`\\b${BEFORE}((?:${JOINED})(?![\\d.a-z])|${SOME})`, "i");

/** A duration such as `7m12.5s`, `43200s` or `5 days 22 hours`, if the text is one. */
function durationIn(text: string): number | undefined {
  if (!/^[\d.\sa-z,]+$/i.test(text)) return undefined;
  let ms = 0;
  let found = false;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[a-z]+)/gi)) {
    const size = /^(?:ms|milli)/i.test(unit) ? 1 : UNIT_MS[unit[0].toLowerCase()];
    if (size === undefined) return undefined;
    ms += Number(count) * size;
    found = true;
  }
  return found ? Math.round(ms) : undefined;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WHEN = "(?:resets?|renews?|again|until|access)(?: (?:at|on|after|until|by))*:? ";
const DATE = new RegExp(
  `\\b${WHEN}(\\d{4}-\\d\\d-\\d\\d)(?:[T ]| at )(\\d\\d:\\d\\d(?::\\d\\d)?)(?:\\.\\d+)?` +
    " ?(Z|UTC|GMT|[+-]\\d\\d:?\\d\\d)?",
  "i",
);
const CLOCK = new RegExp(
  `\\b${WHEN}(?:(${MONTHS.join("|")})[a-z]* (\\d{1,2})(?:st|nd|rd|th)?,?(?: \\d{4},?)?(?: at)? )?` +
    "(\\d{1,2})(?::(\\d\\d))? ?(am|pm)?\\b(?: ?\\(?([A-Z][A-Za-z]+(?:/[A-Za-z_]+)+|UTC|GMT)\\)?)?",
  "i",
);

function wordsWait(message: string, clock: number): number | undefined {
  const asked = IN.exec(message);
  if (asked) return durationIn(asked[1].replaceAll(/\band\b/g, " "));
  // Claude's apps: `usage limit reached|1760000400`.
  const epoch = /\blimit reached\|(\d{10,13})\b/.exec(message);
  if (epoch) return timeWait(epoch[1], clock);
  const dated = DATE.exec(message);
  if (dated) {
    const [, date, time, zone = "Z"] = dated;
    return timeWait(`${date}T${time}${/^[+-]/.test(zone) ? zone : "Z"}`, clock);
  }
  const named = CLOCK.exec(message);
  if (!named) return undefined;
  const [, month, day, hours, minutes, half, zone] = named;
  // A number alone is not a time.
  if (minutes === undefined && half === undefined) return undefined;
  const hour = half === undefined
    ? Number(hours)
    : Number(hours) % 12 + (half.toLowerCase() === "pm" ? 12 : 0);
  const on = month === undefined ? {} : {
    month: MONTHS.indexOf(month.toLowerCase().slice(0, 3)) + 1,
    day: Number(day),
  };
  return atClock({ ...on, hour, minute: Number(minutes ?? 0) }, zone, clock);
}

interface ClockTime {
  month?: number;
  day?: number;
  hour: number;
  minute: number;
}

/** The wait until a time of day, or until a time on a day. @param zone default: this machine's */
function atClock(time: ClockTime, zone: string | undefined, clock: number): number | undefined {
  try {
    const now = Temporal.Instant.fromEpochMilliseconds(clock)
      .toZonedDateTimeISO(zone ?? Temporal.Now.timeZoneId());
    const exact = { second: 0, millisecond: 0, microsecond: 0, nanosecond: 0 };
    const at = now.with({ ...time, ...exact });
    const wait = at.epochMilliseconds - clock;
    if (wait > 0) return wait;
    if (-wait < JUST_PASSED_MS && time.hour !== 0) return undefined;
    const next = time.day === undefined ? at.add({ days: 1 }) : at.add({ years: 1 });
    return next.epochMilliseconds - clock;
  } catch {
    // An invalid time, or an unknown zone.
    return undefined;
  }
}
