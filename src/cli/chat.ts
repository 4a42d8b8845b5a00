import { toText } from "@std/streams";
import { connectAfterCrash, connectOrStart, connectPatiently } from "../client/connect.ts";
import type { Params } from "../features/verb_types.ts";
import type { RpcClient } from "../client/rpc.ts";
import { holdsSystem } from "../os/paths.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { TurnLimits } from "../protocol/event_data.ts";
import type { Action } from "../features/permissions/rule.ts";
import type { SessionItem } from "../session/session_item.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import type { CHAT } from "./table/chat.ts";
import type { AttachedFile } from "./chat_attach.ts";
import type { AnswerCheck } from "./chat_schema.ts";
import { ownPaths } from "./environment.ts";
import { absolute, addedFrom } from "./workdir.ts";
import { canShowScreens, wantsWords } from "./plain_choice.ts";

type Flags = Input<typeof CHAT>["flags"];

/** Flags that need a prompt on the command line. */
const FOR_PROMPTS = ["output", "keep", "max-steps", "max-usd", "schema", "attach"];

/** Runs `svc chat`. */
export async function run({ flags, args, given }: Input<typeof CHAT>): Promise<number> {
  if (flags.json && given.includes("output")) {
    throw new UsageError("--json and --output cannot be used together");
  }
  if (flags.resume && (flags.continue || flags.session !== undefined || flags.json)) {
    throw new UsageError("--resume lets you choose: it goes without --continue, --session, --json");
  }
  const rules = await rulesOf(flags);
  const prompt = await readPrompt(flags.prompt);
  const paths = ownPaths();
  const begins = flags.session === undefined && !flags.continue && !flags.resume;
  // Programs that read its events go on with the session that these name.
  const temporary = begins && prompt !== "" && !flags.keep && !flags.json;
  const open = async () => {
    const rpc = await connectOrStart(paths, () => {
      if (Deno.stderr.isTerminal()) console.error("starting the daemon …");
    });
    try {
      const session_id = await findSession(rpc, {
        workdir: absolute(args.workdir ?? "."),
        session: flags.session,
        resume: flags.continue,
        choose: flags.resume,
        on_screen: !flags.plain && canShowScreens(),
        model: flags.model,
        approval: flags.approve,
        effort: flags.effort,
        network: flags.network,
        add_dirs: addedFrom(flags["add-dir"]),
        temporary: temporary || undefined,
      });
      for (const rule of rules) {
        await rpc.call("permissions.add", { ...rule, scope: "session", session_id });
      }
      return { rpc, session_id };
    } catch (error) {
      rpc.close();
      throw error;
    }
  };
  const reconnect = async (stopped: boolean) => {
    if (stopped) return await connectPatiently(paths, () => {});
    return await connectAfterCrash(paths);
  };
  if (prompt !== "" && flags.resume) {
    throw new UsageError("--resume cannot be used with a prompt", "--session continues a session");
  }
  if (prompt !== "") {
    const schema = await schemaOf(flags);
    const attachments = await attachmentsOf(flags);
    const { askOnce } = await import("./chat_once.ts");
    const form = flags.json ? "events" : flags.output;
    const limits = limitsOf(flags);
    const { keep } = flags;
    return await askOnce({
      ...{ prompt, attachments, form, limits, schema, temporary, keep, open, reconnect },
    });
  }
  const flag = given.find((name) => FOR_PROMPTS.includes(name));
  if (flag !== undefined) {
    throw new UsageError(`--${flag} needs a prompt`, "pass one with -p, or pipe one in");
  }
  // Loaded while the daemon answers.
  const on_screen = !flags.json && !flags.plain && canShowScreens();
  const screens = on_screen ? import("./chat_terminal.ts") : undefined;
  const { rpc, session_id } = await open();
  try {
    if (screens === undefined || await wantsWords(rpc)) {
      const { converse } = await import("./chat_interactive.ts");
      return await converse(rpc, { session_id, json: flags.json, reconnect });
    }
    const { converseInTerminal } = await screens;
    return await converseInTerminal(rpc, { session_id, paths, chooses: flags.resume });
  } finally {
    rpc.close();
  }
}

/**
 * Returns the prompt from -p ("-": standard input) and a pipe; empty at a terminal without -p.
 *
 * @throws {UsageError} when a prompt is expected and missing.
 */
