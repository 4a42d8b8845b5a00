/** Random JSON-RPC messages, and what the daemon must answer to each. */
import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import { VERBS } from "../../../src/features/registry.ts";
import type { Random } from "../../support/random.ts";

// deno-lint-ignore no-explicit-any -- schemas and messages are looked at field by field
type Json = any;

/** Verbs that one run cannot have carried out: they end the daemon, or start work outside of it. */
const LEFT_OUT = new Set([
  "daemon.shutdown",
  "daemon.reload_config",
  "service.install",
  "service.uninstall",
]);
const CODES = new Set([
  -32700,
  -32600,
  -32601,
  -32602,
  -32001,
  -32002,
  -32003,
  -32004,
  -32005,
  -32006,
  -32007,
  -32008,
  -32009,
  -32010,
  -32011,
]);
const BATCH_MAX = 1000;

const verbs = VERBS.filter(({ name }) => !LEFT_OUT.has(name)).map((verb) => ({
  name: verb.name,
  input: verb.input,
  schema: z.toJSONSchema(verb.input, { io: "input", unrepresentable: "any" }) as Json,
}));
const inputs = new Map(VERBS.map(({ name, input }) => [name, input]));

/** No such thing as a path in here: what is generated must not name a real directory. */
const STRINGS = [
  "",
  " ",
  "\0",
  "a\0b",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "-1",
  "\u2028\u2029",
  "\ud800",
  "\udfff\ud800",
  "\u202emirrored",
  "é́́",
  "😀".repeat(40),
  "../../../etc/passwd",
  "%00%2e%2e%2f",
  "${jndi:x}",
  "'; --",
  "\r\nX-Injected: yes",
  "<script>",
  "x".repeat(300),
  "x".repeat(70_000),
  "sess_",
  "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "sess_01arz3ndektsv4rrffq69g5fav",
  "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV/..",
];
const NUMBERS = [0, -0, 1, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 53 + 2, 1e21];
const KEYS = ["__proto__", "constructor", "prototype", "toString", "then", "", "a", "session_id"];

/** What a message may look like: as text, since not all of it can be made by JSON.stringify. */
export function rpcText(random: Random, addressed: readonly string[]): string {
  const kind = random.next();
  if (kind < 0.62) return message(random, addressed);
  if (kind < 0.74) return mangled(random, message(random, addressed));
  if (kind < 0.86) return batch(random, addressed);
  if (kind < 0.92) return nested(random, message(random, addressed));
  if (kind < 0.97) return junk(random, 4);
  return String.fromCharCode(...Array.from({ length: random.below(60) }, () => random.below(256)));
}

function message(random: Random, addressed: readonly string[]): string {
  const verb = random.pick(verbs);
  const method = random.chance(0.93)
    ? JSON.stringify(verb.name)
    : random.chance(0.5)
    ? JSON.stringify(
      random.pick([...KEYS, "rpc.discover", `${verb.name} `, verb.name.toUpperCase()]),
    )
    : junk(random, 2);
  const fields: string[] = [];
  const version = random.chance(0.96) ? '"2.0"' : junk(random, 1);
  fields.push(`"jsonrpc":${version}`, `"method":${method}`);
  if (random.chance(0.85)) {
    fields.push(`"id":${random.chance(0.85) ? anId(random) : junk(random, 2)}`);
  }
  if (random.chance(0.9)) fields.push(`"params":${params(random, verb.schema, addressed)}`);
  if (random.chance(0.1)) fields.push(`${JSON.stringify(random.pick(KEYS))}:${junk(random, 2)}`);
  // The same member twice: the last one counts.
  if (random.chance(0.04)) fields.push(random.pick(fields));
  if (random.chance(0.3)) fields.sort(() => random.next() - 0.5);
  return `{${fields.join(random.chance(0.1) ? " ,\t" : ",")}}`;
}

function anId(random: Random): string {
  return random.pick(["1", "0", "-7", "1.5", '"x"', '""', "null", "9007199254740993", '"é"']);
}

function params(random: Random, schema: Json, addressed: readonly string[]): string {
  if (random.chance(0.08)) return junk(random, 3);
  const members: string[] = [];
  for (const [name, field] of Object.entries<Json>(schema.properties ?? {})) {
    if (random.chance(schema.required?.includes(name) ? 0.08 : 0.5)) continue;
    const value = name === "session_id" && random.chance(0.6)
      ? JSON.stringify(random.pick([...addressed, STRINGS.at(-3)!]))
      : fitting(random, field, 0);
    members.push(`${JSON.stringify(name)}:${value}`);
  }
  if (random.chance(0.15)) members.push(`${JSON.stringify(random.pick(KEYS))}:${junk(random, 2)}`);
  return `{${members.join(",")}}`;
}

/** A value that fits the schema, more or less. */
function fitting(random: Random, schema: Json, depth: number): string {
  if (depth > 3 || random.chance(0.3)) return junk(random, 2);
  const one = schema.anyOf ?? schema.oneOf;
  if (one) return fitting(random, random.pick(one), depth + 1);
  if (schema.enum) return JSON.stringify(random.pick(schema.enum));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  switch (Array.isArray(schema.type) ? random.pick(schema.type) : schema.type) {
    case "string":
      return JSON.stringify(random.pick(STRINGS));
    case "integer":
      return String(random.pick([0, 1, 2, 100, -1, 1001, 2 ** 53 - 1]));
    case "number":
      return String(random.pick(NUMBERS));
    case "boolean":
      return String(random.chance(0.5));
    case "array": {
      const items = Array.from(
        { length: random.below(4) },
        () => fitting(random, schema.items ?? {}, depth + 1),
      );
      return `[${items.join(",")}]`;
    }
    case "object": {
      const members = Object.entries<Json>(schema.properties ?? {}).map(([name, field]) =>
        `${JSON.stringify(name)}:${fitting(random, field, depth + 1)}`
      );
      return `{${members.join(",")}}`;
    }
    default:
      return junk(random, 2);
  }
}

