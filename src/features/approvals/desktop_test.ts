import { assert, assertEquals } from "@std/assert";
import { desktopNotice } from "./desktop.ts";

Deno.test("the text of a notification is shown, and never read as options, markup or a program", () => {
  const hostile = { title: "--help $(id)", text: `<a href="x">&"; do shell script "id"` };
  const [linux] = desktopNotice("linux", hostile);
  assertEquals(linux.slice(2), [
    "--",
    "--help $(id)",
    `&lt;a href="x"&gt;&amp;"; do shell script "id"`,
  ]);
  const [mac, script] = desktopNotice("darwin", hostile);
  assertEquals(mac, ["osascript", "-", hostile.title, hostile.text]);
  assert(!script.includes("do shell"));
  const [windows, , env] = desktopNotice("windows", hostile);
  assert(!windows.join().includes("id)") && env.SVC_TITLE === hostile.title);
});

Deno.test("long text is cut, and no character in its middle", () => {
  const [argv] = desktopNotice("linux", { title: "t".repeat(100), text: "😀".repeat(400) });
  assertEquals([argv[3].length, argv[3].at(-1)], [80, "…"]);
  assert(argv[4].length <= 300 && argv[4].isWellFormed());
});
