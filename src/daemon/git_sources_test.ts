import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { fixedSources, namedSources, writableSource } from "./git_sources.ts";

const ignore = Deno.build.os === "windows";
const START = { environment: { HOME: "/home/me", CONF: "/conf" }, program: "/opt/git/bin/git" };

Deno.test({ name: "git looks for configuration in known places", ignore }, () => {
  assertEquals(fixedSources(START), [
    "/etc/gitconfig",
    "/opt/git/etc/gitconfig",
    "/home/me/.gitconfig",
    "/home/me/.config/git/config",
    "/home/me/.cache/git/credential/socket",
    "/home/me/.git-credential-cache/socket",
  ]);
  const environment = {
    ...{ HOME: "/home/me", GIT_CONFIG_GLOBAL: "/a", GIT_CONFIG_SYSTEM: "b" },
    ...{ XDG_CONFIG_HOME: "/c", XDG_CACHE_HOME: "/d" },
  };
  assertEquals(fixedSources({ environment, program: "/usr/bin/git" }).slice(2, 6), [
    ...["/b", "/a", "/home/me/.gitconfig", "/c/git/config"],
  ]);
});

Deno.test({ name: "a configuration names files to include, and helpers", ignore }, () => {
  const named = (...entries: [key: string, value?: string][]) =>
    namedSources(
      entries.map(([key, value]) =>
        `file:/home/me/.gitconfig\0${key}${value === undefined ? "" : `\n${value}`}\0`
      ).join(""),
      START,
    ).slice(1);
  assertEquals(named(["include.path", "~/a"], ["include.path", "b/../c"]), [
    ...["/home/me/a", "/home/me/c"],
  ]);
  assertEquals(named(["includeif.gitdir:~/x/.path", "/d"], ["include.path", "%(prefix)/e"]), [
    ...["/d", "/opt/git/e"],
  ]);
  const helper = (value: string) => named(["credential.https://a.example.helper", value]);
  assertEquals(named(["credential.helper"], ["credential.helper", "store"]), []);
  assertEquals(helper("/usr/lib/helper --file=~/f"), ["/usr/lib/helper", "/home/me/f"]);
  assertEquals(helper("!~/bin/h $CONF/x ${HOME}/y"), ["/home/me/bin/h", "/conf/x", "/home/me/y"]);
  assertEquals(helper('!"/my dir/h" /my\\ other/h').includes("/my dir/h"), true);
  assertEquals(helper("!/my\\ other/h"), ["/my other/h"]);
  assertEquals(helper("!f() { cat</a/b; };f"), ["/a/b"]);
  for (const key of ["include.path", "credential.helper"]) {
    assertThrows(() => named([key, "~other/a"]), Error, "cannot tell where ~other/a is");
  }
});

Deno.test({
  name: "a file is a session's where it is, behind links, and where a link is missing its target",
  ignore: ignore || !granted("read", "write"),
}, () => {
  const root = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    const at = (...parts: string[]) => join(root, ...parts);
    for (const name of ["own", "session", "far"]) Deno.mkdirSync(at(name));
    Deno.symlinkSync("../session/missing", at("own/dangling"));
    Deno.symlinkSync(at("session"), at("own/directory"));
    Deno.symlinkSync(at("far/file"), at("session/back"));
    Deno.symlinkSync(at("session/back"), at("own/over"));
    Deno.symlinkSync("loop", at("own/loop"));
    const held = (name: string) => writableSource([at(name)], [at("session")])?.directory;
    for (const name of ["session/new/file", "own/dangling", "own/directory/new", "own/over"]) {
      assertEquals(held(name), at("session"), name);
    }
    for (const name of ["own/file", "far/file", "sessions/file", "own/loop"]) {
      assertEquals(held(name), undefined, name);
    }
  } finally {
    Deno.removeSync(root, { recursive: true });
  }
});
