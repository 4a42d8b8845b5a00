/** Changes the tool servers in policy.yaml; keeps comments, order and what it does not know. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "@std/yaml";
import { isMap, isSeq, Lexer, parseDocument, type YAMLMap, type YAMLSeq } from "yaml";
import { sha256Hex } from "../../base/sha256.ts";
import { atomicWrite, checkPrivate, readTextIfAny } from "../../os/files.ts";
import { InvalidParams, SvcError } from "../../protocol/errors.ts";
import { parsePolicy } from "./policy_file.ts";
import type { EditedServer, PolicyText } from "./policy_schemas.ts";

type Members = Record<string, unknown>;

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
  const text = await readTextIfAny(path) ?? "";
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
 * has changed; not_found for a name that is not in it; permission_denied when it is not private
 */
export async function changePolicy(
  path: string,
  change: ServerChange,
  revision: string,
): Promise<string> {
  checkPrivate(path, 0o600, "file");
  const text = await readTextIfAny(path) ?? "";
  if (revision !== await revisionOf(text)) throw changedMeanwhile(path);
  parsePolicy(text, path);
  const edited = edit(text, change, path);
  if (edited !== text) {
    if ((await readTextIfAny(path) ?? "") !== text) throw changedMeanwhile(path);
    await atomicWrite(path, edited, 0o600);
  }
  return await revisionOf(edited);
}

/** @throws {SvcError} internal when anything else would change */
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

  const document = parseDocument(text, { keepSourceTokens: false });
  if (!isSeq(document.get("mcp_servers"))) {
    document.set("mcp_servers", document.createNode([]));
  }
  const list = document.get("mcp_servers") as YAMLSeq;
  // In a list on one line, an entry would stand on that line too.
  if (list.items.length === 0) list.flow = false;
  if (server === undefined) list.delete(at);
  else if (at === list.items.length) list.add(document.createNode(entries[at]));
  else setMembers(list.items[at] as YAMLMap, entries[at], document.createNode.bind(document));
  const edited = document.toString({
    lineWidth: 0,
    indentSeq: !/^mcp_servers:[^\n]*\n(?:[ ]*(?:#[^\n]*)?\n)*- /m.test(text),
    flowCollectionPadding: !/\{\S/.test(text),
  });
  const same = isDeepStrictEqual(parse(edited), JSON.parse(JSON.stringify(wanted)));
  if (same && (server === undefined || hasAll(edited, text))) return edited;
  throw new SvcError("internal", `${path} cannot be edited without changing other parts of it`, {
    hint: "edit it by hand, then run daemon.reload_config",
  });
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
    Object.entries(value!).map(([name, it]) => [name, keep(it, (before as Members)?.[name])]),
  );
}

/** Changes the members of a node that differ, so that comments stay beside the others. */
function setMembers(node: YAMLMap, wanted: Members, create: (value: unknown) => unknown): void {
  const before = node.toJSON() as Members;
  for (const key of Object.keys(before)) if (!Object.hasOwn(wanted, key)) node.delete(key);
  for (const [key, value] of Object.entries(wanted)) {
    if (isDeepStrictEqual(before[key], value)) continue;
    const child = node.get(key, true);
    if (isMap(child) && typeof value === "object" && !Array.isArray(value)) {
      setMembers(child, value as Members, create);
    } else if (typeof value === "object") node.set(key, create(value));
    else node.set(key, value);
  }
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

async function revisionOf(text: string): Promise<string> {
  return (await sha256Hex(text)).slice(0, 16);
}

function changedMeanwhile(path: string): SvcError {
  return new SvcError("conflict", `${path} has changed since it was read`, {
    hint: "read it again with mcp.get_policy, then repeat the change",
  });
}
