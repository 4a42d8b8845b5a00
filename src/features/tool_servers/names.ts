/** The names under which models see the tools of tool servers. */
import { createHash } from "node:crypto";

/** The tool that a model asks with for the servers of its project. No server's tool has such a name. */
export const APPROVAL_TOOL = "start_project_servers";

/** What every provider takes. */
const NAME_MAX = 64;
const HASH_LENGTH = 8;

/** Makes the names for the tools of these servers. */
export function toolNamer(
  servers: readonly string[],
): (server: string, tool: string) => string {
  const prefixes = new Map(servers.map((server) => [server, prefixOf(server)]));
  const others = (server: string) =>
    [...prefixes].filter(([other]) => other !== server).map(([, prefix]) => prefix);
  return (server, tool) => {
    const prefix = prefixOf(server);
    // `a` with tool `b_c` and `a_b` with tool `c` would be the same. That must not hang on which
    // servers answer: an approval given to the one would then be taken for the other.
    const ambiguous = others(server).some((it) => it.startsWith(prefix) || prefix.startsWith(it));
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
