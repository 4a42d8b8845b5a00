import { assertEquals, assertStringIncludes } from "@std/assert";
import { locating, locatingInPatch, locatingPattern } from "./locate.ts";
import type { LocateScope, ToolParts } from "./tool.ts";

const units = {
  call: (_op: string, { paths }: { paths: string[] }) =>
    Promise.resolve({ ok: true, output: JSON.stringify(paths.map((path) => ({ path }))) }),
};
const parts = { units, home: "/home/me" } as unknown as ToolParts;
const lib = { path: "/lib-added", access: "write", hidden: [] } as const;
const docs = { path: "/home/me/docs", access: "read", hidden: [] } as const;
const scope: LocateScope = {
  session_id: "s",
  workdir: "/work",
  hidden: [],
  added: [lib, docs],
  signal: new AbortController().signal,
};

Deno.test("a path in an added directory is absolute, and the call works there", async () => {
  for (const path of ["/lib-added/a.ts", "../lib-added/a.ts", "x/../../lib-added/a.ts"]) {
    const found = await locating(parts, "write")({ path }, scope);
    assertEquals([found.args, found.root], [{ path: "/lib-added/a.ts" }, lib]);
  }
  const read = await locating(parts, "read")({ path: "~/docs/a" }, scope);
  assertEquals([read.args, read.root], [{ path: "/home/me/docs/a" }, docs]);
  const search = await locatingPattern(parts)({ pattern: "/lib-added/**/*.ts" }, scope);
  assertEquals(search.root, lib);
});

Deno.test("a path elsewhere is the working directory's, which refuses it", async () => {
  for (const path of ["a.ts", "../other", "/lib-added-too/a", "/lib-added/../etc/passwd"]) {
    const found = await locating(parts, "write")({ path }, scope);
    assertEquals([found.args, found.root], [{ path }, undefined]);
  }
});

Deno.test("writing to a read-only directory and across directories is refused", async () => {
  const found = await locating(parts, "write")({ path: "/home/me/docs/a" }, scope);
  assertStringIncludes(found.problem!, "read-only for this session");
  const patch = (...paths: string[]) =>
    `*** Begin Patch\n${paths.map((it) => `*** Delete File: ${it}\n`).join("")}*** End Patch`;
  const across = await locatingInPatch(parts)({ patch: patch("a", "/lib-added/b") }, scope);
  assertStringIncludes(across.problem!, "needs a patch of its own");
  const within = await locatingInPatch(parts)({ patch: patch("/lib-added/a") }, scope);
  assertEquals([within.problem, within.root], [undefined, lib]);
});
