import { assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { wholeTable } from "./commands.ts";
import { completionScript } from "./completions.ts";
import { command, group, integer, on, oneOf, option, spec } from "./define.ts";
import type { Command } from "./spec.ts";

const load = () => Promise.reject(new Error("not run"));
const root: Command = {
  ...group({ summary: "Test" }, {
    serve: command(
      spec({
        summary: "Run",
        flags: {
          port: option(integer(0, 9), "port", "Port"),
          mode: option(oneOf(["fast", "safe"]), "mode", "The operator's mode"),
          unit: on("Internal", { hidden: true }),
        },
      }),
      load,
      { restart: command(spec({ summary: "Restart" }), load) },
    ),
    ctl: group({ summary: "Control" }, {
      sessions: group({ summary: "Sessions" }, {
        list: command(spec({ summary: "List", flags: { all: on("All") } }), load),
        kill: command(spec({ summary: "Kill" }), load),
      }),
    }),
  }),
  spec: spec({ summary: "Test", flags: { version: on("Version") } }),
};

/** What bash offers for a line; its last word is the one that is being typed. */
async function complete(line: string): Promise<string[]> {
  const words = line.split(" ");
  const script = `${completionScript("bash", root)}
COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}
_svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await new Deno.Command("bash", { args: ["-c", script] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter(Boolean);
}

Deno.test({
  name: "bash completes commands, the commands below them, flags and their values",
  ignore: !granted("run") || Deno.build.os === "windows",
  async fn() {
    const cases: [string, string[]][] = [
      ["svc ", ["serve", "ctl", "--version", "--help"]],
      ["svc s", ["serve"]],
      ["svc serve ", ["restart", "--port", "--mode", "--help"]],
      ["svc serve --port 8 --p", ["--port"]],
      ["svc serve --mode ", ["fast", "safe"]],
      ["svc serve --mode s", ["safe"]],
      ["svc ctl sessions ", ["list", "kill", "--help"]],
      ["svc ctl --json sessions list --", ["--all", "--help"]],
      ["svc nonsense sessions l", []],
    ];
    for (const [line, offered] of cases) assertEquals(await complete(line), offered, line);
  },
});

Deno.test("every shell's script has every command, flag and value", () => {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    const script = completionScript(shell, root);
    for (const word of ["restart", "ctl sessions list", "--all", "serve --mode", "safe"]) {
      assertStringIncludes(script, word, shell);
    }
    assertEquals(script.includes("--unit"), false, "a hidden flag");
  }
});

for (const shell of ["bash", "zsh", "fish"] as const) {
  Deno.test({
    name: `${shell} reads its script`,
    ignore: !granted("run") || Deno.build.os === "windows" || !isThere(shell),
    async fn() {
      const script = completionScript(shell, await wholeTable()).replace(/^compdef .*$/m, "");
      const { success, stderr } = await new Deno.Command(shell, { args: ["-n", "-c", script] })
        .output();
      assertEquals([success, new TextDecoder().decode(stderr)], [true, ""]);
    },
  });
}

function isThere(program: string): boolean {
  if (!granted("run")) return false;
  try {
    return new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch {
    return false;
  }
}
