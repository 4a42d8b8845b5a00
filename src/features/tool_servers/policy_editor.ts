/** Changes the tool servers in policy.yaml; keeps comments, order and what it does not know. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "@std/yaml";
import { type Document, isSeq, Lexer, parseDocument, type YAMLMap, type YAMLSeq } from "yaml";
import { sha256Hex } from "../../base/sha256.ts";
import { atomicWrite, checkPrivate } from "../../os/files.ts";
import { InvalidParams, SvcError } from "../../protocol/errors.ts";
import { parsePolicy } from "./policy_file.ts";
import type { EditedServer, PolicyText } from "./policy_schemas.ts";
import { createNode, type Members, setMembers, spliceServer } from "./policy_splice.ts";

/** The keys of an entry that clients see and set; others stay as they are. */
const KEYS = [
  "name",
  "transport",
  "command",
  "args",
  "env",
  "url",
  "headers",
  "auth_env",
  "trust",
  "max_concurrent",
  "timeout",
  "enabled",
] as const;

/** Characters of a text that is edited here: the daemon waits while it is read, edited and compared. */
const EDITED_MAX = 200_000;
/** Shorter values are ordinary words such as `true`. */
const SECRET_MIN = 6;
/** A value of nothing but references, such as `Bearer ${TOKEN}`. */
const REFERENCES = /^(?:[A-Za-z]+ )?(?:\$\{[A-Za-z_][A-Za-z0-9_]*\})+$/;
const NAMED = /(?:key|token|secret|passw|credential|auth|signature)[\w-]*[=:]|:\/\/[^/]*@/i;
/** As long as keys are. */
const LONG_WORD = /[\w+=-]{20,}/g;

/** Whether an argument or an address may hold a credential. */
function isSuspicious(text: string): boolean {
  return NAMED.test(text) ||
    (text.match(LONG_WORD) ?? []).some((word) => /\d/.test(word) && /[A-Za-z]/.test(word));
}

/** Reads the servers as they are written, without values that may be secrets. */
export async function readForEdit(path: string): Promise<PolicyText> {
  checkPrivate(path, 0o600, "file");
  const text = readText(path);
  parsePolicy(text, path);
  const { mcp_servers = [] } = (parse(text) ?? {}) as { mcp_servers?: Members[] };
  return {
    path,
    revision: await revisionOf(text),
    servers: mcp_servers.map(shown),
  };
}

function shown(entry: Members): EditedServer {
  const server: Members = {};
  for (const key of KEYS) if (entry[key] !== undefined) server[key] = entry[key];
  const values = (of: Members) =>
    Object.fromEntries(
      Object.entries(of).map(([name, value]) => [name, isHidden(String(value)) ? null : value]),
    );
  if (server.env) server.env = values(server.env as Members);
  if (server.headers) server.headers = values(server.headers as Members);
  // The value of an option such as --token is the argument after it.
  if (server.args) {
    server.args = (server.args as string[]).map((arg, n, all) =>
      isSuspicious(arg) || n > 0 && /^-/.test(all[n - 1]) && isSuspicious(`${all[n - 1]}=`)
        ? null
        : arg
    );
  }
  if (typeof server.url === "string" && isSuspicious(server.url)) server.url = null;
  return server as EditedServer;
}

function isHidden(value: string): boolean {
  return value.length >= SECRET_MIN && !REFERENCES.test(value);
}

export interface ServerChange {
  /** The name of the server to change; undefined adds one. */
  name?: string;
  /** What it is to be; undefined removes it. */
  server?: EditedServer;
}

/**
 * Changes one server, and writes the file whole.
 *
 * @param revision of the text that the change is for
 * @returns the revision after it
 * @throws {SvcError} validation for a server that the file's reader refuses; conflict when the file
 * has changed or is too long; not_found for a name that is not in it; permission_denied when it is
 * not private
 */
export async function changePolicy(
  path: string,
  change: ServerChange,
  revision: string,
): Promise<string> {
  checkPrivate(path, 0o600, "file");
  checkWritable(path);
  const text = readText(path);
  if (revision !== await revisionOf(text)) throw changedMeanwhile(path);
  if (text.length > EDITED_MAX) throw tooLong(path);
  parsePolicy(text, path);
  const edited = edit(text, change, path);
  if (edited !== text) {
    if (readText(path) !== text) throw changedMeanwhile(path);
    await atomicWrite(path, edited, 0o600);
  }
  return await revisionOf(edited);
}

