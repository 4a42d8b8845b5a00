/** Loaded at the first turn. */
import type { Host } from "../../verbs/host.ts";
import { skills } from "../skills/feature.ts";
import { skillsText } from "../skills/skills.ts";
import { packText } from "../skills/tool.ts";
import { Teller } from "./teller.ts";

/** Creates what tells a daemon's models where they work. */
export async function openTeller(host: Host): Promise<Teller> {
  const { models, sandbox, networkOf, paths, turn_parts, checkout, granted, uid, log } = host;
  const library = await host.use(skills).library();
  return new Teller({
    isBuiltin: (model) => models().isBuiltin(model),
    sandbox,
    networkOf,
    home: paths.home,
    skills: (session) => skillsText(library.skills(session).skills),
    skill(session) {
      const { skill_pack } = session.state;
      return skill_pack === undefined
        ? undefined
        : packText(library.skills(session).skills, skill_pack);
    },
    hidden: turn_parts.hidden,
    checkout,
    granted,
    uid: Deno.build.os === "windows" ? undefined : uid,
    now: () => new Date(),
    log,
  });
}
