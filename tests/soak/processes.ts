/**
 * The processes of a soak. They stand in process groups of their own: Ctrl-C in the terminal is for
 * the soak alone, which ends them when it has looked at what they did.
 */
import { toText } from "@std/streams";
import { firstLine } from "../support/processes.ts";
import { Daemon, type Place, svcCommand } from "../support/svc.ts";

/** A child that ends with what holds it. */
export interface Model extends AsyncDisposable {
  url: string;
}

/** Starts the model server. */
export async function startModel(): Promise<Model> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-net=127.0.0.1",
      "--allow-env",
      `--config=${new URL("../../deno.json", import.meta.url).pathname}`,
      new URL("model.ts", import.meta.url).pathname,
    ],
    stdin: "piped",
    stdout: "piped",
    detached: true,
  }).spawn();
  const { url } = JSON.parse(await firstLine(child));
  return {
    url,
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await child.stdout.cancel().catch(() => {});
      await child.status;
    },
  };
}

/** Starts the daemon; whoever starts it ends it. */
export async function startDaemon(place: Place): Promise<Daemon> {
  const [program, first] = svcCommand();
  const child = new Deno.Command(program, {
    args: [...first, "serve", "--emit-port-stdout"],
    env: place.env,
    clearEnv: true,
    cwd: "/",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  const text = toText(child.stderr);
  const listening = await firstLine(child).catch(async () => {
    throw new Error(`svc serve did not start: ${await text}`);
  });
  return new Daemon(child, text, JSON.parse(listening));
}
