import { assertEquals, assertThrows } from "@std/assert";
import { hiddenRule, joinRooted, relativePath, RootedError, stripWorkdir } from "./rooted_path.ts";

Deno.test("relativePath takes relative paths and absolute ones inside the workdir", () => {
  assertEquals(relativePath("a/./b//c/", "/w", false), "a/b/c");
  assertEquals(relativePath("a/../b", "/w", false), "b");
  assertEquals(relativePath(".", "/w", false), "");
  assertEquals(relativePath("/w", "/w", false), "");
  assertEquals(relativePath("/w/a/../b", "/w", false), "b");
  assertEquals(relativePath("/a", "/", false), "a");
});

Deno.test("relativePath refuses what leaves the workdir, NUL bytes and ~", () => {
  for (
    const path of [
      "..",
      "a/../../b",
      "/etc/passwd",
      "/w2/a",
      "/w/../etc",
      "/proc/self/environ",
      "a\0b",
      "",
    ]
  ) {
    assertThrows(() => relativePath(path, "/w", false), RootedError);
  }
});

Deno.test("relativePath knows drives, backslashes and streams of Windows", () => {
  assertEquals(relativePath("a\\b", "C:\\work", true), "a/b");
  assertEquals(relativePath("c:\\Work\\a\\b", "C:\\work", true), "a/b");
  for (
    const path of ["D:\\work\\a", "C:\\workaholic", "..\\x", "a.txt:stream", "\\\\host\\share"]
  ) {
    assertThrows(() => relativePath(path, "C:\\work", true), RootedError);
  }
});

Deno.test("joinRooted and stripWorkdir do not leave the workdir", () => {
  assertEquals(joinRooted("a/b", "../c"), "a/c");
  assertEquals(joinRooted("a", "../../c"), undefined);
  assertEquals(stripWorkdir("/w/a", "/w", false), "a");
  assertEquals(stripWorkdir("/wa", "/w", false), undefined);
});

Deno.test("hiddenRule hides entries and what is inside, but no directory above the workdir", () => {
  const isHidden = hiddenRule(["/w/.svc", "/", "/w"], "/w");
  assertEquals(isHidden("/w/.svc"), true);
  assertEquals(isHidden("/w/.svc/journal"), true);
  assertEquals(isHidden("/w/.svcx"), false);
  assertEquals(isHidden("/w/a"), false);
});
