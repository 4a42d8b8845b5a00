import { assert, assertEquals } from "@std/assert";
import { readSpec } from "../../../src/features/missions/spec.ts";
import { EXAMPLE } from "./example.ts";
import { emptyForm, formOf, formOfSeed, idOf, type MissionForm, specOf } from "./spec_form.ts";

function formed(spec: unknown, before?: MissionForm): MissionForm {
  const form = formOf(spec, before);
  assert(typeof form !== "string", String(form));
  return form;
}

Deno.test("a statement of work becomes a form, and the form spells the same", () => {
  assertEquals(specOf(formed(EXAMPLE)), EXAMPLE);
});

Deno.test("ids are made from names, each another one, and dependencies follow the tasks", () => {
  const form = emptyForm();
  form.name = "All of it!";
  form.tasks = [
    { key: 4, name: "The words", text: "a", after: [7], files: " a.txt \n\n" },
    { key: 7, name: "the  WORDS?", text: "b", after: [9], files: "" },
    { key: 8, name: "日本", text: "c", after: [], files: "" },
    { key: 10, name: "!", text: "d", after: [], files: "" },
  ];
  const { id, sessions: [{ tasks }] } = readSpec(specOf(form));
  assertEquals(id, "all-of-it");
  assertEquals(tasks.map(({ id, dependencies, files }) => [id, dependencies, files]), [
    ["the-words", ["the-words-2"], ["a.txt"]],
    ["the-words-2", [], []],
    ["日本", [], []],
    ["task", [], []],
  ]);
  assertEquals(idOf("x".repeat(500)).length, 48);
});

Deno.test("names come back from the text by their ids", () => {
  const form = emptyForm();
  Object.assign(form, { name: "Goal" });
  Object.assign(form.tasks[0], { name: "The first one", text: "Do it" });
  assertEquals(formed(specOf(form), form).tasks[0].name, "The first one");
  assertEquals(formed(specOf(form)).tasks[0].name, "the-first-one");
});

Deno.test("what the form cannot hold is named, and stays a text", () => {
  const [session] = EXAMPLE.sessions;
  const with_ = (changes: unknown) => ({
    ...EXAMPLE,
    sessions: [{ ...session, ...changes as Record<string, unknown> }],
  });
  const reasons = [
    { ...EXAMPLE, owner: "me" },
    { ...EXAMPLE, sessions: [session, session] },
    with_({ tasks: [{ ...session.tasks[0], note: 1 }] }),
    with_({ tasks: [{ ...session.tasks[0], dependencies: ["gone"] }] }),
    with_({ tasks: [session.tasks[0], session.tasks[0]] }),
    with_({ tasks: [{ id: 1, description: "x" }] }),
    with_({ tasks: [{ ...session.tasks[0], files: [" a"] }] }),
    with_({ acceptance_criteria: [{ id: "a", description: "b", command: "c", file_exists: "d" }] }),
    with_({ acceptance_criteria: "none" }),
    "text",
  ].map((spec) => formOf(spec));
  for (const reason of reasons) assertEquals(typeof reason, "string");
  assertEquals(reasons.slice(0, 2), [
    "the form has no place for “owner” in the text",
    "it has 2 sessions, and the form shows one",
  ]);
});

Deno.test("a plan becomes tasks one after the other; without one there is what was asked", () => {
  const seed = {
    session_id: "s",
    workdir: "/w",
    name: "Port it",
    steps: [],
    goal: "Do all\nof it",
  };
  assertEquals(formOfSeed(seed).tasks.map(({ name, text }) => [name, text]), [
    ["Do all", "Do all\nof it"],
  ]);
  const form = formOfSeed({ ...seed, steps: ["Read", "Write"] });
  assertEquals(
    readSpec(specOf(form)).sessions[0].tasks.map(({ id, dependencies }) => [id, dependencies]),
    [["read", []], ["write", ["read"]]],
  );
});
