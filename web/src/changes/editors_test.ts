import { assertEquals } from "@std/assert";
import { EDITORS } from "./editors.ts";

Deno.test("links name file and line, whatever the path has in it", () => {
  const { vscode, idea } = EDITORS;
  assertEquals(vscode.link("/a b/c#d?.ts", 7), "vscode://file/a%20b/c%23d%3F.ts:7");
  assertEquals(vscode.link("C:\\x\\y.ts", 1), "vscode://file/C:/x/y.ts:1");
  assertEquals(idea.link("/a&b.ts", 2), "idea://open?file=%2Fa%26b.ts&line=2");
});
