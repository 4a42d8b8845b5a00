import * as z from "zod";
import { type Context, verbsOf } from "../../verbs/define.ts";
import { session_id } from "../../verbs/session_id.ts";
import { place, type PlaceServices, workdirOf } from "../../verbs/workdir.ts";
import type { Library, Where } from "./library.ts";

interface SkillServices extends PlaceServices {
  /** Loaded on first use. */
  library(): Promise<Library>;
}

const defineVerb = verbsOf<SkillServices>();

/** Where commands and skills are looked for: a directory has those of a session that begins in it. */
const of_place = () =>
  z.object({
    session_id: session_id().optional(),
    workdir: place().workdir.describe("Instead of a session: where one may begin"),
  });
const found = () =>
  z.object({
    name: z.string(),
    description: z.string(),
    source: z.enum(["project", "home"]),
    path: z.string(),
  });
const problems = () =>
  z.array(z.object({ path: z.string(), message: z.string() })).describe("Files that are not used");

async function whereOf(
  context: Context<SkillServices>,
  at: { session_id?: string; workdir?: string },
): Promise<Where> {
  if (at.session_id !== undefined && at.workdir === undefined) {
    return await context.services.hub.get(at.session_id);
  }
  return { state: { workdir: await workdirOf(context, at), trust: "trusted" } };
}

export const skillVerbs = [
  defineVerb({
    name: "commands.list",
    summary: "Lists the commands that Markdown files define for a session.",
    access: "read",
    input: of_place,
    output: () =>
      z.object({
        commands: z.array(found().extend({ argument_hint: z.string().optional() })),
        problems: problems(),
      }),
    async handle(context, at) {
      const library = await context.services.library();
      return library.commands(await whereOf(context, at));
    },
  }),
  defineVerb({
    name: "commands.expand",
    summary: "Returns the message for a line such as `/name arguments`; other text is unchanged.",
    access: "read",
    input: () => of_place().extend({ text: z.string().min(1) }),
    output: () =>
      z.object({
        text: z.string(),
        command: z.string().optional().describe("Absent if the text is not a command"),
      }),
    async handle(context, { text, ...at }) {
      const library = await context.services.library();
      return library.expand(await whereOf(context, at), text);
    },
  }),
  defineVerb({
    name: "skills.list",
    summary: "Lists the skills that a session's model is told about.",
    access: "read",
    input: of_place,
    output: () => z.object({ skills: z.array(found()), problems: problems() }),
    async handle(context, at) {
      const library = await context.services.library();
      const { skills, problems } = library.skills(await whereOf(context, at));
      const shown = skills.map(({ name, description, source, path }) => {
        return { name, description, source, path };
      });
      return { skills: shown, problems };
    },
  }),
];
