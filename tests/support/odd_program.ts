/** Tool servers for tests that are programs of a few lines, for what the protocol's SDK never does. */
import { join } from "@std/path";

export interface OddProgram {
  /** What the program does before it reads its first message. */
  before?: string;
  /** Shell commands that answer a method; `$id` is the request's id. */
  answers?: Record<string, string>;
}

/** Writes the program. @returns its path, for `command` of an entry in policy.yaml */
export function writeOddProgram(dir: string, { before = "", answers = {} }: OddProgram): string {
  const all: Record<string, string> = {
    initialize: said({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "odd", version: "1" },
    }),
    "tools/list": said({ tools: [{ name: "ping", inputSchema: { type: "object" } }] }),
    "tools/call": said({ content: [{ type: "text", text: "pong" }] }),
    ...answers,
  };
  const cases = Object.entries(all).map(([method, command]) => `*'"${method}"'*) ${command} ;;`);
  const path = join(dir, "server.sh");
  const text = `#!/bin/sh
cd '${dir}'
${before}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case "$line" in
    ${cases.join("\n    ")}
  esac
done
`;
  Deno.writeTextFileSync(path, text, { mode: 0o700 });
  return path;
}

/** Shell commands that answer with a result. */
export function said(result: unknown): string {
  return printed(`{"jsonrpc":"2.0","id":$id,"result":${JSON.stringify(result)}}`);
}

/** Shell commands that print a text, in which `$id` is the request's id. */
export function printed(text: string): string {
  const parts = text.split("$id").map((part) => part === "" ? "" : `'${part}'`);
  return `printf '%s\\n' ${parts.join('"$id"')}`;
}