/** Any JSON value. */
function junk(random: Random, depth: number): string {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return "null";
    case 1:
      return random.pick(["true", "false"]);
    case 2:
      return random.pick([...NUMBERS.map(String), "1E400", "-0", "1e-999"]);
    case 3:
    case 4:
      return JSON.stringify(random.pick(STRINGS));
    case 5:
    case 6: {
      const members = Array.from(
        { length: random.below(5) },
        () => `${JSON.stringify(random.pick(KEYS))}:${junk(random, depth - 1)}`,
      );
      return `{${members.join(",")}}`;
    }
    default:
      return `[${
        Array.from({ length: random.below(5) }, () => junk(random, depth - 1)).join(",")
      }]`;
  }
}

function batch(random: Random, addressed: readonly string[]): string {
  const length = random.chance(0.05) ? BATCH_MAX - 1 + random.below(3) : random.below(9);
  const one = length > 100 ? "1" : undefined;
  const all = Array.from(
    { length },
    () => one ?? (random.chance(0.8) ? message(random, addressed) : junk(random, 3)),
  );
  const text = `[${all.join(",")}]`;
  return random.chance(0.15) ? `[${text},${text}]` : text;
}

/** Something around, or within, a message that nests deeply. */
function nested(random: Random, text: string): string {
  const depth = 10 ** (1 + random.below(4));
  const [open, close] = random.pick([["[", "]"], ['{"a":', "}"]]);
  const inner = random.chance(0.5) ? text : "1";
  const deep = open.repeat(depth) + inner + (random.chance(0.9) ? close.repeat(depth) : "");
  return random.chance(0.5)
    ? deep
    : `{"jsonrpc":"2.0","id":1,"method":"session.get","params":{"session_id":${deep}}}`;
}

/** A text in which something was cut, doubled, changed or put in. */
function mangled(random: Random, text: string): string {
  const at = random.below(text.length);
  const to = at + random.below(12);
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(to);
    case 2:
      return text.slice(0, to) + text.slice(at);
    case 3:
      return text.slice(0, at) +
        random.pick(['"', "\\", "{", "]", ",", "\0", "\u00ff", "//", "NaN"]) +
        text.slice(at);
    default:
      return random.pick(["\ufeff", "\t", " ", "\u00a0"]) + text;
  }
}

/** What must be answered to a text. */
export type Expected = "nothing" | "one" | { batch: Expected[] };

/** Works out what a text must be answered with; `check` holds an answer against it. */
export function expectedOf(text: string): { due: boolean; check(answer: string): void } {
  let parsed: Json;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { due: true, check: (answer) => checkFailure(JSON.parse(answer), null, [-32700]) };
  }
  if (!Array.isArray(parsed)) {
    const due = isDue(parsed);
    return { due, check: (answer) => checkOne(parsed, JSON.parse(answer)) };
  }
  if (parsed.length === 0 || parsed.length > BATCH_MAX) {
    return { due: true, check: (answer) => checkFailure(JSON.parse(answer), null, [-32600]) };
  }
  const due = parsed.filter(isDue);
  return {
    due: due.length > 0,
    check(answer) {
      const answers = JSON.parse(answer);
      assert(Array.isArray(answers), "a batch is answered as an array");
      assertEquals(answers.length, due.length, "one answer for each that is no notification");
      due.forEach((message, n) => checkOne(message, answers[n]));
    },
  };
}

function isRequest(message: Json): boolean {
  if (typeof message !== "object" || message === null) return false;
  const { jsonrpc, id, method, params } = message;
  return jsonrpc === "2.0" && typeof method === "string" &&
    (id === undefined || id === null || ["string", "number"].includes(typeof id)) &&
    (params === undefined || (typeof params === "object" && params !== null));
}

function isDue(message: Json): boolean {
  return !isRequest(message) || message.id !== undefined;
}

function checkOne(message: Json, answer: Json): void {
  const id = ["string", "number"].includes(typeof message?.id) ? message.id : null;
  // What JSON cannot say, such as 1E400, comes back as null.
  const echoed = JSON.parse(JSON.stringify(id));
  if (!isRequest(message)) return checkFailure(answer, echoed, [-32600]);
  const input = inputs.get(message.method);
  if (input === undefined) return checkFailure(answer, echoed, [-32601]);
  const fits = input.safeParse(message.params ?? {}).success;
  if (!fits) return checkFailure(answer, echoed, [-32602]);
  if ("result" in answer) {
    assertEquals([answer.jsonrpc, answer.id, "error" in answer], ["2.0", echoed, false]);
    return;
  }
  checkFailure(answer, echoed, [...CODES].filter((code) => code > -32100));
}

function checkFailure(answer: Json, id: unknown, codes: readonly number[]): void {
  const { error } = answer;
  assert(error !== undefined, `an error was due, got ${JSON.stringify(answer).slice(0, 300)}`);
  assertEquals([answer.jsonrpc, answer.id, "result" in answer], ["2.0", id, false]);
  assert(codes.includes(error.code), `${error.code} ${error.message.slice(0, 300)}: not ${codes}`);
  assert(typeof error.message === "string" && error.message !== "");
  assert(/^[a-z_]+$/.test(error.data.svc_code), JSON.stringify(error.data));
}
