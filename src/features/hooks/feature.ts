import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { type HookEvent, HOOKS } from "./config.ts";

/** Programs of the operator that run on events and decide about calls. */
export const hooks = feature({
  name: "hooks",
  sections: [HOOKS],
  open(host) {
    const opener = new Opener(async () => {
      const { Hooks } = await import("./hooks.ts");
      return new Hooks(host);
    });
    const has = (event: HookEvent) => host.config().of(HOOKS).some(({ on }) => on === event);
    return {
      services: {},
      async beforeCall(session, call, signal) {
        if (!has("tool.before")) return undefined;
        return await (await opener.get()).beforeCall(session, call, signal);
      },
      async afterCall(session, call, outcome, signal) {
        if (!has("tool.after")) return undefined;
        return await (await opener.get()).afterCall(session, call, outcome, signal);
      },
      async beforeTurn(session, turn) {
        if (has("turn.started")) await (await opener.get()).turnStarted(session, turn);
      },
      // fold-ok: which hooks run on an event
      onEvents(session, events) {
        for (const { type, data } of events) {
          if (type === "session.created") {
            if (has(type)) void opener.get().then((it) => it.tell(session, { event: type }));
          } else if (type === "turn.completed" && has(type)) {
            const { turn_id, stop_reason, message, usage: { usd } } = data;
            void Promise.all([opener.get(), import("./hooks.ts")]).then(([it, { cut }]) =>
              it.tell(session, { event: type, turn_id, stop_reason, message: cut(message), usd })
            );
          } else if (type === "approval.requested" && has("question.asked")) {
            const { approval_id, tool, args, reason, kind } = data;
            const asked = { approval_id, tool, args, reason, ...(kind && { kind }) };
            void opener.get().then((it) => it.tell(session, { event: "question.asked", ...asked }));
          }
        }
      },
      stop: async () => await (await opener.opened)?.[Symbol.asyncDispose](),
    };
  },
});
