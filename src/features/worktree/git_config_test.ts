import { assertEquals } from "@std/assert";
import { hardenedConfig, parseConfigList } from "./git_config.ts";

const LIST = [
  ["global", "user.name\nAda"],
  ["global", "filter.lfs.clean\ngit-lfs clean -- %f"],
  ["local", "core.bare"],
  ["local", "filter.a.b=c.smudge\n./evil"],
  ["local", "alias.x\n!echo\nmore"],
  ["worktree", "merge.ours.driver\ntrue"],
].flat().join("\0") + "\0";

Deno.test("git's list of its configuration is read", () => {
  const entries = parseConfigList(LIST);
  assertEquals(entries.map(({ key }) => key), [
    "user.name",
    "filter.lfs.clean",
    "core.bare",
    "filter.a.b=c.smudge",
    "alias.x",
    "merge.ours.driver",
  ]);
  assertEquals(entries[2], { scope: "local", key: "core.bare", value: "" });
  assertEquals(entries[4].value, "!echo\nmore");
  assertEquals(parseConfigList(""), []);
});

Deno.test("programs that the repository names are replaced, the user's own are not", () => {
  const env = hardenedConfig(parseConfigList(LIST));
  const count = Number(env.GIT_CONFIG_COUNT);
  const set = Object.fromEntries(
    Array.from(
      { length: count },
      (_, n) => [env[`GIT_CONFIG_KEY_${n}`], env[`GIT_CONFIG_VALUE_${n}`]],
    ),
  );
  assertEquals(set["filter.a.b=c.smudge"], "");
  assertEquals(set["merge.ours.driver"], "false");
  assertEquals(set["core.hooksPath"], "/dev/null");
  assertEquals("filter.lfs.clean" in set, false);
  assertEquals(Object.keys(env).length, 1 + 2 * count);
});
