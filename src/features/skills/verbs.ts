import * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import type { Library } from "./library.ts";

interface SkillServices {
  readonly hub: Hub;
  /** Loaded on first use. */
  library(): Promise<Library>;
}

const defineVerb = verbsOf<SkillServices>();

const of_session = () => z.object({ session_id: session_id() });
const found = () =>
  z.object({
    name: z.string(),
    description: z.string(),
    source: z.enum(["project", "home"]),
    path: z.string(),
  });
const problems = () =>
  z.array(z.object({ path: z.string(), message: z.string() })).describe("Files that are not used");

export const skillVerbs = [
  defineVerb({
    name: "commands.list",
    summary: "Lists the commands that Markdown files define for a session.",
    access: "read",
    input: of_session,
    output: () =>
      z.object({
        commands: z.array(found().extend({ argument_hint: z.string().optional() })),
        problems: problems(),
      }),
    async handle({ services }, { session_id }) {
      const library = await services.library();
      return library.commands(await services.hub.get(session_id));
    },
  }),
  defineVerb({
    name: "commands.expand",
    summary: "Returns the message for a line such as `/name arguments`; other text is unchanged.",
    access: "read",
    input: () => of_session().extend({ text: z.string().min(1) }),
    output: () =>
      z.object({
        text: z.string(),
        command: z.string().optional().describe("Absent if the text is not a command"),
      }),
    async handle({ services }, { session_id, text }) {
      const library = await services.library();
      return library.expand(await services.hub.get(session_id), text);
    },
  }),
  defineVerb({
    name: "skills.list",
    summary: "Lists the skills that a session's model is told about.",
    access: "read",
    input: of_session,
    output: () => z.object({ skills: z.array(found()), problems: problems() }),
    async handle({ services }, { session_id }) {
      const library = await services.library();
      const { skills, problems } = library.skills(await services.hub.get(session_id));
      const shown = skills.map(({ name, description, source, path }) => {
        return { name, description, source, path };
      });
      return { skills: shown, problems };
    },
  }),
];
