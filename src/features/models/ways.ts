/** The ways to get a model: keys, servers on this machine, agents over ACP. */
import type * as z from "zod";
import { type AcpEntry, acpEntry, agentProblem } from "../../models/acp_entry.ts";
import { listModels } from "../../models/model_lists.ts";
import { isLocal, takesKey } from "../../models/overview.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { Env } from "../../os/paths.ts";
import { which } from "../../os/which.ts";
import { loginPages } from "./login.ts";
import type { waysSchema } from "./schemas.ts";

export type Ways = z.output<ReturnType<typeof waysSchema>>;

export interface WaysParts {
  registry: ModelRegistry;
  /** `[acp]` of daemon.toml. */
  agents: Readonly<Record<string, AcpEntry>>;
  env: Env;
  signal: AbortSignal;
}

/** A server of this machine answers in this time, also on a busy one, or it does not run. */
const LOOK_MS = 1_000;
/** Of each server, so many models are named. */
const NAMED_MAX = 50;

/** Programs that are agents over ACP, and what they need in daemon.toml. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  "claude-code-acp": [],
  "codex-acp": [],
  gemini: ["--experimental-acp"],
  opencode: ["acp"],
};

/**
 * Returns the ways to get a model.
 *
 * @param look whether to look for servers; otherwise none is listed
 */
export async function waysToModels(
  { registry, agents, env, signal }: WaysParts,
  look: boolean,
): Promise<Ways> {
  const all = registry.details();
  const default_model = registry.defaultId();
  const keyed = all.filter((it) => takesKey(registry, it));
  const servers = all.filter((it) => it.kind !== "builtin" && isLocal(registry, it));
  return {
    ready: keyed.some(({ configured }) => configured) || !registry.isBuiltin(default_model),
    default_model,
    providers: keyed.filter(({ address }) => address !== undefined)
      .map(({ provider, address, key_from, key_problem }) => ({
        provider,
        address: address!,
        key_from,
        problem: key_problem,
        login: loginPages(registry, provider) !== undefined,
      })),
    servers: look
      ? await Promise.all(
        servers.map(({ provider, address = "" }) => lookFor(registry, provider, address, signal)),
      )
      : [],
    agents: agentsOf(agents, env),
  };
}

async function lookFor(
  registry: ModelRegistry,
  provider: string,
  address: string,
  signal: AbortSignal,
): Promise<Ways["servers"][number]> {
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
    const models = await listModels(registry.target(provider), soon);
    const named = models.slice(0, NAMED_MAX).map(({ name }) => `${provider}/${name}`);
    return { provider, address, running: true, models: named };
  } catch {
    signal.throwIfAborted();
    return { provider, address, running: false, models: [] };
  }
}

function agentsOf(entries: Readonly<Record<string, AcpEntry>>, env: Env): Ways["agents"] {
  const set_up = Object.keys(entries)
    .filter((name) => agentProblem(name, entries, env) === undefined)
    .map((name) => ({ model: `acp/${name}` }));
  const used = new Set(Object.keys(entries).map((name) => acpEntry(name, entries).command));
  const found = Object.entries(PROGRAMS)
    .filter(([program]) => !Object.hasOwn(entries, program) && !used.has(program))
    .filter(([program]) => which(program, env("PATH")) !== undefined)
    .map(([program, args]) => ({
      model: `acp/${program}`,
      needs: [
        `[acp.${program}]`,
        `command = "${program}"`,
        ...(args.length > 0 ? [`args = ${JSON.stringify(args)}`] : []),
        "network = true",
      ].join("\n"),
    }));
  return [...set_up, ...found];
}
