/** Turns of models, with the tools of this program and its features. */
import { compactNow, type LoopParts, turnRunner } from "../agent/loop.ts";
import { limitsOf } from "../models/limits.ts";
import { realHome } from "../os/files.ts";
import type { Tool } from "../agent/tool.ts";
import { builtinTools } from "../agent/tools.ts";
import type { SessionParts } from "../session/session.ts";
import type { OpenFeatures } from "../verbs/feature.ts";
import type { Host } from "../verbs/host.ts";

export interface DaemonTurns {
  runTurn: ReturnType<typeof turnRunner>;
  /** Shortens a conversation between turns. */
  compact: NonNullable<SessionParts["compact"]>;
  /** Tools for every session. */
  builtin: readonly Tool[];
}

/** Prepares to run turns of models. */
export async function openTurns(
  host: Omit<Host, "use">,
  features: OpenFeatures,
): Promise<DaemonTurns> {
  const { env, config, models, cost, priced, hub, sandbox, turn_parts } = host;
  const more = await Promise.all(features.each("tools"));
  const builtin = builtinTools({
    units: await host.units(),
    sandbox,
    unconfined: host.unconfined,
    network: async (session_id) => host.networkOf((await hub.get(session_id)).state) === true,
    wayOut: host.wayOut,
    space: host.space,
    granted: host.granted,
    asked: host.asked,
    opened: host.opened,
    home: realHome(env),
    own_port: () => host.discovery()?.port ?? 0,
    async egress(session_id) {
      const { trust } = (await hub.get(session_id)).state;
      if (trust !== "trusted") return await host.openEgress(true);
      // The person's proxy may know other routes.
      const { goesThroughProxy } = await import("../net/proxy_env.ts");
      return goesThroughProxy(env) ? undefined : await host.openEgress(false);
    },
    journal: async (session_id) => (await hub.get(session_id)).journal,
    async startInBackground(command, scope) {
      const { startInBackground } = await import("../features/background/start.ts");
      return await startInBackground(host, command, scope);
    },
  }, more.flat());
  const parts: LoopParts = {
    ...turn_parts,
    model: (id) => models().resolve(id),
    max_steps: () => config().agent.max_steps,
    fallback: () => config().agent.fallback,
    cost,
    priced,
    async tell(session, turn) {
      await Promise.all(features.each("beforeModel", session, turn));
    },
    async touched(session, turn, calls) {
      await Promise.all(features.each("afterCalls", session, turn, calls));
    },
    limits(id) {
      const { overrides, facts } = models().describe(id);
      return limitsOf(id, overrides, facts);
    },
    async tools(session, signal) {
      const own = await Promise.all(features.each("sessionTools", session, signal));
      const offered = (tool: Tool) => tool.offered?.(session.state) ?? true;
      const base = builtin.every(offered) ? builtin : builtin.filter(offered);
      return own.every(({ length }) => length === 0) ? base : [...base, ...own.flat()];
    },
  };
  return {
    builtin,
    runTurn: turnRunner(parts),
    compact: (session, turn) => compactNow(session, turn, parts),
  };
}
