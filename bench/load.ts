/** HTTP load at a number of connections, from a process of its own. */
import { fromFileUrl } from "@std/path";

export interface LoadTarget {
  port: number;
  token: string;
  path: string;
  connections: number;
  seconds: number;
}

/** Requests per second. */
export type Load = (target: LoadTarget) => Promise<number>;

/** The version of wrk, if it is installed (Debian: `apt-get install wrk`). */
export async function wrkVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await new Deno.Command("wrk", { args: ["-v"], stderr: "null" }).output();
    return new TextDecoder().decode(stdout).match(/^wrk (\S+)/)?.[1] ?? "unknown";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

export const wrk: Load = async ({ port, token, path, connections, seconds }) => {
  const said = await output("wrk", [
    "--threads=1",
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    `--header=Authorization: Bearer ${token}`,
    `http://127.0.0.1:${port}${path}`,
  ]);
  const rate = said.match(/Requests\/sec: +([\d.]+)/)?.[1];
  if (rate === undefined || /Non-2xx|Socket errors/.test(said)) throw new Error(said);
  return Number(rate);
};

export const ownLoad: Load = async ({ port, token, path, connections, seconds }) => {
  const program = fromFileUrl(new URL("./load_main.ts", import.meta.url));
  const args = [port, path, token, connections, seconds].map(String);
  return Number(
    await output(Deno.execPath(), [
      "run",
      "--quiet",
      "--no-check",
      "--allow-net=127.0.0.1",
      program,
      ...args,
    ]),
  );
};

async function output(program: string, args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(`${program}: ${text}${new TextDecoder().decode(stderr)}`);
  return text;
}
