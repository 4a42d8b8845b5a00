import { assert, assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { readCheck, readSpec, type SpecIssue } from "./spec.ts";

// deno-lint-ignore no-explicit-any -- specs that are wrong on purpose
type Any = any;

function spec(tasks: Any[], acceptance_criteria: Any[] = []) {
  const session = { id: "s", title: "S", tasks, acceptance_criteria };
  return { id: "m", name: "M", sessions: [session] };
}

const task = (id: string, ...dependencies: string[]) => ({
  id,
  description: "Do it.",
  dependencies,
});

/** What is wrong with a spec, a line each. */
function wrong(source: unknown): string[] {
  const error = assertThrows(() => readSpec(source), SvcError);
  assertEquals(error.code, "validation");
  return (error.details?.issues as SpecIssue[]).map(({ path, message }) => `${path}: ${message}`);
}

Deno.test("a spec is read from an object, from JSON and from YAML alike", () => {
  const source = spec([{ id: "a", description: "Do it.", files: ["src/a.ts"] }]);
  const read = readSpec(source);
  assertEquals(read.sessions[0].tasks[0], {
    id: "a",
    description: "Do it.",
    dependencies: [],
    files: ["src/a.ts"],
  });
  assertEquals(readSpec(JSON.stringify(source)), read);
  const yaml = `
id: m
name: M
sessions:
  - id: s
    title: S
    tasks:
      - {id: a, description: Do it., files: [src/a.ts]}
`;
  assertEquals(readSpec(yaml), read);
});

Deno.test("a date in YAML stays the text that it is, with and without anchors", () => {
  const text = (name: string) =>
    `id: m
name: ${name}
sessions:
  - id: s
    title: S
    tasks:
      - { id: a, description: 2026-01-02 }
    acceptance_criteria: []
`;
  const { name, sessions } = readSpec(text("&when 2026-03-04"));
  assertEquals([name, sessions[0].tasks[0].description], ["2026-03-04", "2026-01-02"]);
});

Deno.test("members that a spec has beyond ours are left out, misspelt ones are not", () => {
  const read = readSpec({ ...spec([{ ...task("a"), estimate: 3 }]), stack: { language: "go" } });
  assertEquals("stack" in read, false);
  assertEquals(wrong(spec([{ id: "a", description: "x", dependancies: ["b"] }])), [
    'sessions[0].tasks[0].dependancies: unknown; did you mean "dependencies"?',
  ]);
});

Deno.test("every place that is wrong is named by its path", () => {
  assertEquals(wrong({ id: "m", name: "M", sessions: [] }).length, 1);
  assertEquals(
    wrong(spec([task("a"), { id: "b", description: " " }, { id: "", description: "x" }]))
      .map((line) => line.split(":")[0]),
    ["sessions[0].tasks[1].description", "sessions[0].tasks[2].id"],
  );
  assertEquals(wrong(spec([task("a"), task("b", "x")])), [
    'sessions[0].tasks[1].dependencies[0]: no task "x"',
  ]);
  assertEquals(wrong(spec([task("a"), task("a")])), [
    'sessions[0].tasks[1].id: the task "a" already exists at sessions[0].tasks[0]',
  ]);
  assertEquals(wrong(spec([task("a", "a")])), [
    'sessions[0].tasks[0].dependencies[0]: the task "a" depends on itself',
  ]);
});

Deno.test("a cycle is named task by task", () => {
  assertEquals(wrong(spec([task("z"), task("a", "z", "b"), task("b", "c"), task("c", "a")])), [
    "sessions[0].tasks[1].dependencies[1]: the tasks depend on each other in a circle: a → b → c → a",
  ]);
});

Deno.test("a task cannot wait for one of a later session", () => {
  const [first] = spec([task("a", "b")]).sessions;
  const sessions = [first, { id: "t", title: "T", tasks: [task("b")] }];
  assertEquals(wrong({ id: "m", name: "M", sessions }), [
    'sessions[0].tasks[0].dependencies[0]: the task "b" belongs to a later session, ' +
    "sessions[1].tasks[0]",
  ]);
});

Deno.test("a criterion has one check at most, and a check that can be carried out", () => {
  const criterion = { id: "c", description: "it holds" };
  const read = readSpec(spec([task("a")], [criterion]));
  assertEquals(read.sessions[0].acceptance_criteria, [criterion]);
  const place = "sessions[0].acceptance_criteria[0]";
  const problem = (check: Any) => wrong(spec([task("a")], [{ ...criterion, ...check }]))[0];
  assert(problem({ command: "x", file_exists: "y" }).startsWith(`${place}: has more than one`));
  assert(problem({ file_exists: "../y" }).startsWith(`${place}.file_exists: ../y: leads outside`));
  assert(problem({ file_exists: "/etc/passwd" }).startsWith(`${place}.file_exists`));
  const content_match = { file: "a", pattern: "(" };
  assert(problem({ content_match }).startsWith(`${place}.content_match.pattern: Invalid regular`));
});

Deno.test("text that is no spec is refused, also where its aliases stand for a million values", () => {
  assert(wrong("{")[0].startsWith(": is neither JSON nor YAML"));
  assert(wrong("a: [")[0].startsWith(": is neither JSON nor YAML"));
  const nine = (of: string) => `[${Array(9).fill(of).join(", ")}]`;
  const lines = [..."bcdefg"].map((name, n) => `${name}: &${name} ${nine(`*${"abcdef"[n]}`)}`);
  assertEquals(wrong([`a: &a ${nine("x")}`, ...lines].join("\n")), [
    ": has more than 50000 values",
  ]);
});

Deno.test("a check is read from a model's answer, alone or in a fence, and nothing else is", () => {
  assertEquals(readCheck('{"command": "true"}'), { command: "true" });
  assertEquals(readCheck('Here:\n```json\n{"file_exists": "a"}\n```\n'), { file_exists: "a" });
  for (const answer of ["", "true", "{}", '{"command": "a", "file_exists": "b"}', '{"run": "a"}']) {
    assertEquals(readCheck(answer), undefined, answer);
  }
});
