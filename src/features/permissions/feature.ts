import { join } from "@std/path";
import { Opener } from "../../base/lazy.ts";
import { exists } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { PERMISSIONS } from "./config.ts";
import { PROJECT_RULES } from "./project_rules.ts";
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
      return new Permissions(host);
    });
    return {
      services: { host, permissions: () => opened.get() },
      async beforeTurn(session) {
        // Most directories have no such file.
        if (session.state.trust !== "trusted") return;
        if (!exists(join(session.state.workdir, PROJECT_RULES))) return;
        await (await opened.get()).mentionUntrusted(session);
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
