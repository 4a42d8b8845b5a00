/** Finds how to build, test and lint a project, from the files in its directory. */
import { createHash } from "node:crypto";
import { parse as parseJsonc } from "@std/jsonc";
import { RootedError } from "../../jail/rooted.ts";
import { SvcError } from "../../protocol/errors.ts";
import { readUntrusted, type UntrustedFiles } from "../../jail/untrusted_files.ts";

export type Kind = "build" | "test" | "lint";

export interface Detected {
  /** Run without a shell. */
  argv: string[];
  /** The file that defines it. */
  detected_by: string;
  /** What the program runs in turn, if the file says it. */
  script?: string;
}

/** A project's directory, for detectors. */
interface Project {
  /** Undefined without such a regular file. */
  read(name: string): string | undefined;
  has(name: string): boolean;
}

/** Undefined if the project has nothing for this kind. */
type Detector = (project: Project, kind: Kind, packages: readonly string[]) => Detected | undefined;

/** The one that knows a project's tests best comes first. */
const DETECTORS: readonly Detector[] = [deno, node, cargo, go, python, make];

const LOOKED_FOR = "deno.json, deno.jsonc, package.json (scripts), Cargo.toml, go.mod, " +
  "pyproject.toml, Makefile (targets)";

/**
 * Finds the command for a project.
 * @param workdir absolute real path
 * @param packages the parts to test, as the project's tool names them; default: all
 * @throws {SvcError} not_found, with the supported files; validation for unusable packages
 */
export function detect(workdir: string, kind: Kind, packages: readonly string[] = []): Detected {
  const wrong = packages.find((name) => name.startsWith("-") || name.includes("\0"));
  if (wrong !== undefined) {
    throw new SvcError("validation", `${JSON.stringify(wrong)} is not a valid package`);
  }
  const found = readUntrusted(workdir, (files) => {
    const project = projectIn(files);
    for (const detector of DETECTORS) {
      const detected = detector(project, kind, packages);
      if (detected !== undefined) return detected;
    }
  });
  if (found !== undefined) return found;
  throw new SvcError(
    "not_found",
    `found no file in ${workdir} that defines how to ${kind} the project`,
    {
      hint: `supported files, in this order: ${LOOKED_FOR}`,
    },
  );
}

const FILE_MAX = 1024 * 1024;

function projectIn(files: UntrustedFiles): Project {
  return {
    read(name) {
      try {
        return files.text(name, FILE_MAX);
      } catch (error) {
        // A link that leads out is not part of the project.
        if (error instanceof RootedError) return undefined;
        throw error;
      }
    },
    has: (name) => files.hasFile(name),
  };
}

function deno(project: Project, kind: Kind, packages: readonly string[]): Detected | undefined {
  for (const detected_by of ["deno.json", "deno.jsonc"]) {
    const text = project.read(detected_by);
    if (text === undefined) continue;
    const { tasks } = objectIn(text, detected_by);
    if (isObject(tasks) && tasks[kind] !== undefined) {
      const task = tasks[kind];
      const script = typeof task === "string" ? task : JSON.stringify(task);
      return { argv: ["deno", "task", kind, ...packages], detected_by, script };
    }
    const argv = {
      build: ["deno", "check", "."],
      // Without a terminal it cannot ask for permissions.
      test: ["deno", "test", "--allow-all", ...packages],
      lint: ["deno", "lint"],
    }[kind];
    return { argv, detected_by };
  }
}

const DETECTED_BY_NODE = "package.json";
/** As written by `npm init`. */
const NO_TEST = /no test specified/;

function node(project: Project, kind: Kind, packages: readonly string[]): Detected | undefined {
  const text = project.read(DETECTED_BY_NODE);
  if (text === undefined) return undefined;
  const { scripts } = objectIn(text, DETECTED_BY_NODE);
  if (!isObject(scripts)) return undefined;
  const script = scripts[kind];
  if (typeof script !== "string" || NO_TEST.test(script)) return undefined;
  const each = (flag: string) => packages.flatMap((name) => [flag, name]);
  const argv = project.has("pnpm-lock.yaml")
    ? ["pnpm", ...each("--filter"), "run", kind]
    : project.has("yarn.lock")
    ? ["yarn", ...yarnWorkspace(packages), "run", kind]
    : project.has("bun.lock") || project.has("bun.lockb")
    ? ["bun", "run", ...each("--filter"), kind]
    : ["npm", "run", kind, ...each("--workspace")];
  return { argv, detected_by: DETECTED_BY_NODE, script: scriptOf(scripts, kind) };
}

