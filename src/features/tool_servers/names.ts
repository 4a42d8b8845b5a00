/** The names under which models see the tools of tool servers. */
import { createHash } from "node:crypto";

/** The tool with which a model requests its project's servers. No server's tool has such a name. */
export const APPROVAL_TOOL = "start_project_servers";

/** The longest name that every provider accepts. */
const NAME_MAX = 64;
const HASH_LENGTH = 8;

/** Returns a function that names the tools of these servers. */
export function toolNamer(
  servers: readonly string[],
): (server: string, tool: string) => string {
  const prefixes = new Map(servers.map((server) => [server, prefixOf(server)]));
  const others = (server: string) =>
    [...prefixes].filter(([other]) => other !== server).map(([, prefix]) => prefix);
  return (server, tool) => {
    const prefix = prefixOf(server);
    // `a` with tool `b_c` and `a_b` with tool `c` would have the same name. The result must not
    // depend on which servers respond: an approval for one tool could apply to the other.
    // Nor may a model have to tell two tools apart by capitals.
    const mine = prefix.toLowerCase();
    const ambiguous = others(server).map((it) => it.toLowerCase())
      .some((it) => it.startsWith(mine) || mine.startsWith(it));
    const plain = legal(`mcp_${server}_${tool}`);
    const exact = plain === `mcp_${server}_${tool}` && plain.length <= NAME_MAX && !ambiguous;
    return exact ? plain : `${plain.slice(0, NAME_MAX - HASH_LENGTH - 1)}_${hash(server, tool)}`;
  };
}

function prefixOf(server: string): string {
  return legal(`mcp_${server}_`);
}

function legal(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function hash(server: string, tool: string): string {
  return createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, HASH_LENGTH);
}
