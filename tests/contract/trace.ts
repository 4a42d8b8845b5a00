/** What a process asks of the system, seen with strace. */
import { eventually } from "./shared.ts";

/**
 * Runs `act` while the calls of a process are traced.
 *
 * @param act is given what reads the trace so far.
 * @returns the lines of the trace.
 */
export async function traced(
  pid: number,
  calls: string,
  act: (traceSoFar: () => string) => Promise<void>,
): Promise<string> {
  const path = Deno.makeTempFileSync({ prefix: "svc-trace-" });
  const child = new Deno.Command("strace", {
    args: ["-f", "-y", "-e", `trace=${calls}`, "-o", path, "-p", String(pid)],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let said = "";
  const saying = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) said += text;
  })();
  try {
    if (!await eventually(() => said.includes("attached"))) throw new Error(`strace: ${said}`);
    await act(() => Deno.readTextFileSync(path));
  } finally {
    child.kill("SIGINT");
    await child.status;
    await saying;
  }
  const lines = Deno.readTextFileSync(path);
  Deno.removeSync(path);
  return lines;
}
