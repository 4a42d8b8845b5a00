import { assertEquals } from "@std/assert";
import { pastedPaths } from "./pasted_paths.ts";

Deno.test("paths of images are found as terminals paste them", () => {
  const cases: [text: string, ...paths: string[]][] = [
    ["/tmp/shot.png", "/tmp/shot.png"],
    ["/tmp/a\\ b\\(1\\).PNG ", "/tmp/a b(1).PNG"],
    ["'/tmp/it is.jpeg'", "/tmp/it is.jpeg"],
    [`"/tmp/a \\"b\\".gif"`, `/tmp/a "b".gif`],
    ["'/tmp/it'\\''s.webp'", "/tmp/it's.webp"],
    ["file:///tmp/a%20b.pdf\r\n", "/tmp/a b.pdf"],
    ["file://localhost/tmp/a.pdf", "/tmp/a.pdf"],
    ["~/shot.png /tmp/b.png", "~/shot.png", "/tmp/b.png"],
    ["/a/1.png\n/a/2.png\n", "/a/1.png", "/a/2.png"],
    ["/tmp/Screen Shot 1.png", "/tmp/Screen Shot 1.png"],
    ["/tmp/at\\ 8.02\\u{202f}PM.png", "/tmp/at 8.02\u202fPM.png"],
    ["/tmp/日本 語.png", "/tmp/日本 語.png"],
  ];
  for (const [text, ...paths] of cases) {
    assertEquals(pastedPaths(text).map(({ path }) => path), paths, text);
  }
  const windows = pastedPaths(`"C:\\my shots\\a.png" D:/b.jpg`, true);
  assertEquals(windows.map(({ path }) => path), ["C:\\my shots\\a.png", "D:/b.jpg"]);
});

Deno.test("other text has none", () => {
  const texts = [
    "see /tmp/shot.png",
    "/tmp/shot.png shows it",
    "/tmp/notes.txt",
    "shot.png",
    "/compact",
    "/tmp/a.png /tmp/b.png and more words.png",
    "https://example.com/a.png",
    "",
    "'",
    "/x".repeat(100_000) + ".png",
    "/a.png ".repeat(21),
  ];
  for (const text of texts) assertEquals(pastedPaths(text), [], text.slice(0, 40));
});
