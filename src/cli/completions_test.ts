import { assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { COMMANDS, type Words } from "./commands.ts";
import { completionScript } from "./completions.ts";

const commands: Record<string, Words> = {
  serve: { flags: ["--port"], commands: { restart: {} } },
  ctl: { commands: { sessions: { commands: { list: { flags: ["--all"] }, kill: {} } } } },
};

/** What bash offers for a line; its last word is the one that is being typed. */
async function complete(line: string): Promise<string[]> {
  const words = line.split(" ");
  const script = `${completionScript("bash", commands)}
COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}
_svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await new Deno.Command("bash", { args: ["-c", script] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter(Boolean);
}

Deno.test({
  name: "bash completes commands, the commands below them, and flags",
  ignore: !granted("run") || Deno.build.os === "windows",
  async fn() {
    const cases: [string, string[]][] = [
      ["svc ", ["serve", "ctl", "--version", "--help"]],
      ["svc s", ["serve"]],
      ["svc serve ", ["restart", "--port", "--help"]],
      ["svc serve --port 80 --p", ["--port"]],
      ["svc ctl sessions ", ["list", "kill", "--help"]],
      ["svc ctl --json sessions list --", ["--all", "--help"]],
      ["svc nonsense sessions l", []],
    ];
    for (const [line, offered] of cases) assertEquals(await complete(line), offered, line);
  },
});

Deno.test("every shell's script has every command", () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const script = completionScript(shell, commands);
    for (const word of ["restart", "ctl sessions list", "--all"]) {
      assertStringIncludes(script, word);
    }
  }
});

Deno.test("the table of commands has the flags that the help of each command tells", async () => {
  for (const [name, command] of Object.entries(COMMANDS)) {
    if (command.former) continue;
    const { run } = await command.load();
    assertEquals([name, helpFlags(await captured(() => run(["--help"])))], [name, flags(command)]);
  }
});

function flags(words: Words): string[] {
  const below = Object.values(words.commands ?? {}).flatMap(flags);
  return [...new Set([...words.flags ?? [], ...below])].sort();
}

function helpFlags(help: string): string[] {
  // A flag that is explained, or stands in the usage; not one that a sentence mentions.
  const told = [...help.matchAll(/(?:^|[[\s|])(--[a-z-]+)/gm)].map(([, flag]) => flag);
  return [...new Set(told)].filter((flag) => flag !== "--help").sort();
}

async function captured(run: () => Promise<number>): Promise<string> {
  const { log } = console;
  let text = "";
  console.log = (line: string) => void (text += `${line}\n`);
  try {
    await run();
  } finally {
    console.log = log;
  }
  return text;
}