/** With the scripts that package managers run before and after it. */
function scriptOf(scripts: Record<string, unknown>, kind: Kind): string {
  const all = [`pre${kind}`, kind, `post${kind}`].map((name) => scripts[name]);
  return all.filter((it) => typeof it === "string").join("\n");
}

function yarnWorkspace(packages: readonly string[]): string[] {
  if (packages.length > 1) {
    throw new SvcError("validation", "yarn can run only one workspace at a time", {
      hint: "pass one package",
    });
  }
  return packages.flatMap((name) => ["workspace", name]);
}

function cargo(project: Project, kind: Kind, packages: readonly string[]): Detected | undefined {
  if (!project.has("Cargo.toml")) return undefined;
  const chosen = packages.flatMap((name) => ["--package", name]);
  const argv = {
    build: ["cargo", "build", "--all-targets"],
    test: ["cargo", "test", "--no-fail-fast", ...chosen],
    lint: ["cargo", "clippy", "--all-targets", "--", "--deny", "warnings"],
  }[kind];
  return { argv, detected_by: "Cargo.toml" };
}

function go(project: Project, kind: Kind, packages: readonly string[]): Detected | undefined {
  if (!project.has("go.mod")) return undefined;
  const argv = {
    build: ["go", "build", "./..."],
    test: ["go", "test", "-json", ...(packages.length > 0 ? packages : ["./..."])],
    lint: ["go", "vet", "./..."],
  }[kind];
  return { argv, detected_by: "go.mod" };
}

/** By hash: a change within the same second must not use the old cache. */
const COMPILE = ["compileall", "-q", "-x", "/\\.", "--invalidation-mode", "checked-hash"];

function python(project: Project, kind: Kind, packages: readonly string[]): Detected | undefined {
  const text = project.read("pyproject.toml");
  if (text === undefined) return undefined;
  const detected_by = "pyproject.toml";
  const run = project.has("uv.lock")
    ? ["uv", "run"]
    : project.has("poetry.lock")
    ? ["poetry", "run"]
    : [];
  const own = [".venv/bin/python", "venv/bin/python"].find(project.has);
  const module = [...run, run.length > 0 ? "python" : own ?? "python3", "-m"];
  switch (kind) {
    case "build":
      return { argv: [...module, ...COMPILE, "."], detected_by };
    case "lint": {
      const linter = ["ruff", "flake8", "pylint"].find((name) => text.includes(name));
      if (linter === undefined) return undefined;
      return {
        argv: [...module, linter, ...(linter === "ruff" ? ["check"] : []), "."],
        detected_by,
      };
    }
    case "test": {
      const with_pytest = text.includes("pytest") || project.has("pytest.ini") ||
        project.has("conftest.py");
      return { argv: [...module, with_pytest ? "pytest" : "unittest", ...packages], detected_by };
    }
  }
}

function make(project: Project, kind: Kind, packages: readonly string[]): Detected | undefined {
  const detected_by = ["GNUmakefile", "makefile", "Makefile"].find(project.has);
  if (detected_by === undefined) return undefined;
  const has = (target: string) =>
    new RegExp(`^${target}\\s*:(?!=)`, "m").test(project.read(detected_by)!);
  const target = [kind, ...(kind === "build" ? ["all"] : [])].find(has);
  if (target === undefined) return undefined;
  if (packages.length > 0) {
    throw new SvcError("validation", `${detected_by} has no packages to choose from`);
  }
  const text = project.read(detected_by)!;
  const recipe = text.match(new RegExp(`^${target}\\s*:(?!=).*(?:\\n\\t.*)*`, "m"))![0];
  // Variables and dependencies are elsewhere in the file.
  const sum = createHash("sha256").update(text).digest("hex");
  const script = `${recipe}\n# of the ${detected_by} with SHA-256 ${sum}`;
  return { argv: ["make", target], detected_by, script };
}

/** @throws {SvcError} validation, without the text, which may be anything */
function objectIn(text: string, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJsonc(text);
  } catch {
    throw new SvcError("validation", `${name} is not valid JSON`);
  }
  if (!isObject(value)) throw new SvcError("validation", `${name} is not a JSON object`);
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
