import { createInterface } from "node:readline";
import process from "node:process";
import type { RpcClient } from "../client/rpc.ts";
import { toSvcError, withHint } from "../protocol/errors.ts";
import { writeAllSync } from "../base/write_all.ts";
import { contextText } from "../protocol/compacted_text.ts";
import type { SessionEvent } from "../protocol/events.ts";
import { stillPending } from "../session/state.ts";
import { exactLine, visible, visibleJson } from "../base/visible.ts";
import { alwaysText, type Question, questionText, shownDigest } from "../session/question.ts";
import { runSetting, type SettingCommand, settingCommand } from "../session/setting_command.ts";
import { messageFor } from "./chat_message.ts";
import { eventLines, ModelText, painter, wantsColour } from "./chat_render.ts";

export interface ConverseOptions {
  session_id: string;
  json: boolean;
}

interface Approval extends Question {
  approval_id: string;
  lane_id: string;
}

/** What is typed sooner after a question was typed before it was there. */
const READ_MS = 400;

/** The part of the context from which on its use is told after a turn. */
const NEAR_FULL = 0.6;

const ANSWERS: Record<string, "allow" | "allow_always" | "deny"> = {
  y: "allow",
  yes: "allow",
  a: "allow_always",
  always: "allow_always",
  n: "deny",
  no: "deny",
};

const COMMANDS = `  /help     show this
  /cancel   cancel the turn (so does Ctrl-C)
  /compact  shorten the conversation that the model is given
  /model [NAME]     show or change the model
  /approval [MODE]  show or change what needs your approval: auto, ask or read_only
  /rename TITLE     change the title
  /kill     end the session permanently
  /quit     leave; the session continues in the daemon`;

