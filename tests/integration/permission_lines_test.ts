/** What real shells do with the command lines of the tests of permission rules. */
import { assert, assertEquals } from "@std/assert";
import { decide } from "../../src/features/permissions/decide.ts";
import { parseRule } from "../../src/features/permissions/rule.ts";
import { ALLOWED_LINES, ASKED_LINES, SLIPS, WIDE_RULES } from "../support/command_lines.ts";
import { granted } from "../support/permissions.ts";
import { hasProgram } from "../support/programs.ts";
import { TempDir } from "../support/sessions.ts";

/** Shells at once. */
const AT_ONCE = 6;
/** Most lines run the canary in a shell; some need a program that not every machine has. */
const RAN_MIN = 100;

/** Runs a line in an empty directory. @returns whether it ran `canary`. */
async function runsCanary(shell: string, line: string): Promise<boolean> {
  using dir = new TempDir();
  const bin = dir.mkdir("bin");
  const cwd = dir.mkdir("work");
  const program = (path: string, text: string) =>
    Deno.writeTextFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  for (const path of [bin, cwd]) program(`${path}/canary`, `: > ${dir.join("ran")}`);
  for (const name of ["npm", "node", "sudo"]) program(`${bin}/${name}`, "exit 0");
  Deno.writeTextFileSync(`${cwd}/script`, "canary\n");
  await new Deno.Command(shell, {
    args: ["-c", line],
    cwd,
    clearEnv: true,
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      HOME: cwd,
      CANARY: "canary",
      GIT_CEILING_DIRECTORIES: dir.path,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(60_000),
    // It waits for everything that still has its output open.
  }).output();
  return existsSync(dir.join("ran"));
}

function existsSync(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** The lines of which a shell ran the canary. */
async function linesThatRan(shell: string, lines: readonly string[]): Promise<string[]> {
  const waiting = [...lines];
  const ran: string[] = [];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let line = waiting.pop(); line !== undefined; line = waiting.pop()) {
      if (await runsCanary(shell, line)) ran.push(line);
    }
  }));
  return ran;
}

for (const shell of ["bash", "sh"]) {
  Deno.test({
    name: `${shell} runs nothing else for the command lines that rules allow`,
    ignore: !granted("run", "write", "env") || Deno.build.os === "windows" || !hasProgram(shell),
    async fn() {
      const rules = WIDE_RULES.map((it) => ({
        ...parseRule("allow", `run_command: ${it}`),
        source: "config" as const,
      }));
      const allowed = [...ALLOWED_LINES, ...ASKED_LINES, ...SLIPS].filter((command) => {
        const rule = `run_command ${command}`;
        const call = { tool: "run_command", args: { command }, rule, foreign: false, posix: true };
        return decide(call, rules).action === "allow";
      });
      assertEquals(await linesThatRan(shell, allowed), []);
      // Otherwise the canary proves nothing.
      const ran = await linesThatRan(shell, SLIPS);
      assert(ran.length >= RAN_MIN, `only ${ran.length} of ${SLIPS.length} lines run the canary`);
    },
  });
}
