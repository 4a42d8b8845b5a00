import { Opener } from "../../base/lazy.ts";
import { feature, startOption } from "../../verbs/feature.ts";
import { toolServers } from "../tool_servers/feature.ts";
import { TASKS } from "./config.ts";
import type { Reporter, TaskWorkerOptions } from "./open.ts";
import { queueVerbs } from "./queue_verbs.ts";
import { taskVerbs } from "./verbs.ts";

/** Set in a process that only takes tasks. */
export const takeTasks = startOption<TaskWorkerOptions>();

export const tasks = feature({
  name: "tasks",
  sections: [TASKS],
  verbs: [...queueVerbs, ...taskVerbs],
  migrations: async () => (await import("./migrations.ts")).MIGRATIONS,
  open(host) {
    const { config, requireRunning, has_state_db } = host;
    let openReporter: (() => Promise<Reporter>) | undefined;
    const engine = new Opener(async () => {
      requireRunning();
      const { openTasks } = await import("./open.ts");
      const { deploy_targets } = host.use(toolServers);
      const worker = host.given(takeTasks);
      try {
        return await openTasks(host, { deploy_targets, worker, reporter: await openReporter!() });
      } catch (error) {
        worker?.onFailure(error);
        throw error;
      }
    });
    return {
      services: {
        config,
        tasks: () => engine.get(),
        /** Sets what sends the callbacks of tasks. */
        reportBy: (open: () => Promise<Reporter>) => void (openReporter = open),
      },
      async resume() {
        // Without a table in daemon.toml tasks are kept in the state database.
        const elsewhere = config().has(TASKS) && config().of(TASKS).engine === "restate";
        if (has_state_db || elsewhere) await engine.get();
      },
      writable: () => config().of(TASKS).workdirs,
      finish: (grace_ms) => engine.opened?.then((it) => it.close(grace_ms)),
    };
  },
});
