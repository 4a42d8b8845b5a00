import * as z from "zod";
import { defineTool, type Tool, type ToolOutcome } from "../../agent/tool.ts";
import { nearestOf } from "../../base/nearest.ts";
import { visibleLine } from "../../base/visible.ts";
import { RootedError } from "../../jail/rooted.ts";
import { BadMarkdown } from "./front_matter.ts";
import { textIn } from "./places.ts";
import { type FoundSkill, otherFiles } from "./skills.ts";

/** Returns the tool with which a model reads a skill. @param find returns the session's skills */
export function skillTool(find: () => Promise<readonly FoundSkill[]>): Tool {
  return defineTool({
    name: "use_skill",
    description:
      "Returns the instructions of a skill and the names of its other files; with file, one of these.",
    access: "read",
    input: z.strictObject({
      name: z.string().min(1),
      file: z.string().min(1).optional().describe("Path of another file of the skill"),
    }),
    describe: ({ name, file }) => `skill ${name}${file === undefined ? "" : `, ${file}`}`,
    async run({ name, file }) {
      const skills = await find();
      const skill = skills.find((it) => it.name === name);
      if (skill === undefined) return missing("skill", name, skills.map((it) => it.name));
      const files = otherFiles(skill);
      if (file === undefined) return { ok: true, output: introduced(skill, files) };
      return files.includes(file) ? contentOf(skill, file) : missing("file", file, files);
    },
  });
}

/** Returns the text about a session's initial skill for a model. */
export function packText(skills: readonly FoundSkill[], name: string): string {
  const skill = skills.find((it) => it.name === name);
  if (skill === undefined) return `${visibleLine(name)}, whose instructions are no longer there`;
  return `follow these instructions in all your work here.\n${
    introduced(skill, otherFiles(skill))
  }`;
}

function missing(what: string, name: string, known: readonly string[]): ToolOutcome {
  const near = nearestOf(name, known);
  const meant = near === undefined ? "" : `; did you mean ${visibleLine(near)}?`;
  return { ok: false, output: `there is no ${what} ${visibleLine(name)}${meant}` };
}

function introduced({ name, path, source, folder, body }: FoundSkill, files: readonly string[]) {
  const lines = [`Skill ${name}, from ${path}.`];
  if (files.length > 0) {
    lines.push("Its other files:", ...files.map((file) => `- ${visibleLine(file)}`));
    lines.push(
      source === "project"
        ? `They are in ${visibleLine(folder)} of the working directory.`
        : "Only use_skill can read them, with file.",
    );
  }
  return `${lines.join("\n")}\n\n${body}`;
}

function contentOf({ files, folder }: FoundSkill, file: string): ToolOutcome {
  try {
    return { ok: true, output: textIn(files, `${folder}/${file}`) ?? "" };
  } catch (error) {
    if (error instanceof BadMarkdown) {
      return { ok: false, output: `${visibleLine(file)}: ${error.message}` };
    }
    if (error instanceof RootedError) return { ok: false, output: error.message };
    throw error;
  }
}
