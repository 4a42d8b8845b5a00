/** Skills: instructions in folders, which a model reads when it needs them. */
import { visibleLine } from "../../base/visible.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedFiles, UntrustedReader } from "../../jail/untrusted_files.ts";
import { BadMarkdown, type Markdown, parseMarkdown, textField } from "./front_matter.ts";
import { type Owner, type Place, placesOf, Problems, textIn } from "./places.ts";

export interface FoundSkill {
  name: string;
  /** One line. */
  description: string;
  source: Place["source"];
  path: string;
  /** Relative to the root of `files`. */
  folder: string;
  body: string;
  files: UntrustedFiles;
}

const FILE = "SKILL.md";
const SKILLS_MAX = 200;
/** Of all names and descriptions, which are in every request. */
const TOLD_MAX = 32 * 1024;
const DESCRIPTION_MAX = 1_024;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}_.-]{0,63}$/u;

/** Limits of a skill's other files, and of subfolders. */
const OTHER_FILES_MAX = 100;
const DEPTH_MAX = 3;

/** Returns a session's skills, sorted by name. */
export function findSkills(reader: UntrustedReader, owner: Owner) {
  const search = new Search();
  for (const place of placesOf(reader, "skills", owner)) search.place(place);
  const skills = [...search.found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  const { found: problems, unreadable } = search.problems;
  return { skills, problems, unreadable };
}

class Search {
  readonly found = new Map<string, FoundSkill>();
  readonly problems = new Problems();
  #count = 0;
  #told = 0;

  place(place: Place): void {
    const { files, directory, path } = place;
    for (const name of this.problems.try(path, () => files.names(directory))?.sort() ?? []) {
      if (name.startsWith(".")) continue;
      if (++this.#count > SKILLS_MAX) {
        return this.problems.add(path, `only the first ${SKILLS_MAX} skills are used`);
      }
      this.#folder(place, name);
    }
  }

  #folder({ files, directory, path: at, source }: Place, folder_name: string): void {
    const path = `${at}/${folder_name}/${FILE}`;
    const folder = `${directory}/${folder_name}`;
    const text = this.problems.try(path, () => textIfAny(files, `${folder}/${FILE}`));
    const skill = text && this.problems.try(path, () => skillOf(parseMarkdown(text)));
    if (!skill) return;
    const { name, description } = skill;
    const before = this.found.get(name);
    if (before !== undefined) {
      return this.problems.add(path, `the skill ${name} is already defined by ${before.path}`);
    }
    this.#told += name.length + description.length;
    if (this.#told > TOLD_MAX) {
      return this.problems.add(
        path,
        `the descriptions of all skills have more than ${TOLD_MAX} characters`,
      );
    }
    this.found.set(name, { ...skill, source, path: visibleLine(path), folder, files });
  }
}

/** Other files may be beside the folders of skills. */
function textIfAny(files: UntrustedFiles, path: string): string | undefined {
  try {
    return textIn(files, path);
  } catch (error) {
    if (error instanceof RootedError && error.reason === "not_directory") return undefined;
    throw error;
  }
}

/** @throws {BadMarkdown} */
function skillOf(file: Markdown) {
  const name = textField(file, "name", 64);
  const description = textField(file, "description", DESCRIPTION_MAX);
  if (name === undefined || description === undefined) {
    const missing = name === undefined ? "name" : "description";
    throw new BadMarkdown(`its front matter has no ${missing}`);
  }
  if (!NAME.test(name)) {
    throw new BadMarkdown("a skill's name has letters, digits, `_`, `.` and `-` only");
  }
  return { name, description: visibleLine(description.replaceAll(/\s+/g, " ")), body: file.body };
}

/** Returns the text about skills for a model; undefined without any. */
export function skillsText(skills: readonly FoundSkill[]): string | undefined {
  if (skills.length === 0) return undefined;
  return [
    "instructions for certain work; read them with use_skill before you begin such work",
    ...skills.map(({ name, description }) => `- ${name}: ${description}`),
  ].join("\n");
}

/** Returns the paths of a skill's other files, relative to its folder. */
export function otherFiles({ files, folder }: FoundSkill): string[] {
  const found: string[] = [];
  const look = (parts: readonly string[]) => {
    for (const name of namesIfAny(files, [folder, ...parts].join("/")).sort()) {
      if (found.length >= OTHER_FILES_MAX) return;
      const path = [...parts, name];
      const inner = path.join("/");
      if (name.startsWith(".") || inner === FILE) continue;
      if (files.hasFile(`${folder}/${inner}`)) found.push(inner);
      else if (path.length <= DEPTH_MAX) look(path);
    }
  };
  look([]);
  return found;
}

/** Ignores links that lead out, and files that are not directories. */
function namesIfAny(files: UntrustedFiles, path: string): string[] {
  try {
    return files.names(path);
  } catch (error) {
    if (error instanceof RootedError) return [];
    throw error;
  }
}
