import { Opener } from "../../base/lazy.ts";
import { feature } from "../../verbs/feature.ts";
import { skillVerbs } from "./verbs.ts";

/** Commands and skills from Markdown files. */
export const skills = feature({
  name: "skills",
  verbs: skillVerbs,
  open(host) {
    const library = new Opener(async () => {
      const { Library } = await import("./library.ts");
      return new Library({ home: host.paths.home, hidden: host.turn_parts.hidden });
    });
    return {
      async sessionTools({ id, state }) {
        // Told of in this session, which an untrusted one never is.
        if (state.facts.skills === undefined) return [];
        const { skillTool } = await import("./tool.ts");
        return [skillTool(async () => (await library.get()).skills(await host.hub.get(id)).skills)];
      },
      services: { hub: host.hub, library: () => library.get() },
      stop: () => library.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
