import { assertEquals } from "@std/assert";
import { GitSettings, parsedConfig, pointedTo } from "./git_settings.ts";

Deno.test("a configuration of git is read as git reads it", () => {
  const text =
    '[core]\n\thooksPath = "a b/hooks" # where\n; no\n[filter "x]"] clean = sh -c \\\n"y"\n' +
    '[includeIf "gitdir:~/"]\r\n\tpath=../more\r\n[DIFF "t"]\ntextConv=a\\"b\n[x.y]\nflag\n';
  assertEquals(parsedConfig(text, "/f").map(({ key, value }) => [key, value]), [
    ["core.hookspath", "a b/hooks"],
    ["filter.clean", "sh -c y"],
    ["includeif.path", "../more"],
    ["diff.textconv", 'a"b'],
    ["x.flag", ""],
  ]);
});

Deno.test("a setting names the paths that git runs or reads", () => {
  using settings = new GitSettings("/home/me");
  const named = (key: string, value: string) =>
    settings.named({ key, value, file: "/p/.git/config" }, "/p");
  assertEquals(named("core.hookspath", "tools/hooks/"), ["/p/tools/hooks"]);
  assertEquals(named("core.hookspath", "~/hooks"), ["/home/me/hooks"]);
  assertEquals(named("include.path", "../gitconfig"), ["/p/gitconfig"]);
  assertEquals(named("core.fsmonitor", "tools/watch.sh --fast"), ["/p/tools/watch.sh"]);
  assertEquals(named("credential.helper", "!f() { ./x; }; f"), ["/p/x"]);
  assertEquals(named("filter.smudge", "git-lfs smudge -- %f"), []);
  assertEquals(named("filter.clean", "node clean.js"), ["/p/clean.js"]);
  assertEquals(named("core.editor", "vim"), []);
  for (const key of ["alias.x", "branch.merge", "remote.url", "user.name"]) {
    assertEquals(named(key, "! tools/x"), []);
  }
});

Deno.test("a pointer to a git directory is relative to its own directory", () => {
  assertEquals(pointedTo("gitdir: ../.git/modules/sub\n", "/p/sub"), "/p/.git/modules/sub");
  assertEquals(pointedTo("x\n", "/p"), undefined);
});
