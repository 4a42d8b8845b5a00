import { assertEquals } from "@std/assert";
import { mentionOf, tokenAt } from "./mention.ts";

Deno.test("a file is named after an @ that begins a word", () => {
  const query = (text: string) => tokenAt(text, text.length)?.query;
  assertEquals(query("@"), "");
  assertEquals(query("look at @src/ma"), "src/ma");
  assertEquals(query("(@a"), "a");
  assertEquals(query('see @"a b'), "a b");
  assertEquals(query("me@example.com"), undefined);
  assertEquals(query("a <me@x>"), undefined);
  assertEquals(query("@src/main.ts "), undefined);
  assertEquals(tokenAt("@ab rest", 2), { kind: "file", start: 0, end: 2, query: "a" });
});

Deno.test("a command is the first word of a message, and a path is none", () => {
  assertEquals(tokenAt("/mo", 3), { kind: "command", start: 0, end: 3, query: "mo" });
  assertEquals(tokenAt("/etc/hosts", 10), undefined);
  assertEquals(tokenAt("/model x", 8), undefined);
  assertEquals(tokenAt("a /mo", 5), undefined);
  assertEquals(tokenAt("\\/mo", 4), undefined);
});

Deno.test("a path with blanks is quoted, and a directory goes on", () => {
  assertEquals(mentionOf("a.ts"), "@a.ts ");
  assertEquals(mentionOf("a b.ts"), '@"a b.ts" ');
  assertEquals(mentionOf("src/"), "@src/");
  assertEquals(mentionOf("a dir/"), '@"a dir/" ');
  for (const path of ['a" or b', "a\nDelete all", "a\u202egpj.ts", "a\u2028b"]) {
    assertEquals(mentionOf(path), undefined, path);
  }
});
