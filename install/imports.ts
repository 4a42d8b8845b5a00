/**
 * Checks the imports of src/, including type imports, against the table of folders in CONTRIBUTING.md:
 *
 *   deno run --allow-read --allow-run install/imports.ts
 *
 * A folder may import only from the folders in rows below its own, so no two folders import each
 * other. Files may form a circle only if one is the face of the other, which takes just its types.
 * The types of verbs are for every file.
 * A door takes nothing of a daemon but its verbs: it may import only what {@linkcode DOORS} and
 * {@linkcode FOR_DOORS} list.
 */
import { dirname, fromFileUrl, join, toFileUrl } from "@std/path";
import { walk } from "@std/fs";

/** What states the types of all verbs, so that whoever calls one may take its types. */
const VERB_TYPES = "src/features/verb_types.ts";

/** The doors, and what each may import beside its own; a path that ends with a slash is a folder. */
const DOORS: readonly { files: readonly string[]; imports: readonly string[] }[] = [
  {
    files: ["src/doors/"],
    imports: [
      VERB_TYPES,
      "src/os/local_socket.ts",
      "src/os/process.ts",
      "src/os/unix_peer.ts",
    ],
  },
  {
    files: [
      "src/features/hire/a2a/",
      "src/features/hire/app.ts",
      "src/features/hire/calls.ts",
      "src/features/hire/events.ts",
    ],
    imports: [
      "src/features/hire/authority.ts",
      "src/features/hire/body_max.ts",
      "src/features/hire/callback.ts",
      "src/features/hire/sse.ts",
      "src/features/hire/tokens.ts",
      "src/features/hire/verbs.ts",
      "src/features/tasks/common.ts",
      "src/features/tasks/task.ts",
      // The conversations of A2A that are no tasks yet have a table of their own.
      "src/os/statements.ts",
    ],
  },
];

/** What every door may import: how verbs are called, the words of the wire, and plain helpers. */
const FOR_DOORS = [
  "src/verbs/answer_room.ts",
  "src/verbs/call.ts",
  "src/verbs/content.ts",
  "src/verbs/define.ts",
  "src/verbs/pushed.ts",
  "src/verbs/subscriptions.ts",
  "src/verbs/verb.ts",
  "src/protocol/",
  "src/net/",
  "src/os/log.ts",
  "src/base/",
  "src/sdk/",
  "src/std/",
];

/** An import, with paths such as `src/agent/loop.ts`. */
export interface Import {
  from: string;
  /** Where `from` names it, counted from 1. */
  line: number;
  to: string;
  /** Whether it imports only types. */
  type_only: boolean;
}

/** The part of the output of `deno info --json` that matters here. */
interface Graph {
  modules: {
    specifier: string;
    error?: string;
    dependencies?: { code?: Target; type?: Target }[];
  }[];
}
interface Target {
  specifier?: string;
  span: { start: { line: number } };
}

/** Returns the folders in the first column of the table, from top to bottom, such as `agent`. */
export function foldersOf(contributing: string): string[] {
  const rows = contributing.split("\n").filter((line) => line.startsWith("|"));
  return rows.flatMap((row) => {
    const [, cell] = row.split("|");
    return [...cell.matchAll(/`src\/([\w/]+)\/`/g)].map(([, folder]) => folder);
  });
}

/** Returns the imports between the files of `src`, except those of tests. */
export async function importsOf(root: string): Promise<Import[]> {
  const files: string[] = [];
  for await (const { path } of walk(join(root, "src"), { includeDirs: false, exts: [".ts"] })) {
    if (!path.endsWith("_test.ts") && !path.includes("/testdata/")) files.push(path);
  }
  const entry = files.map((path) => `import "${toFileUrl(path)}";`).join("");
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "info",
      "--json",
      `--config=${join(root, "deno.json")}`,
      `data:text/typescript,${entry}`,
    ],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { modules }: Graph = JSON.parse(new TextDecoder().decode(stdout));
  const src = `${toFileUrl(join(root, "src"))}/`;
  const pathOf = (specifier: string) => `src/${specifier.slice(src.length)}`;
  return modules.filter(({ specifier }) => specifier.startsWith(src)).flatMap((module) => {
    if (module.error !== undefined) throw new Error(module.error);
    return (module.dependencies ?? []).flatMap(({ code, type }) => {
      const { specifier: to, span } = code ?? type ?? {};
      if (!to?.startsWith(src)) return [];
      const type_only = code === undefined;
      const line = span!.start.line + 1;
      return [{ from: pathOf(module.specifier), line, to: pathOf(to), type_only }];
    });
  });
}

/** Returns the mistakes in imports, one per line. @param folders from {@linkcode foldersOf}. */
export function wrongIn(imports: readonly Import[], folders: readonly string[]): string[] {
  const rowOf = (file: string) => {
    const above = folders.filter((folder) => file.startsWith(`src/${folder}/`));
    return folders.indexOf(above.sort((a, b) => b.length - a.length)[0]);
  };
  const files = new Set(imports.flatMap(({ from, to }) => [from, to]));
  const homeless = [...files].filter((file) => rowOf(file) < 0)
    .map((file) => `${file}: its folder has no row in CONTRIBUTING.md`);
  const upward = imports
    .filter(({ from, to, type_only }) =>
      rowOf(to) < rowOf(from) && !(type_only && to === VERB_TYPES)
    )
    .map(({ from, to }) =>
      `${from}: imports ${to}, whose folder has a higher row in CONTRIBUTING.md`
    );
  const past_verbs = imports.filter(({ from, to }) => {
    const door = DOORS.find(({ files }) => isIn(files, from));
    return door !== undefined && !isIn([...door.files, ...door.imports, ...FOR_DOORS], to);
  }).map(({ from, line, to }) =>
    `${from}:${line}: imports ${to}, and a door takes only verbs; call one through the dispatcher`
  );
  const circles = circlesIn(imports).map((files) => `${files.join(" → ")} → ${files[0]}: a circle`);
  return [...homeless, ...upward, ...past_verbs, ...circles];
}

function isIn(places: readonly string[], file: string): boolean {
  return places.some((it) => it.endsWith("/") ? file.startsWith(it) : file === it);
}

/** Returns the circles of files, except those of a face and a file that takes only its types. */
function circlesIn(imports: readonly Import[]): string[][] {
  const loads = new Set(
    imports.filter((it) => !it.type_only).map(({ from, to }) => `${from} ${to}`),
  );
  const next = new Map<string, string[]>();
  for (const { from, to, type_only } of imports) {
    if (type_only && (to === VERB_TYPES || loads.has(`${to} ${from}`))) continue;
    next.set(from, [...next.get(from) ?? [], to]);
  }
  const circles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string) => {
    const at = path.indexOf(file);
    if (at >= 0) circles.push(path.slice(at));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    next.get(file)?.forEach(visit);
    path.pop();
    done.add(file);
  };
  [...next.keys()].forEach(visit);
  return circles;
}

/** @throws {Error} listing the imports that the table of CONTRIBUTING.md does not allow. */
export async function requireDirection(root: string): Promise<void> {
  const folders = foldersOf(await Deno.readTextFile(join(root, "CONTRIBUTING.md")));
  const wrong = wrongIn(await importsOf(root), folders);
  if (wrong.length > 0) {
    throw new Error(`imports that are not allowed:\n${wrong.sort().join("\n")}`);
  }
}

if (import.meta.main) await requireDirection(dirname(dirname(fromFileUrl(import.meta.url))));
