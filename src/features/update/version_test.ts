import { assertEquals } from "@std/assert";
import { compareVersions } from "./version.ts";

Deno.test("versions are compared by precedence; builds do not count", () => {
  const cases: [string, string, number][] = [
    ["0.2.0", "0.1.9", 1],
    ["0.10.0", "0.9.9", 1],
    ["1.0.0-beta.2", "1.0.0-beta.10", -1],
    ["1.0.0", "1.0.0-rc.1", 1],
    ["1.0.0+abc", "1.0.0+01bc91880c-dirty", 0],
    ["1.0.0", "nonsense", 1],
    ["nonsense", "0.0.1", -1],
    ["nonsense", "other", 0],
  ];
  for (const [a, b, order] of cases) {
    assertEquals(Math.sign(compareVersions(a, b)), order, `${a} ${b}`);
  }
});
