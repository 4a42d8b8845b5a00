import { assertEquals } from "@std/assert";
import { insideOf } from "./inside.ts";

Deno.test("an address leads to a file of the directory, or nowhere", () => {
  const cases: Record<string, string | undefined> = {
    "other.md": "docs/other.md",
    "./a/./b.md#heading": "docs/a/b.md",
    "../README.md?plain=1": "README.md",
    "a%20b/c%23.md": "docs/a b/c#.md",
    "..hidden": "docs/..hidden",
    "../../etc/passwd": undefined,
    "a/../../../x": undefined,
    "%2e%2e/%2e%2e/x": undefined,
    "/etc/passwd": undefined,
    "//host/x": undefined,
    "\\\\host\\x": undefined,
    "a\\..\\x": undefined,
    "javascript:alert(1)": undefined,
    "file:///etc/passwd": undefined,
    "#heading": undefined,
    "?x": undefined,
    "": undefined,
    ".": undefined,
    "..": undefined,
    "a/": undefined,
    "a%00b": undefined,
    "%": undefined,
    ["x".repeat(5_000)]: undefined,
  };
  for (const [href, to] of Object.entries(cases)) {
    assertEquals([href, insideOf("docs/guide.md", href)], [href, to]);
  }
  assertEquals(insideOf("README.md", "docs/a.md"), "docs/a.md");
  assertEquals(insideOf("README.md", "../x"), undefined);
});
