/** Changes of policy.yaml. */
import type { Client } from "../rpc/client.ts";
import type { Params, Result } from "../rpc/api.ts";

export type EditedServer = Params<"mcp.save_server">["server"];
export type Policy = Result<"mcp.get_policy">;

/** Changes one of the servers, as the file has it now. */
export async function changeServer(
  client: Client,
  name: string,
  changes: Partial<EditedServer>,
): Promise<void> {
  const { revision, servers } = await client.ask("mcp.get_policy", {});
  const server = servers.find((it) => it.name === name);
  if (server === undefined) throw new Error(`policy.yaml no longer has a tool server ${name}`);
  await client.call("mcp.save_server", { revision, name, server: { ...server, ...changes } });
}

/** A value of an environment or of headers; null is one that is not shown and stays. */
export interface Row {
  name: string;
  value: string | null;
}

/** Why rows are no names with their values, if they are not. */
export function rowFault(rows: readonly Row[]): string | undefined {
  const names = rows.map(({ name }) => name.trim());
  if (rows.some(({ value }, n) => names[n] === "" && value !== "")) return "A value has no name.";
  const again = names.find((name, n) => name !== "" && names.indexOf(name) < n);
  return again && `${again} is there twice.`;
}

/** Whether a text looks like a key that belongs into a variable. */
export function looksSecret({ name, value }: Row): boolean {
  if (value === null || value === "" || value.includes("${")) return false;
  if (/key|token|secret|passw|credential|authorization/i.test(name)) return true;
  return /^[\w+/=.-]{16,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value) &&
    !value.startsWith("/");
}

/** A reference to a variable that could hold a value. */
export function referenceFor({ name, value }: Row, server: string): string {
  const words = /^authorization$/i.test(name) ? `${server}_token` : name;
  const variable = words.toUpperCase().replace(/[^A-Z0-9]+/g, "_").replace(/^(?=\d)/, "_");
  const [scheme = ""] = value?.match(/^(?:Bearer|Basic|Token) /i) ?? [];
  return `${scheme}\${${variable || "SECRET"}}`;
}