async function readPrompt(prompt = ""): Promise<string> {
  const reads = prompt === "-" || !Deno.stdin.isTerminal();
  const piped = reads ? (await toText(Deno.stdin.readable)).trim() : "";
  const text = [prompt === "-" ? "" : prompt, piped].filter(Boolean).join("\n\n");
  if (text === "" && reads) throw new UsageError("no prompt: use -p, or pipe a prompt in");
  return text;
}

function limitsOf(flags: Flags): TurnLimits {
  const { "max-steps": max_steps, "max-usd": max_usd } = flags;
  return {
    ...(max_steps === undefined ? {} : { max_steps }),
    ...(max_usd === undefined ? {} : { max_usd }),
  };
}

/** @throws {UsageError} for an unreadable rule, before a session is started for it. */
async function rulesOf({ allow, deny }: Flags): Promise<{ action: Action; rule: string }[]> {
  if (allow.length + deny.length === 0) return [];
  const { parseRule } = await import("../features/permissions/rule.ts");
  const read = (action: "allow" | "deny", rules: readonly string[]) =>
    rules.map((rule) => {
      try {
        parseRule(action, rule);
      } catch (error) {
        throw new UsageError(`--${action}: ${messageOf(error)}`);
      }
      return { action, rule };
    });
  return [...read("deny", deny), ...read("allow", allow)];
}

async function schemaOf({ schema }: Flags): Promise<AnswerCheck | undefined> {
  if (schema === undefined) return undefined;
  const { readSchema } = await import("./chat_schema.ts");
  return readSchema(absolute(schema));
}

async function attachmentsOf({ attach }: Flags): Promise<AttachedFile[]> {
  if (attach.length === 0) return [];
  const { readAttachments } = await import("./chat_attach.ts");
  return readAttachments(attach.map(absolute));
}

interface Wanted extends
  Pick<
    Params<"session.start">,
    "model" | "approval" | "effort" | "add_dirs" | "network" | "temporary"
  > {
  workdir: string;
  session?: string;
  /** Continue the newest one of the directory. */
  resume: boolean;
  /** Have the person choose one. */
  choose: boolean;
  /** Whether the list to choose from is on the screen. */
  on_screen: boolean;
}

async function findSession(rpc: RpcClient, wanted: Wanted): Promise<string> {
  const { add_dirs, network } = wanted;
  const starts = wanted.session === undefined && !wanted.resume && !wanted.choose;
  const session_id = await sessionFor(rpc, wanted);
  if (!starts && (add_dirs ?? network) !== undefined) {
    await rpc.call("session.configure", { session_id, add_dirs, network });
  }
  return session_id;
}

async function sessionFor(rpc: RpcClient, wanted: Wanted): Promise<string> {
  if (wanted.session !== undefined) return wanted.session;
  if (wanted.choose) {
    const { chooseSession } = await import("./chat_choose.ts");
    return await chooseSession(rpc, wanted.on_screen && !await wantsWords(rpc));
  }
  const { workdir, model, approval, effort, add_dirs, network, temporary } = wanted;
  if (!wanted.resume) {
    if (holdsSystem(await Deno.realPath(workdir).catch(() => workdir))) {
      console.error(
        `warning: a session in ${workdir} can change the system's programs; while it can run, ` +
          "svc uses no git and no browser. Use the directory of a project",
      );
    }
    const params = { workdir, model, approval, effort, add_dirs, network, temporary };
    return (await rpc.call("session.start", params)).session_id;
  }
  const real = await Deno.realPath(workdir);
  const { sessions: listed } = await rpc.call("session.list", { workdir: real });
  const sessions = listed.filter(({ temporary }: SessionItem) => !temporary);
  const newest = sessions.findLast((it: SessionItem) => it.state !== "unreadable") ??
    sessions.at(-1);
  if (newest?.state === "unreadable") {
    throw new SvcError("conflict", `session ${newest.id} is unreadable: ${newest.reason}`);
  }
  if (newest === undefined) {
    throw new SvcError("not_found", `no open session in ${workdir}`, {
      hint: "run the command without --continue to start one; -p keeps its session with --keep",
    });
  }
  if (newest.state === "paused") await rpc.call("session.resume", { session_id: newest.id });
  return newest.id;
}
