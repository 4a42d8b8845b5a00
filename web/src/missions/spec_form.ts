/** A statement of work as a form, and back: what a form cannot hold is never dropped. */

export interface SpecTask {
  id: string;
  description: string;
  dependencies?: string[];
  files?: string[];
}

export interface SpecCriterion {
  id: string;
  description: string;
  command?: string;
  file_exists?: string;
  content_match?: { file: string; pattern: string };
}

/** A statement of work with one session, which is what the form shows. */
export interface Spec {
  id: string;
  name: string;
  sessions: {
    id: string;
    title: string;
    tasks: SpecTask[];
    acceptance_criteria?: SpecCriterion[];
  }[];
}

export const KINDS = ["command", "file_exists", "content_match", "judged"] as const;
export type Kind = typeof KINDS[number];

export interface TaskItem {
  key: number;
  name: string;
  /** From a text: it holds until the name is changed. */
  id?: string;
  text: string;
  /** The keys of the tasks that must be done before. */
  after: number[];
  /** One a line. */
  files: string;
}

export interface CriterionItem {
  key: number;
  text: string;
  id?: string;
  kind: Kind;
  /** The command, or the file. */
  value: string;
  pattern: string;
}

export interface MissionForm {
  name: string;
  /** From a text: it holds until the name is changed. */
  id?: string;
  session?: { id: string; title: string };
  tasks: TaskItem[];
  criteria: CriterionItem[];
  /** The key of what is added next. */
  next: number;
}

/** What a mission is made of: a session's directory, and the open steps of its plan or what was asked last. */
export interface Seed {
  session_id: string;
  workdir: string;
  name: string;
  steps: string[];
  goal: string;
}

/** Characters of an id that is made from words, and of a name that is made from a text. */
const ID_MAX = 48;
const NAME_MAX = 80;

/** A form with one empty task. */
export function emptyForm(): MissionForm {
  return { name: "", tasks: [newTask(0)], criteria: [], next: 1 };
}

export function newTask(key: number): TaskItem {
  return { key, name: "", text: "", after: [], files: "" };
}

export function newCriterion(key: number): CriterionItem {
  return { key, text: "", kind: "command", value: "", pattern: "" };
}

/** The form that a conversation begins with: the steps of its plan one after the other. */
export function formOfSeed({ name, steps, goal }: Seed): MissionForm {
  const texts = steps.length > 0 ? steps : [goal];
  const tasks = texts.map((text, key) => ({
    ...newTask(key),
    name: text.trim().split("\n")[0].slice(0, NAME_MAX),
    text,
    after: key > 0 ? [key - 1] : [],
  }));
  return { name, tasks, criteria: [], next: tasks.length };
}