/** Talks until the person leaves. What is typed during a turn steers it. */
export async function converse(rpc: RpcClient, options: ConverseOptions): Promise<number> {
  const { session_id, json } = options;
  const paint = painter(wantsColour(Deno.stdout));
  const session = await rpc.call("session.get", { session_id });
  const input = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: paint.bold("› "),
    historySize: 500,
  });
  const left = Promise.withResolvers<number>();
  let approvals: Approval[] = session.pending_approvals;
  let busy = session.activity !== "idle";
  let at_line_start = true;
  let interrupted = false;
  let asked_at = 0;
  /** How full the context is, once it is worth a word. */
  let full: string | undefined;
  const answer = new ModelText(Deno.stdout.isTerminal());

  const say = (line: string) => {
    if (!at_line_start) console.log();
    at_line_start = true;
    console.log(line);
  };
  const ask = () => {
    const [first] = approvals;
    if (first) {
      say(`${paint.yellow("?")} allow ${exactLine(first.tool)}?`);
      for (const line of questionText(first).split("\n")) say(`  ${line}`);
      say(paint.dim(`  always: ${alwaysText(first)}`));
      asked_at = performance.now();
      input.setPrompt("  allow? [y]es, [a]lways, [n]o: ");
    } else {
      input.setPrompt(paint.bold("› "));
    }
    if (first || !busy) input.prompt();
  };
  const act = (call: Promise<unknown>) =>
    call.catch((error) => say(paint.red(visible(withHint(toSvcError(error))))));

  const compact = async () => {
    const { compacted } = await rpc.call("session.compact", { session_id });
    if (!compacted) say(paint.dim("there is nothing worth leaving out of the conversation"));
  };

  const configure = async (command: SettingCommand) => {
    const said = await runSetting(
      command,
      session_id,
      (method, params) => rpc.call(method, params),
    );
    if (said !== undefined) say(paint.dim(visible(said)));
  };
  const send = async (typed: string) => {
    const text = await messageFor(rpc, session_id, typed);
    busy = true;
    await rpc.call("session.send", { session_id, text });
  };
  const help = async () => {
    say(COMMANDS);
    const { commands, problems } = await rpc.call("commands.list", { session_id });
    for (const { name, argument_hint = "", description } of commands) {
      say(`  /${name} ${argument_hint}`.trimEnd() + paint.dim(`  ${description}`));
    }
    for (const { path, message } of problems) say(paint.dim(`  not used: ${path}: ${message}`));
  };

  rpc.onEvent = (event) => {
    if (json) return console.log(visibleJson(JSON.stringify(event)));
    const { type, data } = event;
    if (type === "session.delta") {
      writeAllSync(Deno.stdout, new TextEncoder().encode(answer.take(data.text)));
      at_line_start = data.text.endsWith("\n");
      return;
    }
    for (const line of eventLines(event, paint)) say(line);
    if (type === "cost.tick" && data.context_limit !== undefined) {
      const used = data.tokens_in + data.tokens_out;
      const near = used > NEAR_FULL * data.context_limit;
      full = near ? contextText({ used, limit: data.context_limit }) : undefined;
    }
    if (type === "turn.started") busy = true;
    else if (type === "approval.requested") {
      approvals.push(data);
      if (approvals.length === 1) ask();
    } else {
      const [asked] = approvals;
      approvals = stillPending(approvals, event as unknown as SessionEvent);
      if (type === "session.ended") left.resolve(0);
      else if (type === "turn.completed") {
        busy = interrupted = false;
        if (!at_line_start) say("");
        if (full !== undefined) say(paint.dim(`${full}; /compact shortens the conversation`));
        full = undefined;
        ask();
      } else if (asked !== approvals[0]) ask();
    }
  };

  input.on("line", (text: string) => {
    const [first] = approvals;
    const line = text.trim();
    if (line === "/quit" || line === "/exit") return left.resolve(0);
    if (line === "/kill") return act(rpc.call("session.kill", { session_id }));
    if (line === "/cancel") return act(rpc.call("session.cancel", { session_id }));
    if (line === "/compact") return act(compact().finally(() => busy || ask()));
    const setting = settingCommand(line);
    if (setting !== undefined) return act(configure(setting).finally(() => busy || ask()));
    if (line === "/help") return act(help().finally(() => busy || ask()));
    if (first) {
      const decision = ANSWERS[line.toLowerCase()];
      if (decision === undefined) return ask();
      if (performance.now() - asked_at < READ_MS) {
        say(paint.yellow("that was typed before the question appeared; please answer now"));
        return input.prompt();
      }
      return act(approve(rpc, session_id, first, decision));
    } else if (line !== "") {
      return act(send(text).finally(() => busy || ask()));
    }
    if (!busy) input.prompt();
  });
  input.on("SIGINT", () => {
    if (!busy || interrupted) return left.resolve(0);
    interrupted = true;
    act(rpc.call("session.cancel", { session_id }));
  });
  input.on("close", () => left.resolve(0));
  rpc.closed.then(() => {
    say(paint.red("lost the connection to the daemon; `svc chat -c` returns to the session"));
    left.resolve(1);
  });

  const context = session.context ? ` · ${contextText(session.context)}` : "";
  const about = `${session.model} in ${session.workdir} · ${session_id}${context} · /help`;
  const advice = await hasNoModel(rpc, session.model)
    ? "\nno model has an API key yet; `svc login` saves one"
    : "";
  say(paint.dim(visible(about + advice)));
  await rpc.call("session.subscribe", { session_id, deltas: "session" });
  ask();
  const code = await left.promise;
  input.close();
  return code;
}

/** Whether the embedded model answers because nothing else is configured, not by choice. */
async function hasNoModel(rpc: RpcClient, model: string): Promise<boolean> {
  if (!model.startsWith("builtin/")) return false;
  return (await rpc.call("daemon.info")).default_model === model;
}

async function approve(
  rpc: RpcClient,
  session_id: string,
  asked: Approval,
  decision: string,
): Promise<void> {
  const { approval_id } = asked;
  const shown = await shownDigest(asked);
  await rpc.call("session.approve", { session_id, approval_id, decision, shown });
}
