import { assert, assertEquals } from "@std/assert";
import { heldText, notHeld } from "./holds.ts";

Deno.test("a question says what holds a command, with the network or without", () => {
  assertEquals(heldText({ kind: "bubblewrap" }, false), undefined);
  assertEquals(heldText({ kind: "none" }, true), "runs with all your rights");
  assertEquals(
    heldText({ kind: "landlock" }, false),
    "limited by Landlock: no network, no files of yours outside; it can change .git and .svc here",
  );
  assertEquals(
    heldText({ kind: "seatbelt" }, true),
    "limited by Seatbelt: no files of yours outside",
  );
});

Deno.test("an older kernel holds less, and svc doctor says so", () => {
  const signals = /end your other programs/;
  assert(notHeld({ kind: "landlock", abi: 5 }).some((it) => signals.test(it)));
  assert(!notHeld({ kind: "landlock", abi: 6 }).some((it) => signals.test(it)));
});
