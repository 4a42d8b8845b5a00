/** Whether `svc chat` fills the screen, or goes line by line in words. */
import type { RpcClient } from "../client/rpc.ts";
import { env } from "./environment.ts";

/** Values of ACCESSIBLE that do not ask for words. */
const OFF = ["0", "false"];

/** Reports whether the output is a terminal with a screen, whose person did not ask for words. */
export function canShowScreens(): boolean {
  const wants_words = !OFF.includes(env("ACCESSIBLE") ?? OFF[0]);
  return Deno.stdout.isTerminal() && (env("TERM") ?? "dumb") !== "dumb" && !wants_words;
}

/** Reports whether the person's settings ask for words. */
export async function wantsWords(rpc: RpcClient): Promise<boolean> {
  const { settings } = await rpc.call("daemon.get_config", {});
  return settings["terminal.plain"]?.value === true;
}
