import { assertEquals } from "@std/assert";
import { chatCommands } from "../../../src/features/chat_commands/command_help.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { runTyped } from "./chat_commands.ts";

/** Whether the page asks the daemon what a line is: it is none of the commands that it knows. */
async function isUnknown(line: string): Promise<boolean> {
  let asked = false;
  const call = (name: string) => {
    asked ||= name === "commands.expand";
    return Promise.reject(new Error("the daemon is not asked here"));
  };
  const acts = { stop: () => Promise.resolve(), giveBack() {}, open() {} };
  await runTyped(line, "s", call as CallVerb, acts).catch(() => {});
  return asked;
}

Deno.test("each command of the terminal is known to the page, also with words after it", async () => {
  const names = chatCommands(true).filter(({ name }) => name.startsWith("/"));
  for (const { name, args } of names) {
    assertEquals([name, await isUnknown(name)], [name, false]);
    if (args === undefined || name === "/queue") continue;
    assertEquals([name, await isUnknown(`${name} words`)], [name, false]);
  }
  assertEquals(await isUnknown("/queue"), false);
  assertEquals(await isUnknown("/clear"), true);
});
