import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { join } from "@std/path";
import { exists } from "../../os/files.ts";
import type { Session } from "../../session/session.ts";
import { permissions } from "../permissions/feature.ts";
import { type HookEvent, HOOKS } from "./config.ts";
import { PROJECT_FILES } from "./project_files.ts";
import { hookVerbs } from "./verbs.ts";

/** Programs of the operator and of trusted projects that run on events and decide about calls. */
export const hooks = feature({
  name: "hooks",
  sections: [HOOKS],
  verbs: hookVerbs,
  open(host) {
    const { permissions: rules, trusts, trustAsked } = host.use(permissions);
    const files = new Opener(async () => {
      const { ProjectHookFiles } = await import("./project.ts");
      return new ProjectHookFiles();
    });
    const isTrusted = async (directory: string, text: string) =>
      (await rules()).isTrusted(directory, text);
    const opener = new Opener(async () => {
      const { Hooks } = await import("./hooks.ts");
      return new Hooks(host, { files: await files.get(), isTrusted });
    });
    trusts({
      files: PROJECT_FILES,
      async read(directory) {
        if (!hasFiles(directory)) return undefined;
        const found = (await files.get()).read(directory);
        if (found === undefined) return undefined;
        const { hookLine } = await import("./project.ts");
        const { hooks, ...rest } = found;
        return { ...rest, lines: hooks.map(hookLine) };
      },
    });
    /** Whether hooks may run on an event; most directories have no files with any. */
    const has = (event: HookEvent, { state }: Session) =>
      host.config().of(HOOKS).some(({ on }) => on === event) || hasFiles(state.workdir);
    return {
      services: {
        async listHooks(session_id) {
          const { listHooks } = await import("./list.ts");
          return await listHooks({ host, files, isTrusted }, session_id);
        },
      },
      async beforeCall(session, call, signal) {
        if (!has("tool.before", session)) return undefined;
        return await (await opener.get()).beforeCall(session, call, signal);
      },
      async afterCall(session, call, outcome, signal) {
        if (!has("tool.after", session)) return undefined;
        return await (await opener.get()).afterCall(session, call, outcome, signal);
      },
      async beforeTurn(session, turn) {
        await trustAsked(turn);
        if (has("turn.started", session)) await (await opener.get()).turnStarted(session, turn);
      },
      // fold-ok: which hooks run on an event
      onEvents(session, events) {
        for (const { type, data } of events) {
          if (type === "session.created") {
            if (has(type, session)) {
              void opener.get().then((it) => it.tell(session, { event: type }));
            }
          } else if (type === "turn.completed" && has(type, session)) {
            const { turn_id, stop_reason, message, usage: { usd } } = data;
            void Promise.all([opener.get(), import("./hooks.ts")]).then(([it, { cut }]) =>
              it.tell(session, { event: type, turn_id, stop_reason, message: cut(message), usd })
            );
          } else if (type === "approval.requested" && has("question.asked", session)) {
            const { approval_id, tool, args, reason, kind } = data;
            const asked = { approval_id, tool, args, reason, ...(kind && { kind }) };
            void opener.get().then((it) => it.tell(session, { event: "question.asked", ...asked }));
          }
        }
      },
      async stop() {
        await (await opener.opened)?.[Symbol.asyncDispose]();
        (await files.opened)?.[Symbol.dispose]();
      },
    };
  },
});

function hasFiles(directory: string): boolean {
  return PROJECT_FILES.some((file) => exists(join(directory, file)));
}
