import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { chatCommands } from "../../../src/features/chat_commands/command_help.ts";
import type { CallVerb } from "../../../src/features/verb_types.ts";
import { answerFirst, runTyped } from "./chat_commands.ts";

/** Whether the page asks the daemon what a line is: it is none of the commands that it knows. */
async function isUnknown(line: string): Promise<boolean> {
  let asked = false;
  const call = (name: string) => {
    asked ||= name === "commands.expand";
    return Promise.reject(new Error("the daemon is not asked here"));
  };
  const acts = { stop: async () => {}, save: async () => {}, giveBack() {}, open() {} };
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

Deno.test("where no session has begun, each command is answered or begins one; none is lost", async () => {
  const now = { model: "a/b", approval: "ask" } as const;
  const call = () => Promise.resolve({ models: [{ id: "a/b" }, { id: "named" }] });
  const first = (line: string) => answerFirst(line, now, call as unknown as CallVerb);
  for (const { name } of chatCommands(true).filter(({ name }) => name.startsWith("/"))) {
    const answered = await first(name);
    if (name === "/queue") continue;
    assertEquals([name, answered === undefined], [name, false]);
  }
  const begin = [
    "/trust no",
    "/permissions allow run(ls)",
    "/queue do it",
    "/of-the-project x",
    "/etc/hosts is what?",
  ];
  for (const line of begin) assertEquals([line, await first(line)], [line, undefined]);
  const begun = [
    ["/effort high", { effort: "high" }],
    ["/effort default", {}],
    ["/network on", { network: "on" }],
    ["/add-dir /tmp:ro", { add_dirs: [{ path: "/tmp", access: "read" }] }],
    ["/rename Mine", { title: "Mine" }],
  ] as const;
  for (const [line, begin] of begun) {
    assertEquals([line, (await first(line))?.begin], [line, begin]);
  }
  await assertRejects(() => first("/effort nonsense"), Error, "low, medium, high, xhigh, default");
  await assertRejects(() => first("/network nonsense"), Error, "off, allowed, on, default");
  for (const line of ["/trust nonsense", "/permissions nonsense"]) {
    assertEquals([line, (await first(line))?.begin, typeof await first(line)], [
      line,
      undefined,
      "object",
    ]);
  }
  assertEquals(await first("/model named"), { said: "model: named", choose: { model: "named" } });
  assertEquals((await first("/model c/d"))?.choose, { model: "c/d" });
  assertEquals((await first("/approval auto"))?.choose, { approval: "auto" });
  await assertRejects(() => first("/model other"), Error, "there is no model other");
  await assertRejects(() => first("/approval all"), Error, "auto, workspace, ask, read_only");
  const cost = (await first("/cost"))?.said;
  assertEquals(cost, "$0.0000 so far: no session has begun here.");
  assertEquals((await first("/undo"))?.said.startsWith("/undo is for a session."), true);
});

Deno.test("where a session may begin, its directory says which commands there are", async () => {
  const at = { workdir: "/p" };
  const asked: unknown[] = [];
  const call = (name: string, params: unknown) => {
    asked.push([name, params]);
    if (name === "commands.list") {
      const commands = [{ name: "mine", argument_hint: "[x]", description: "Does it" }];
      return Promise.resolve({ commands, problems: [{ path: "/p/a b.md", message: "no" }] });
    }
    const { text } = params as { text: string };
    return text.startsWith("/none")
      ? Promise.reject(new Error("unknown command /none"))
      : Promise.resolve({ text });
  };
  const now = { model: "a/b", approval: "ask", ...at } as const;
  const first = (line: string) => answerFirst(line, now, call as unknown as CallVerb);
  const said = (await first("/help"))?.said ?? "";
  assertStringIncludes(said, "/mine [x]  Does it");
  assertStringIncludes(said, "not used: /p/a b.md: no");
  assertEquals(await first("/mine 1"), undefined);
  assertEquals(await first("/queue /mine 2"), undefined);
  assertEquals(await first("/queue plain"), undefined);
  assertEquals(await first("/permissions allow run(ls)"), undefined);
  await assertRejects(() => first("/none"), Error, "unknown command /none");
  await assertRejects(() => first("/queue /none"), Error, "unknown command /none");
  assertEquals(asked, [
    ["commands.list", at],
    ...["/mine 1", "/mine 2", "/none", "/none"].map((text) => ["commands.expand", { ...at, text }]),
  ]);
});
