import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { detect, type Kind } from "./detect.ts";

const ignore = !granted("read", "write");

function project(files: Record<string, string>): TempDir {
  const dir = new TempDir();
  for (const [name, text] of Object.entries(files)) {
    if (name.includes("/")) Deno.mkdirSync(dir.join(name, ".."), { recursive: true });
    Deno.writeTextFileSync(dir.join(name), text);
  }
  return dir;
}

function commands(files: Record<string, string>, packages: string[] = []): (string | null)[] {
  using dir = project(files);
  return (["build", "test", "lint"] as Kind[]).map((kind) => {
    try {
      return detect(dir.path, kind, kind === "test" ? packages : []).argv.join(" ");
    } catch (error) {
      if (error instanceof SvcError && error.code === "not_found") return null;
      throw error;
    }
  });
}

/** Files of a project, and what builds, tests and lints it. */
const PROJECTS: [Record<string, string>, (string | null)[]][] = [
  [{ "deno.json": "{}" }, ["deno check .", "deno test --allow-all", "deno lint"]],
  [
    { "deno.jsonc": '{ // tasks\n "tasks": { "test": "x", "lint": { "command": "y" } } }' },
    ["deno check .", "deno task test", "deno task lint"],
  ],
  [
    { "package.json": '{"scripts":{"test":"jest","lint":"eslint .","build":"tsc"}}' },
    ["npm run build", "npm run test", "npm run lint"],
  ],
  [
    { "package.json": '{"scripts":{"test":"x","build":"y"}}', "pnpm-lock.yaml": "" },
    ["pnpm run build", "pnpm run test", null],
  ],
  [{ "package.json": '{"scripts":{"test":"x"}}', "yarn.lock": "" }, [null, "yarn run test", null]],
  [
    { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
    [null, null, null],
  ],
  [{ "Cargo.toml": "" }, [
    "cargo build --all-targets",
    "cargo test --no-fail-fast",
    "cargo clippy --all-targets -- --deny warnings",
  ]],
  [{ "go.mod": "" }, ["go build ./...", "go test -json ./...", "go vet ./..."]],
  [{ "pyproject.toml": "[tool.pytest]\n[tool.ruff]" }, [
    "python3 -m compileall -q -x /\\. --invalidation-mode checked-hash .",
    "python3 -m pytest",
    "python3 -m ruff check .",
  ]],
  [{ "pyproject.toml": "", ".venv/bin/python": "" }, [
    ".venv/bin/python -m compileall -q -x /\\. --invalidation-mode checked-hash .",
    ".venv/bin/python -m unittest",
    null,
  ]],
  [{ "pyproject.toml": "", "uv.lock": "", "conftest.py": "" }, [
    "uv run python -m compileall -q -x /\\. --invalidation-mode checked-hash .",
    "uv run python -m pytest",
    null,
  ]],
  [{ "Makefile": "test := no\nall: x\ntest: all\n\tx\n.PHONY: lint\n" }, [
    "make all",
    "make test",
    null,
  ]],
  // What has nothing for it leaves it to the next.
  [{ "package.json": "{}", "Makefile": "test:\n\tx\n" }, [null, "make test", null]],
  [{ "README.md": "test: run it" }, [null, null, null]],
];

for (const [files, expected] of PROJECTS) {
  Deno.test({
    name: `how a project is verified: ${Object.keys(files).join(", ")}: ${expected[1]}`,
    ignore,
    fn: () => assertEquals(commands(files), expected),
  });
}

Deno.test({
  name: "packages are named as each tool takes them, and are never options",
  ignore,
  fn() {
    const test = (files: Record<string, string>) => commands(files, ["a", "b"])[1];
    const scripts = '{"scripts":{"test":"x"}}';
    assertEquals(test({ "deno.json": "{}" }), "deno test --allow-all a b");
    assertEquals(test({ "package.json": scripts }), "npm run test --workspace a --workspace b");
    assertEquals(
      test({ "package.json": scripts, "pnpm-lock.yaml": "" }),
      "pnpm --filter a --filter b run test",
    );
    assertEquals(
      test({ "Cargo.toml": "" }),
      "cargo test --no-fail-fast --package a --package b",
    );
    assertEquals(test({ "go.mod": "" }), "go test -json a b");
    assertEquals(test({ "pyproject.toml": "pytest" }), "python3 -m pytest a b");
    for (const wrong of ["--config=evil", "-x"]) {
      const error = assertThrows(() => commands({ "go.mod": "" }, [wrong]), SvcError);
      assertEquals(error.code, "validation");
    }
    assertThrows(() => commands({ "Makefile": "test:\n" }, ["a"]), SvcError, "no packages");
  },
});

Deno.test({
  name: "where nothing says how, the error lists what was looked for",
  ignore,
  fn() {
    using dir = new TempDir();
    const error = assertThrows(() => detect(dir.path, "test"), SvcError, "defines how to test");
    for (const name of ["deno.json", "package.json", "Cargo.toml", "go.mod", "Makefile"]) {
      assertStringIncludes(error.hint!, name);
    }
  },
});

Deno.test({
  name: "a file that is no project's is not read: outside of it, not regular, too large, not JSON",
  ignore: ignore || Deno.build.os === "windows",
  fn() {
    using outside = project({ "secret.json": "not JSON: 4711" });
    using dir = new TempDir();
    const path = dir.join("package.json");
    Deno.symlinkSync(outside.join("secret.json"), path);
    assertThrows(() => detect(dir.path, "test"), SvcError, "found no file");
    Deno.removeSync(path);
    Deno.mkdirSync(path);
    assertThrows(() => detect(dir.path, "test"), SvcError, "found no file");
    Deno.removeSync(path);
    Deno.writeTextFileSync(path, `{"a":"${"x".repeat(2 ** 20)}"}`);
    assertThrows(() => detect(dir.path, "test"), SvcError, "found no file");
    Deno.writeTextFileSync(path, "not JSON: 4711");
    const error = assertThrows(() => detect(dir.path, "test"), SvcError, "not valid JSON");
    assertEquals(error.message.includes("4711"), false);
    for (const value of ["[]", "null", "3", '{"scripts":[]}', '{"scripts":{"test":3}}']) {
      Deno.writeTextFileSync(path, value);
      assertThrows(() => detect(dir.path, "test"), SvcError);
    }
  },
});
