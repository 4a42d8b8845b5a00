import { Opener } from "../../base/lazy.ts";
import { FILES_UNREADABLE, MAIN_LANE } from "../../protocol/events.ts";
import type { Session } from "../../session/session.ts";
import { feature } from "../../verbs/feature.ts";
import { skillVerbs } from "./verbs.ts";

export const skills = feature({
  name: "skills",
  verbs: skillVerbs,
  open(host) {
    const { hub, paths: { home } } = host;
    const library = new Opener(async () => {
      const { Library } = await import("./library.ts");
      return new Library({ home, hidden: (workdir) => host.scope(workdir).hidden });
    });
    /** The problems that sessions were told about. */
    const told = new WeakMap<Session, string>();
    return {
      async beforeModel(session) {
        if (session.state.trust !== "trusted") return;
        const text = (await library.get()).unreadable(session);
        const before = told.get(session) ?? "";
        told.set(session, text);
        if (text === "" || text === before) return;
        await session.emit("lane.note", {
          lane_id: MAIN_LANE,
          text: `not used: ${text}`,
          reason_code: FILES_UNREADABLE,
        });
      },
      async sessionTools({ id, state }) {
        // Set only for trusted sessions with skills.
        if (state.facts.skills === undefined) return [];
        const { skillTool } = await import("./tool.ts");
        return [skillTool(async () => (await library.get()).skills(await hub.get(id)).skills)];
      },
      services: { hub, home, library: () => library.get() },
      stop: () => library.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
