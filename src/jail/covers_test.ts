import { assertEquals, assertThrows } from "@std/assert";
import { fewer } from "./covers.ts";

const cover = (path: string) => ({ path, is_directory: true });

Deno.test("covers that are too many become those of the directories above them", () => {
  const covers = ["/w/a/1", "/w/a/2", "/w/a/3", "/w/b/1", "/w/c"].map(cover);
  assertEquals(fewer(covers, "/w", 5), covers);
  assertEquals(fewer(covers, "/w", 3).map(({ path }) => path).sort(), ["/w/a", "/w/b/1", "/w/c"]);
});

Deno.test("where they lie in the root itself the command is refused", () => {
  const covers = ["/w/a", "/w/b", "/w/c"].map(cover);
  assertThrows(() => fewer(covers, "/w", 2), Error, "3 directories in /w belong to sessions");
});
