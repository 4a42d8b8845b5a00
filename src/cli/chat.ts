import { toText } from "@std/streams";
import { connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { SvcError } from "../protocol/errors.ts";
import type { SessionItem } from "../session/session_item.ts";
import { parseFlags, UsageError } from "./args.ts";
import { askOnce } from "./chat_once.ts";
import { env, ownPaths } from "./environment.ts";
import { absolute } from "./workdir.ts";

const HELP = `Talks to an agent that works in a directory. Starts the daemon if none runs.

Usage: svc chat [workdir] [options]

  -p, --prompt <text>     ask once, print the answer and exit with the turn's outcome
  -m, --model <id>        <provider>/<model>; the default is the first provider with a key, else
                          builtin/toolbelt, which carries out plain instructions such as "ls"
  -c, --continue          go on with the newest session of this directory
      --session <id>      go on with that session
      --approve <mode>    auto, ask (default) or read_only
      --json              print events as NDJSON, one a line

A prompt may also be piped in: git diff | svc chat -p "review this".
On a terminal a conversation has the whole screen: ? shows its keys. Ctrl-C cancels the turn and a
second one leaves; the session goes on in the daemon and \`svc chat -c\` comes back to it. Without
one, with TERM=dumb or with --json it goes line by line.`;

/** Runs `svc chat`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, string, rest } = parseFlags(argv, {
    boolean: ["json", "continue"],
    string: ["prompt", "model", "session", "approve"],
    alias: { p: "prompt", m: "model", c: "continue" },
  });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 1) throw new UsageError("svc chat takes one directory");
  const piped = Deno.stdin.isTerminal() ? "" : (await toText(Deno.stdin.readable)).trim();
  const prompt = [string.prompt, piped].filter(Boolean).join("\n\n");
  if (prompt === "" && !Deno.stdin.isTerminal()) {
    throw new UsageError("there is nothing to ask: give -p or pipe a prompt in");
  }
  const paths = ownPaths();
  const rpc = await connectOrStart(paths, () => {
    if (Deno.stderr.isTerminal()) console.error("starting the daemon …");
  });
  try {
    const session_id = await findSession(rpc, {
      workdir: absolute(rest[0] ?? "."),
      session: string.session,
      resume: boolean.continue ?? false,
      model: string.model,
      approval: string.approve,
    });
    const options = { session_id, json: boolean.json ?? false };
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
    throw new SvcError("not_found", `no session is open in ${workdir}`, {
      hint: "leave out --continue to start one",
    });
  }
  if (newest.state === "paused") await rpc.call("session.resume", { session_id: newest.id });
  return newest.id;
}
