import { join } from "@std/path";
import { Opener } from "../../base/lazy.ts";
import { exists } from "../../os/files.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import { feature } from "../../verbs/feature.ts";
import { PERMISSIONS } from "./config.ts";
import { PROJECT_RULES } from "./project_rules.ts";
import type { TrustSource } from "./trust_source.ts";
import { permissionVerbs } from "./verbs.ts";

/** Rules decide about calls before the approval mode does. */
export const permissions = feature({
  name: "permissions",
  sections: [PERMISSIONS],
  verbs: permissionVerbs,
  migrations: async () => (await import("./migrations.ts")).MIGRATIONS,
  open(host) {
    const opened = new Opener(async () => {
      const { Permissions } = await import("./open.ts");
      return new Permissions(host, trust_sources);
    });
    const trust_sources: TrustSource[] = [];
    const asked = new WeakMap<Turn, Promise<void>>();
    const askTrust = async (session: Session, turn: Turn) =>
      await (await opened.get()).askTrust(session, turn);
    return {
      services: {
        host,
        permissions: () => opened.get(),
        /** Adds files that need trust. */
        trusts: (source: TrustSource) => void trust_sources.push(source),
        /** Waits until the person has said whether they trust the session's directory. */
        trustAsked: (turn: Turn) => asked.get(turn),
      },
      async beforeTurn(session, turn) {
        // Most directories have no such files.
        const { workdir } = session.state;
        const files = [PROJECT_RULES, ...trust_sources.flatMap(({ files }) => files)];
        if (!files.some((file) => exists(join(workdir, file)))) return;
        const answer = askTrust(session, turn);
        asked.set(turn, answer);
        await answer;
      },
      judge: async (...call) => await (await opened.get()).judge(...call),
      onEnded: (id) =>
        void opened.opened?.then((it) => it.sessionEnded(id)).catch((error) =>
          host.log.warn("cannot remove the rules of a session", { error: String(error) })
        ),
      async onDeleted(id) {
        if (exists(host.paths.state_db)) await (await opened.get()).sessionEnded(id);
      },
      stop: () => opened.opened?.then((it) => it.close()),
    };
  },
});
