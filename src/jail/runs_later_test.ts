import { assert, assertEquals } from "@std/assert";
import { laterInBare, laterNamesAtHome, runsLater } from "./runs_later.ts";

const HOME = "/home/me";

Deno.test("files that run later are known at any depth", () => {
  for (
    const path of [
      ...[".envrc", "a/.envrc", "constructor/.envrc", "toString/a/.vscode/tasks.json"],
      ...["x.code-workspace", "a/lefthook.yml", ".lefthook-local.toml", ".mise.toml"],
      ...["mise.local.toml", "a/.mcp.json", ".claude/settings.local.json", "AGENTS.md"],
      ...["a/.github/hooks/x.json", "deep/a/b/c/d/.cargo/config.toml", ".yarn/releases/y.cjs"],
    ]
  ) {
    assertEquals([path, runsLater(`/srv/p/${path}`, HOME)?.only], [path, undefined]);
    assertEquals([path, typeof runsLater(`/srv/p/${path}`, HOME)?.runner], [path, "string"]);
  }
});

Deno.test("source code, and names that only look alike, run nothing by themselves", () => {
  for (
    const path of [
      ...["Makefile", "src/main.ts", "envrc", "a.envrc", "vscode/tasks.json", "claude/x"],
      ...["constructor", "__proto__", "agents.md.txt", ".github/workflows/ci.yml", "mise/x.ts"],
      ...[".cargo/registry/x", ".yarn/cache/x", "tests/lefthook_test.go"],
    ]
  ) {
    assertEquals([path, runsLater(`/srv/p/${path}`, HOME)], [path, undefined]);
  }
});

Deno.test("some count only where there was none, some only in sessions that ask", () => {
  assertEquals(runsLater("/srv/p/tests/conftest.py", HOME)?.only, "new");
  assertEquals(runsLater("/srv/p/package.json", HOME)?.only, "asked");
});

Deno.test("in a home directory, the place tells", () => {
  for (const name of laterNamesAtHome()) {
    assertEquals([name, typeof runsLater(`${HOME}/${name}`, HOME)?.runner], [name, "string"]);
    assertEquals([name, typeof runsLater(`${HOME}/${name}/x`, HOME)?.runner], [name, "string"]);
  }
  assertEquals(runsLater(`${HOME}/bin2/x`, HOME), undefined);
  assertEquals(runsLater("/srv/bin/x", HOME), undefined);
  assertEquals(runsLater(`${HOME}/bin/x`, undefined), undefined);
});

Deno.test("what agents have as working trees is ordinary, but for such files in it", () => {
  const tree = "/srv/p/.claude/worktrees/task";
  assertEquals(runsLater(`${tree}/src/a.ts`, HOME), undefined);
  assertEquals(runsLater(`${tree}/.envrc`, HOME)?.runner, "direnv runs it in your shell");
});

Deno.test("what git runs of a repository without a working tree is known by what is beside it", () => {
  const there = new Set(["/w/bare/HEAD", "/w/bare/objects", "/w/bare/refs", "/w/half/HEAD"]);
  const risky = (path: string) => laterInBare(path, (each) => there.has(each)) !== undefined;
  for (const name of ["config", "hooks/a", "hooks/config/b", "commondir", "info/attributes"]) {
    assert(risky(`/w/bare/${name}`), name);
    assert(!risky(`/w/half/${name}`), name);
  }
  for (const path of ["/w/bare/HEAD", "/w/bare/refs/heads/main", "/w/bare/x/config", "/w/config"]) {
    assert(!risky(path), path);
  }
});
