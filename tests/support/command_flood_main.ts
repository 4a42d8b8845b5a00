/** Runs many commands that flood their output, and prints what they leave of descriptors and bytes. */
import { runCommand } from "../../src/jail/command.ts";
import { detectSandbox, type ShellSandbox } from "../../src/jail/sandbox.ts";

const ROUNDS = 20;
const AT_ONCE = 4;

const sandbox = await detectSandbox(Deno.args[0] as ShellSandbox);
const workdir = await Deno.realPath(await Deno.makeTempDir({ prefix: "command" }));
const { signal } = new AbortController();

function run(bytes: number): Promise<unknown> {
  return runCommand({
    command: `head -c ${bytes} /dev/zero | tr '\\0' x`,
    sandbox,
    scope: { workdir, hidden: [], network: false },
    timeout_ms: 60_000,
    signal,
  });
}

async function flood(): Promise<void> {
  await Promise.all(Array.from({ length: AT_ONCE }, () => run(1_000_000)));
}

function countDescriptors(): number {
  if (Deno.build.os !== "linux") return 0;
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

await flood();
const before = { descriptors: countDescriptors(), rss: Deno.memoryUsage().rss };
for (let round = 0; round < ROUNDS; round++) await flood();
await run(100_000_000);
console.log(JSON.stringify({
  descriptors: countDescriptors() - before.descriptors,
  rss: Deno.memoryUsage().rss - before.rss,
}));
await Deno.remove(workdir, { recursive: true });
