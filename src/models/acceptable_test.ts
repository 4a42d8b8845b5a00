import { assert, assertEquals } from "@std/assert";
import { acceptableJson, acceptableName, acceptableText, CallIds } from "./acceptable.ts";

Deno.test("names of tools have what every provider accepts, and good ones stay", () => {
  const cases: Record<string, string> = {
    read_file: "read_file",
    "mcp_web_get-page": "mcp_web_get-page",
    "cat notes.txt | wc -l": "cat_notes_txt_wc_-l",
    'read_file" path="x': "read_file_path_x",
    "functions.read_file": "functions_read_file",
    "3d": "_3d",
    "": "unknown_tool",
    " ⚙ ": "unknown_tool",
    ["x".repeat(74)]: "x".repeat(64),
  };
  for (const [name, safe] of Object.entries(cases)) assertEquals(acceptableName(name), safe);
});

Deno.test("half surrogate pairs and zero bytes are replaced, wherever they are", () => {
  assertEquals(acceptableText("a\ud83d b\0c 👍"), "a\ufffd b\ufffdc 👍");
  assertEquals(acceptableJson({ "k\udc00": ["\0", 1, null, { deep: "\ud800" }] }), {
    "k\ufffd": ["\ufffd", 1, null, { deep: "\ufffd" }],
  });
});

Deno.test("ids that repeat, are missing or too long are told apart, with their results", () => {
  const ids = new CallIds((id) => id);
  const long = "x".repeat(60);
  const answers = [["0", "0", "1"], ["0"], ["", long, `${long}y`]];
  const seen = answers.flatMap((calls) => {
    ids.begin();
    const made = calls.map((id) => ids.ofCall(id));
    assertEquals(calls.map((id) => ids.ofResult(id)), made);
    return made;
  });
  assertEquals(seen.slice(0, 5), ["0", "0_2", "1", "0_3", "call"]);
  assertEquals(new Set(seen).size, seen.length);
  assert(seen.every((id) => id.length > 0 && id.length <= 40));
  // The same conversation gives the same ids.
  const again = new CallIds((id) => id);
  assertEquals(answers.flat().map((id) => again.ofCall(id)), seen);
  assertEquals(again.ofResult("unknown"), "unknown");
});

Deno.test("ids of a fixed length stay so when they repeat", () => {
  const ids = new CallIds((id) => id.padEnd(9, "0").slice(-9));
  assertEquals([ids.ofCall("abcdefghi"), ids.ofCall("abcdefghi")], ["abcdefghi", "cdefghi_2"]);
});
