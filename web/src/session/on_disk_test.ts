import { assertEquals } from "@std/assert";
import { changeOnDisk } from "./on_disk.ts";

const now = (content: string) => ({ state: "text", content }) as const;
const CALLED = "The change as the call gives it";

Deno.test("a write is compared with the file as it is now", () => {
  const write = { path: "x", content: "new\n" };
  assertEquals(changeOnDisk("write_file", write, now("old\n")), {
    before: "old\n",
    after: "new\n",
    note: "Compared with the file as it is now",
    whole: true,
  });
  assertEquals(changeOnDisk("write_file", write, { state: "missing" })!.note, "New file");
  assertEquals(
    changeOnDisk("write_file", write, now("new\n"))!.note,
    "The file has this content already",
  );
  const large = { state: "unreadable", reason: "too large" } as const;
  assertEquals(changeOnDisk("write_file", write, large), {
    before: "",
    after: "new\n",
    note: "Not compared with the file as it is now: too large",
    whole: false,
  });
});

Deno.test("an edit is shown in its file where each part fits in one place, else as it is given", () => {
  const edit = { path: "x", old_text: "a", new_text: "$&b" };
  assertEquals(changeOnDisk("edit_file", edit, now("1 a 2"))!.after, "1 $&b 2");
  assertEquals(changeOnDisk("edit_file", edit, now("a a"))!.note, CALLED);
  assertEquals(changeOnDisk("edit_file", edit, now("none"))!.note, CALLED);
  assertEquals(changeOnDisk("edit_file", edit, { state: "missing" })!.note, CALLED);
  const all = { ...edit, new_text: "b", replace_all: true };
  assertEquals(changeOnDisk("edit_file", all, now("a a"))!.after, "b b");
  const edits = [{ old_text: "a", new_text: "b" }, { old_text: "b", new_text: "c" }];
  assertEquals(changeOnDisk("edit_file", { path: "x", edits }, now("a"))!.after, "c");
  const create = { path: "x", old_text: "", new_text: "all" };
  assertEquals(changeOnDisk("edit_file", create, { state: "missing" })!.note, "New file");
  assertEquals(changeOnDisk("edit_file", create, now("there"))!.note, CALLED);
});
