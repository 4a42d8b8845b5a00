import { toText } from "@std/streams";
import { connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { SvcError } from "../protocol/errors.ts";
import type { SessionItem } from "../session/session_item.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import type { CHAT } from "./table/chat.ts";
import { askOnce } from "./chat_once.ts";
import { env, ownPaths } from "./environment.ts";
import { absolute } from "./workdir.ts";

/** Runs `svc chat`. */
export async function run({ flags, args }: Input<typeof CHAT>): Promise<number> {
  const piped = Deno.stdin.isTerminal() ? "" : (await toText(Deno.stdin.readable)).trim();
  const prompt = [flags.prompt, piped].filter(Boolean).join("\n\n");
  if (prompt === "" && !Deno.stdin.isTerminal()) {
    throw new UsageError("no prompt: use -p, or pipe a prompt in");
  }
  const paths = ownPaths();
  const rpc = await connectOrStart(paths, () => {
    if (Deno.stderr.isTerminal()) console.error("starting the daemon …");
  });
  try {
    const session_id = await findSession(rpc, {
      workdir: absolute(args.workdir ?? "."),
      session: flags.session,
      resume: flags.continue,
      model: flags.model,
      approval: flags.approve,
    });
    const options = { session_id, json: flags.json };
    if (prompt !== "") return await askOnce(rpc, { ...options, prompt });
    if (options.json || !canShowScreens()) {
      const { converse } = await import("./chat_interactive.ts");
      return await converse(rpc, options);
    }
    const { converseInTerminal } = await import("./chat_terminal.ts");
    return await converseInTerminal(rpc, { session_id, paths });
  } finally {
    rpc.close();
  }
}

/** Whether what is written goes to a terminal that can do more than lines. */
function canShowScreens(): boolean {
  return Deno.stdout.isTerminal() && (env("TERM") ?? "dumb") !== "dumb";
}

interface Wanted {
  workdir: string;
  session?: string;
  resume: boolean;
  model?: string;
  approval?: string;
}

async function findSession(rpc: RpcClient, wanted: Wanted): Promise<string> {
  if (wanted.session !== undefined) return wanted.session;
  const { workdir, model, approval } = wanted;
  if (!wanted.resume) {
    return (await rpc.call("session.start", { workdir, model, approval })).session_id;
  }
  const real = await Deno.realPath(workdir);
  const { sessions } = await rpc.call("session.list");
  const newest = sessions.findLast((it: SessionItem) =>
    it.workdir === real && it.state !== "unreadable"
  );
  if (newest === undefined) {
    throw new SvcError("not_found", `no open session in ${workdir}`, {
      hint: "run the command without --continue to start one",
    });
  }
  if (newest.state === "paused") await rpc.call("session.resume", { session_id: newest.id });
  return newest.id;
}
