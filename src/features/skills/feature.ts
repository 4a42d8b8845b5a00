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
      services: { hub: host.hub, library: () => library.get() },
      stop: () => library.opened?.then((it) => it[Symbol.dispose]()),
    };
  },
});
