import { assertEquals } from "@std/assert";
import { calledAs, ownArguments } from "./called_as.ts";
import { helpText } from "./help.ts";
import { COMMANDS } from "./commands.ts";
import { binaryName, named } from "./own_name.ts";

const NAME = "sh install/dev.sh";
const PATH = "/home/me/svc/dist/svc";

Deno.test("a script's own name is its first argument, and no argument of svc", () => {
  const args = [`--called-as=${NAME}`, "chat", "-p", "ls"];
  assertEquals(calledAs(args), NAME);
  assertEquals(ownArguments(args), ["chat", "-p", "ls"]);
  assertEquals(calledAs(["chat", `--called-as=${NAME}`]), undefined);
  assertEquals(ownArguments(["chat", `--called-as=${NAME}`]), ["chat", `--called-as=${NAME}`]);
});

for (
  const [what, argv0, found, name] of [
    ["called by its path, with no svc on PATH", "dist/svc", {}, "dist/svc"],
    ["called by a path with a blank", "my dist/svc", {}, "'my dist/svc'"],
    ["called by its path, which is svc on PATH too", "dist/svc", { svc: PATH }, "svc"],
    ["called by its path, with another svc on PATH", "dist/svc", { svc: "/bin/svc" }, "dist/svc"],
    ["found on PATH", "svc", { svc: PATH }, "svc"],
    ["found on PATH by another name", "svc-next", { "svc-next": PATH }, "svc-next"],
    ["started by a program that made up a name", "-svc", {}, PATH],
  ] as const
) {
  Deno.test(`a binary ${what} names itself so that its commands run`, () => {
    const find = (word: string) => (found as Record<string, string>)[word];
    assertEquals(binaryName({ argv0, path: PATH, find }), name);
  });
}

Deno.test("the commands in a hint get the own name, and nothing else does", () => {
  const shown = (text: string) => named(text, () => NAME);
  assertEquals(
    shown("run `svc login openai`, or set OPENAI_API_KEY"),
    "run `sh install/dev.sh login openai`, or set OPENAI_API_KEY",
  );
  assertEquals(
    shown('did you mean "svc ctl pause"?'),
    'did you mean "sh install/dev.sh ctl pause"?',
  );
  for (
    const text of ["svc keeps its files in `~/.svc`", "`svc.policy.yaml`", "an address of svc"]
  ) {
    assertEquals(shown(text), text);
  }
});

Deno.test("help shows usage, examples and other commands with the own name", async () => {
  const help = helpText("svc chat", await COMMANDS.chat(), NAME);
  assertEquals(help.match(/(?<![\w./-])svc (chat|login|ctl|open|models)\b.*/)?.[0], undefined);
  for (
    const line of ["Usage: sh install/dev.sh chat [options]", "git diff | sh install/dev.sh chat"]
  ) {
    assertEquals(help.includes(line), true, line);
  }
});