/** An id made from words. */
export function idOf(words: string): string {
  return Array.from(words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-"))
    .slice(0, ID_MAX).join("").replace(/^-+|-+$/g, "");
}

/** The ids of items: their own, else made from their words, each another one. */
export function idsOf(
  items: readonly { id?: string; words: string }[],
  fallback: string,
): string[] {
  const taken = new Set(items.map(({ id }) => id));
  return items.map(({ id, words }) => {
    if (id !== undefined) return id;
    const wanted = idOf(words) || fallback;
    let found = wanted;
    for (let n = 2; taken.has(found); n++) found = `${wanted}-${n}`;
    taken.add(found);
    return found;
  });
}

/** The ids of a form's tasks, in their order. */
export function taskIds({ tasks }: MissionForm): string[] {
  return idsOf(tasks.map(({ id, name }) => ({ id, words: name })), "task");
}

/** The statement of work that a form spells. */
export function specOf(form: MissionForm): Spec {
  const { name, id, session, tasks, criteria } = form;
  const ids = taskIds(form);
  const byKey = new Map(tasks.map(({ key }, n) => [key, ids[n]]));
  const criterion_ids = idsOf(criteria.map(({ id, text }) => ({ id, words: text })), "criterion");
  return {
    id: id ?? (idOf(name) || "mission"),
    name,
    sessions: [{
      id: session?.id ?? "all",
      title: session?.title ?? (name || "All"),
      tasks: tasks.map(({ text, after, files }, n) => {
        const dependencies = after.flatMap((key) => byKey.get(key) ?? []);
        const named = files.split("\n").map((it) => it.trim()).filter((it) => it !== "");
        return {
          id: ids[n],
          description: text,
          ...(dependencies.length > 0 && { dependencies }),
          ...(named.length > 0 && { files: named }),
        };
      }),
      ...(criteria.length > 0 && {
        acceptance_criteria: criteria.map((it, n) => ({
          id: criterion_ids[n],
          description: it.text,
          ...checkOf(it),
        })),
      }),
    }],
  };
}

function checkOf({ kind, value, pattern }: CriterionItem): Partial<SpecCriterion> {
  if (kind === "content_match") return { content_match: { file: value, pattern } };
  return kind === "judged" ? {} : { [kind]: value };
}

/**
 * A statement of work as a form.
 *
 * @param before the form that the text was made from: its names are known by their ids.
 * @returns why not, when the form cannot show all of it.
 */
export function formOf(spec: unknown, before?: MissionForm): MissionForm | string {
  try {
    return read(spec, before);
  } catch (error) {
    if (error instanceof Unfit) return error.message;
    throw error;
  }
}

class Unfit extends Error {}

type Members = Record<string, unknown>;

function read(spec: unknown, before: MissionForm | undefined): MissionForm {
  const { id, name, sessions } = members(spec, "the text", ["id", "name", "sessions"]);
  const all = list(sessions, "sessions");
  if (all.length !== 1) throw new Unfit(`it has ${all.length} sessions, and the form shows one`);
  const session = members(all[0], "the session", [
    "id",
    "title",
    "tasks",
    "acceptance_criteria",
  ]);
  const names = new Map(before && taskIds(before).map((id, n) => [id, before.tasks[n].name]));
  const given = list(session.tasks, "tasks").map((it, n) => {
    const what = `task ${n + 1}`;
    const { id, description, dependencies, files } = members(it, what, [
      "id",
      "description",
      "dependencies",
      "files",
    ]);
    return {
      id: text(id, what),
      description: text(description, what),
      dependencies: list(dependencies, what).map((it) => text(it, what)),
      files: list(files, what).map((it) => text(it, what)),
    };
  });
  const keys = new Map(given.map(({ id }, key) => [id, key]));
  if (keys.size < given.length) throw new Unfit("two tasks have the same id");
  const tasks = given.map(({ id, description, dependencies, files }, key): TaskItem => {
    const after = dependencies.map((it) => {
      const found = keys.get(it);
      if (found === undefined) throw new Unfit(`task “${id}” depends on “${it}”, which is missing`);
      return found;
    });
    if (files.some((it) => it !== it.trim() || it === "" || it.includes("\n"))) {
      throw new Unfit(`task “${id}” has a file name with blanks at its ends`);
    }
    return {
      key,
      name: names.get(id) ?? id,
      id,
      text: description,
      after,
      files: files.join("\n"),
    };
  });
  const criteria = list(session.acceptance_criteria, "acceptance_criteria").map((it, n) =>
    readCriterion(it, tasks.length + n)
  );
  return {
    name: text(name, "name"),
    id: text(id, "id"),
    session: { id: text(session.id, "the session"), title: text(session.title, "the session") },
    tasks,
    criteria,
    next: tasks.length + criteria.length,
  };
}

function readCriterion(value: unknown, key: number): CriterionItem {
  const what = "a criterion";
  const { id, description, ...checks } = members(value, what, [
    "id",
    "description",
    "command",
    "file_exists",
    "content_match",
  ]);
  const item = { ...newCriterion(key), id: text(id, what), text: text(description, what) };
  const kinds = Object.keys(checks) as Kind[];
  if (kinds.length > 1) throw new Unfit(`criterion “${item.id}” has more than one check`);
  const kind = kinds[0] ?? "judged";
  if (kind === "judged") return { ...item, kind };
  if (kind !== "content_match") return { ...item, kind, value: text(checks[kind], what) };
  const { file, pattern } = members(checks.content_match, what, ["file", "pattern"]);
  return { ...item, kind, value: text(file, what), pattern: text(pattern, what) };
}

function members(value: unknown, what: string, known: readonly string[]): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Unfit(`${what} is not a set of names and values`);
  }
  const other = Object.keys(value).find((name) => !known.includes(name));
  if (other !== undefined) throw new Unfit(`the form has no place for “${other}” in ${what}`);
  return value as Members;
}

function list(value: unknown, what: string): unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Unfit(`${what} is not a list`);
  return value;
}

function text(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new Unfit(`${what} has a value that is missing, or not a text`);
}
