import { join } from "@std/path";
import { Opener } from "../../base/lazy.ts";
import { checkPrivate } from "../../os/files.ts";
import { feature } from "../../verbs/feature.ts";
import { POLICY } from "./config.ts";
import { NO_POLICY, type Policy, PROJECT_POLICY, readPolicy } from "./policy.ts";
import { mcpVerbs } from "./verbs.ts";

export const toolServers = feature({
  name: "tool_servers",
  sections: [POLICY],
  verbs: mcpVerbs,
  open(host) {
    const { hub, paths, config } = host;
    let policy = NO_POLICY;
    const external = () => ({ policy, ...config().of(POLICY) });
    const opened = new Opener(async () => {
      const { makeToolServers } = await import("./open.ts");
      return makeToolServers(host, external());
    });
    const use = async (read: Policy) => {
      policy = read;
      (await opened.opened)?.servers.configure(external());
    };
    /** Changes run one after the other. */
    let last: Promise<unknown> = Promise.resolve();
    return {
      services: {
        hub,
        policy_path: paths.policy,
        change_policy(change, revision) {
          const done = last.then(async () => {
            const { changePolicy } = await import("./policy_editor.ts");
            const changed = await changePolicy(paths.policy, change, revision);
            await use(await readPolicy(paths.policy));
            return changed;
          });
          last = done.catch(() => {});
          return done;
        },
        tool_servers: async () => (await opened.get()).servers,
        deploy_targets: () => policy.deploy_targets,
      },
      async read() {
        checkPrivate(paths.policy, 0o600, "file");
        const read = await readPolicy(paths.policy);
        return () => use(read);
      },
      async sessionTools(session, signal) {
        const { policy: { servers }, allow_project } = external();
        if (servers.length === 0 && !allow_project) return [];
        return await (await opened.get()).session_tools.for(session, signal);
      },
      beforeEnd: async (session) => await (await opened.opened)?.session_tools.beforeEnd(session),
      // It names programs to start, so no tool of a session may write it.
      hides: (workdir) => config().of(POLICY).allow_project ? [join(workdir, PROJECT_POLICY)] : [],
      stop: () => opened.opened?.then(({ servers }) => servers.close()),
    };
  },
});
