import { assertEquals } from "@std/assert";
import { translated } from "./pattern.ts";

Deno.test("classes of POSIX are translated; any other name in brackets stays as it stands", () => {
  assertEquals(translated("[[:digit:]_]+"), "[0-9_]+");
  for (const name of ["constructor", "toString", "digits"]) {
    assertEquals(translated(`[[:${name}:]]`), `[[:${name}:]]`);
  }
});
