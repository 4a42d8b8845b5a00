import { assert, assertEquals, assertThrows } from "@std/assert";
import { directoriesAbove, fewer, parent } from "./covers.ts";

const cover = (path: string) => ({ path, is_directory: true });

Deno.test("covers that are too many become those of the directories above them", () => {
  const covers = ["/w/a/1", "/w/a/2", "/w/a/3", "/w/b/1", "/w/c"].map(cover);
  assertEquals(fewer(covers, "/w", 7), covers);
  assertEquals(fewer(covers, "/w", 5).map(({ path }) => path).sort(), ["/w/a", "/w/b/1", "/w/c"]);
});

Deno.test("where they lie in the root itself the command is refused", () => {
  const covers = ["/w/a", "/w/b", "/w/c"].map(cover);
  assertThrows(() => fewer(covers, "/w", 2), Error, "3 directories in /w belong to sessions");
});

Deno.test("what lies in many directories is hidden with as few of them as need be", () => {
  const covers = Array.from({ length: 3_000 }, (_, n) => cover(`/w/${n}/project`));
  const left = fewer(covers, "/w", 4_000);
  assertEquals(left.length + directoriesAbove(left, "/w").length, 4_000);
  assertEquals(left.filter(({ path }) => path.endsWith("/project")).length, 1_000);
  const hides = new Set(left.map(({ path }) => path));
  for (const { path } of covers) assert(hides.has(path) || hides.has(parent(path)), path);
});

Deno.test("thousands in the root itself are hidden one by one", () => {
  const covers = Array.from({ length: 2_000 }, (_, n) => cover(`/w/${n}`));
  assertEquals(fewer(covers, "/w"), covers);
});