/** @throws {SvcError} conflict when anything else would change */
function edit(text: string, { name, server }: ServerChange, path: string): string {
  const wanted = (parse(text) ?? {}) as { mcp_servers?: Members[] };
  const entries = [...wanted.mcp_servers ?? []];
  const at = name === undefined ? entries.length : entries.findIndex((it) => it.name === name);
  if (at < 0) {
    throw new SvcError("not_found", `${path} has no tool server ${JSON.stringify(name)}`);
  }
  if (server === undefined) entries.splice(at, 1);
  else entries[at] = changed(entries[at] ?? {}, server);
  wanted.mcp_servers = entries;
  check(JSON.stringify(wanted), path);

  const style = {
    lineWidth: 0,
    indentSeq: !/^mcp_servers:[^\n]*\n(?:[ ]*(?:#[^\n]*)?\n)*- /m.test(text),
    flowCollectionPadding: !/\{\S/.test(text),
  };
  const is_right = (edited: string) =>
    isDeepStrictEqual(parse(edited), JSON.parse(JSON.stringify(wanted)));
  try {
    const entry = server && entries[at];
    const spliced = spliceServer(text, at, entry, style);
    if (spliced !== undefined && is_right(spliced)) return spliced;
    const edited = rewrite(text, at, entry, style);
    if (is_right(edited) && (server === undefined || hasAll(edited, text))) return edited;
  } catch {
    // Such as an alias without its anchor.
  }
  throw new SvcError("conflict", `${path} cannot be edited without changing other parts of it`, {
    hint: "edit it by hand, then read the policy again with daemon.reload_config",
  });
}

/** Changes an entry where the text has a shape that no splice fits; all of it is written anew. */
function rewrite(
  text: string,
  at: number,
  entry: Members | undefined,
  style: Parameters<Document["toString"]>[0],
): string {
  const document = parseDocument(text, { keepSourceTokens: false });
  if (!isSeq(document.get("mcp_servers"))) {
    document.set("mcp_servers", document.createNode([]));
  }
  const list = document.get("mcp_servers") as YAMLSeq;
  // In a list on one line, an entry would stand on that line too.
  if (list.items.length === 0) list.flow = false;
  if (entry === undefined) list.delete(at);
  else if (at === list.items.length) list.add(createNode(document, entry));
  else setMembers(document, list.items[at] as YAMLMap, entry);
  const edited = document.toString(style);
  return text.includes("\r\n") ? edited.replaceAll("\n", "\r\n") : edited;
}

/** An entry with other values; what is null, or no key of a client, stays. */
function changed(before: Members, server: EditedServer): Members {
  const after: Members = { ...before };
  for (const key of KEYS) {
    const value = keep(server[key], before[key]);
    if (value === undefined) delete after[key];
    else after[key] = value;
  }
  return after;
}

function keep(value: unknown, before: unknown): unknown {
  if (value === null) {
    if (before !== undefined) return before;
    throw new InvalidParams("there is no value to keep");
  }
  if (Array.isArray(value)) {
    return value.map((it, n) => keep(it, (before as unknown[] | undefined)?.[n]));
  }
  if (typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value!).map(([name, it]) => [
      name,
      keep(it, Object.hasOwn(before ?? {}, name) ? (before as Members)[name] : undefined),
    ]),
  );
}

/** Whether a text has the comments of another. */
function hasAll(text: string, before: string): boolean {
  const left = commentsOf(text);
  return commentsOf(before).every((comment) => {
    const at = left.indexOf(comment);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

function commentsOf(text: string): string[] {
  return [...new Lexer().lex(text)].filter((it) => it.startsWith("#")).map((it) => it.trim());
}

/** @throws {SvcError} validation, with the field in the details' issues */
function check(text: string, path: string): void {
  try {
    parsePolicy(text, path);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    const [issue] = error.details?.issues as { path: string[]; message: string }[] ?? [];
    if (issue === undefined) throw error;
    const [, , ...field] = issue.path;
    throw new InvalidParams(`${field.join(".")}: ${issue.message}`, {
      issues: [{ path: ["server", ...field], message: issue.message }],
    });
  }
}

/** @throws {SvcError} validation for a file that is not UTF-8: its other bytes would be lost */
function readText(path: string): string {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SvcError("validation", `${path} is not UTF-8`, {
      hint: "save it as UTF-8 in an editor",
    });
  }
}

/** A new file takes the place of the old one, which the old one's mode does not prevent. */
function checkWritable(path: string): void {
  try {
    const { mode } = Deno.lstatSync(path);
    if (mode === null || (mode & 0o200) !== 0) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new SvcError("permission_denied", `${path} is read-only`, {
    hint: `chmod u+w ${path}`,
  });
}

async function revisionOf(text: string): Promise<string> {
  return (await sha256Hex(text)).slice(0, 16);
}

function tooLong(path: string): SvcError {
  return new SvcError(
    "conflict",
    `${path} has more than ${EDITED_MAX} characters, too many to edit it from here`,
    { hint: "edit it by hand, then read the policy again with daemon.reload_config" },
  );
}

function changedMeanwhile(path: string): SvcError {
  return new SvcError("conflict", `${path} has changed since it was read`, {
    hint: "read it again with mcp.get_policy, then repeat the change",
  });
}
