import { createInterface } from "node:readline";
import process from "node:process";
import type { EventParams, RpcClient } from "../client/rpc.ts";
import { toSvcError, wasAnswered, withHint } from "../protocol/errors.ts";
import { writeAllSync } from "../base/write_all.ts";
import { contextText } from "../protocol/compacted_text.ts";
import type { Delivery, SessionEvent } from "../protocol/events.ts";
import { personCommand } from "../protocol/person_command.ts";
import { stillPending } from "../session/state_steps.ts";
import { ago } from "../base/ago.ts";
import { visible, visibleJson } from "../base/visible.ts";
import { parkedNow } from "../protocol/note_text.ts";
import { type Question, shownDigest } from "../session/question.ts";
import type { Args, CallVerb } from "../features/verb_types.ts";
import { exportCommand } from "../features/chat_commands/export_command.ts";
import { QUEUE_USAGE, queuedText } from "../features/chat_commands/queue_command.ts";
import { runSetting, settingCommand } from "../features/chat_commands/setting_command.ts";
import {
  NONE_QUEUED,
  stopTurn,
  typedAgain,
  type Withdrawn,
} from "../features/chat_commands/stop_turn.ts";
import { runTheme, themeCommand } from "../features/chat_commands/theme_command.ts";
import { runUndo, undoCommand } from "../features/chat_commands/undo_command.ts";
import { messageFor } from "./chat_message.ts";
import { env } from "./environment.ts";
import { terminalSettings } from "../features/chat_commands/terminal_settings.ts";
import { ChatDraft } from "./chat_draft.ts";
import { LineHistory } from "./line_history.ts";
import { ModelText, painter } from "./chat_render.ts";
import { ChatView } from "./chat_view.ts";
import { named } from "./own_name.ts";
import { questionPrinted, questionPrompt, typedDecision } from "./question_print.ts";

export interface ConverseOptions {
  /**
   * Connects to the next daemon.
   *
   * @param stopped whether the last one was told to stop; after a crash, the next one is started.
   * @throws {SvcError} not_found.
   */
  reconnect(stopped: boolean): Promise<RpcClient>;
  session_id: string;
  json: boolean;
}

type Sending = (rpc: RpcClient) => Promise<unknown>;

interface Approval extends Question {
  approval_id: string;
  lane_id: string;
  kind?: string;
}

/** An answer typed sooner was meant for something before the question. */
const READ_MS = 400;
const SESSIONS_SHOWN = 20;

const CTRL_R = "\x12";

/** How many daemons that are gone at once are followed. */
const TRIES_MAX = 3;

/** Fraction of the context from which its use is reported after a turn. */
const NEAR_FULL = 0.6;

/** Talks until the person leaves. Text typed during a turn steers it. */
// fold-ok: what the prompt does next; chat_view.ts says what is shown
export async function converse(first: RpcClient, options: ConverseOptions): Promise<number> {
  const { session_id, json } = options;
  let rpc = first;
  const call: CallVerb = (method, params) => rpc.call(method, ...[params] as Args<typeof method>);
  let paint = painter(Deno.stdout, (await terminalSettings(call)).theme);
  const session = await rpc.call("session.get", { session_id });
  let { workdir } = session;
  const input = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: paint.bold("› "),
    historySize: 500,
  });
  /** Whether readline does not draw again what is being typed. */
  const is_dumb = input.terminal && env("TERM") === "dumb";
  const left = Promise.withResolvers<number>();
  let approvals: Approval[] = session.pending_approvals;
  let busy = session.activity !== "idle";
  let at_line_start = true;
  let interrupted = false;
  let asked_at = 0;
  /** Whether a line was being typed when the question appeared: it is no answer. */
  let typed_before = false;
  /** A line being typed that stands above what was printed since. */
  let left_behind = "";
  /** Text to put into the next prompt. */
  let typed = "";
  /** How full the context is, if it is nearly full. */
  let full: string | undefined;
  /** Messages and answers that no daemon has confirmed. */
  const unsent = new Set<Sending>();
  const answer = new ModelText(Deno.stdout.isTerminal());
  /** A draft of several lines, which the line here cannot show. */
  let unshown = "";
  const draft = json || !input.terminal ? undefined : new ChatDraft(session_id, {
    read: () => input.line === "" ? typed || unshown : input.line,
    show(text) {
      if (text.includes("\n")) unshown = text;
      else typed = text;
    },
  });
  const earlier = new LineHistory((method, params) => call(method, params), session_id);
  if (draft !== undefined) {
    process.stdin.on("keypress", (_text: string, key?: { ctrl?: boolean; name?: string }) => {
      draft.changed();
      if (key?.ctrl === true && key.name === "r") void act(recallOlder());
    });
  }

  const say = (line: string) => {
    const typing = input.line !== "" && input.line !== left_behind;
    if (!at_line_start || typing) console.log();
    left_behind = input.line;
    at_line_start = true;
    console.log(line);
  };
  /** Shows the prompt and what is being typed. */
  const redraw = () => {
    input.prompt(true);
    if (is_dumb) writeAllSync(Deno.stdout, new TextEncoder().encode(input.line));
  };
  const ask = () => {
    const [first] = approvals;
    typed_before = first !== undefined && input.line !== "";
    if (first) {
      const count = approvals.length > 1 ? ` (1 of ${approvals.length})` : "";
      const [head, ...rest] = questionPrinted(first, workdir, paint);
      say(`${paint.warning("?")} ${head}${count}`);
      for (const line of rest) say(`  ${line}`);
      asked_at = performance.now();
      input.setPrompt(`  ${questionPrompt(first)} `);
    } else {
      input.setPrompt(paint.bold("› "));
    }
    // What is being typed stays, with its cursor.
    if (first || !busy) redraw();
    left_behind = "";
    if (first || busy || typed === "") return;
    input.write(input.line === "" ? typed : ` ${typed}`);
    typed = "";
  };
  /** Asks for the next line, unless a turn runs that asks nothing. */
  const goOn = () => {
    if (!busy || approvals.length > 0) ask();
  };
  const act = (doing: Promise<unknown>) =>
    doing.catch((error) => say(paint.error(visible(named(withHint(toSvcError(error)))))));

  /** Puts an older message with what was typed into the line. */
  const recallOlder = async () => {
    const before = input.line;
    // In a simple terminal readline takes the key for text.
    const typed_here = before.replaceAll(CTRL_R, "");
    const line = await earlier.older(typed_here) ?? typed_here;
    if (input.line !== before) return;
    Object.assign(input, { line, cursor: line.length });
    if (is_dumb) console.log();
    redraw();
    draft?.changed();
  };

  const compact = async () => {
    const { compacted } = await rpc.call("session.compact", { session_id });
    if (!compacted) say(paint.dim("there is nothing worth leaving out of the conversation"));
  };

  /** Offers messages that were taken back for editing. */
  const giveBack = (messages: readonly Withdrawn[]) => {
    // A line break would send the text before it.
    const text = typedAgain(messages, "", " ");
    if (Deno.stdin.isTerminal() && !text.includes("\n")) typed = text;
  };
  const stop = () => stopTurn(call, session_id, giveBack);

  const withdraw = async () => {
    const { messages } = await rpc.call("session.withdraw", { session_id });
    if (messages.length === 0) say(paint.dim(NONE_QUEUED));
    else giveBack(messages);
  };

  const report = async (saying: Promise<string | undefined>) => {
    const said = await saying;
    if (said !== undefined) say(paint.dim(visible(named(said))));
  };
  const send = async (line: string, delivery?: Delivery) => {
    const run = personCommand(line);
    const text = run ?? await messageFor(rpc, session_id, line);
    busy = true;
    earlier.changed();
    const client_message_id = crypto.randomUUID();
    view.typedHere(client_message_id);
    const message = {
      session_id,
      text,
      client_message_id,
      ...delivery && { delivery },
      ...run !== undefined && { run: true },
    };
    await deliver((rpc) => rpc.call("session.send", message));
  };
  /** Sends what takes effect once; if the connection breaks, the next daemon gets it too. */
  const deliver = async (sending: Sending, again = false) => {
    const over = rpc;
    unsent.add(sending);
    try {
      await sending(over);
    } catch (error) {
      if (over.lost) return;
      unsent.delete(sending);
      // Perhaps by the answer itself, before the connection broke.
      if (again && wasAnswered(error)) return;
      throw error;
    }
    unsent.delete(sending);
  };
  const help = async () => {
    const { commandHelp } = await import("../features/chat_commands/command_help.ts");
    say(commandHelp(true));
    const { commands, problems } = await rpc.call("commands.list", { session_id });
    for (const { name, argument_hint = "", description } of commands) {
      say(`  /${name} ${argument_hint}`.trimEnd() + paint.dim(`  ${description}`));
    }
    for (const { path, message } of problems) say(paint.dim(`  not used: ${path}: ${message}`));
  };

  const view = new ChatView({
    get paint() {
      return paint;
    },
    say,
    write(text) {
      writeAllSync(Deno.stdout, new TextEncoder().encode(answer.take(text)));
      at_line_start = text.endsWith("\n");
    },
  });

  let seq: number | undefined;
  let daemon_stops = false;
  const onEvent = (event: EventParams) => {
    // What a page writes meanwhile is there with the next chat.
    if (event.type === "draft.changed") return;
    seq = event.seq;
    if (event.type === "session.paused") daemon_stops = event.data.reason === "daemon_shutdown";
    if (json) return console.log(visibleJson(JSON.stringify(event)));
    const { type, data } = event;
    view.apply(event as unknown as SessionEvent);
    if (type === "cost.tick" && data.context_limit !== undefined) {
      const used = data.tokens_in + data.tokens_out;
      const near = used > NEAR_FULL * data.context_limit;
      full = near ? contextText({ used, limit: data.context_limit }) : undefined;
    }
    if (type === "session.moved") workdir = data.workdir;
    if (type === "turn.started" || type === "turn.continued") busy = true;
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

  let gone = false;
  // At the end of the input readline gives what was being typed as a line.
  if (input.terminal) process.stdin.prependListener("end", () => gone = true);
  input.on("line", (text: string) => {
    if (gone) return;
    const [first] = approvals;
    const line = text.trim();
    if (line === "/quit" || line === "/exit") return left.resolve(0);
    if (line === "/sessions") return act(report(otherSessions(call))).finally(goOn);
    if (line === "/kill") return act(rpc.call("session.kill", { session_id }));
    if (line === "/cancel") return act(stop());
    if (line === "/continue") return act(rpc.call("session.continue", { session_id }));
    if (line === "/pause") return act(rpc.call("session.pause", { session_id }));
    if (line === "/resume") return act(rpc.call("session.resume", { session_id }));
    if (line === "/withdraw") return act(withdraw()).finally(goOn);
    if (line === "/compact") return act(compact()).finally(goOn);
    const setting = settingCommand(line);
    if (setting !== undefined) {
      return act(report(runSetting(setting, session_id, call))).finally(goOn);
    }
    const exported = exportCommand(line);
    if (exported !== undefined) {
      const writing = import("./session_file.ts").then(({ runExport }) =>
        runExport(exported, session_id, call)
      );
      return act(report(writing)).finally(goOn);
    }
    const themed = themeCommand(line);
    if (themed !== undefined) {
      const changing = runTheme(themed, call).then(({ said, theme }) => {
        paint = painter(Deno.stdout, theme);
        return said;
      });
      return act(report(changing)).finally(goOn);
    }
    const undoing = undoCommand(line);
    if (undoing !== undefined) {
      return act(report(runUndo(undoing, session_id, call))).finally(goOn);
    }
    const queued = queuedText(line);
    if (queued !== undefined) {
      if (queued !== "") return act(send(queued, "queue")).finally(goOn);
      say(paint.dim(QUEUE_USAGE));
      return goOn();
    }
    if (line === "/help") return act(help()).finally(goOn);
    if (first && (!typed_before || line === "")) {
      const decide = typedDecision(first, line);
      if (decide === undefined) return ask();
      if (performance.now() - asked_at < READ_MS) {
        say(paint.warning("that was typed before the question appeared; please answer now"));
        return input.prompt();
      }
      view.typedHere(first.approval_id);
      return act(deliver((rpc) => resolve(rpc, session_id, first, decide)));
    } else if (line !== "") {
      return act(send(text)).finally(goOn);
    }
    if (!busy) input.prompt();
  });
  input.on("SIGINT", () => {
    if (!busy || interrupted) return left.resolve(0);
    interrupted = true;
    act(stop());
  });
  input.on("close", () => left.resolve(0));
  /** Follows the session, and after a restart of the daemon the new one. */
  const follow = async () => {
    rpc.onEvent = onEvent;
    await draft?.open(rpc);
    await rpc.call("session.subscribe", { session_id, since_seq: seq, deltas: "session" });
    const followed = rpc;
    rpc.closed.then(() => onLost(followed));
    for (const sending of unsent) void act(deliver(sending, true));
  };
  let leaving = false;
  const onLost = async (lost: RpcClient) => {
    if (leaving) return;
    const stopped = daemon_stops;
    daemon_stops = false;
    for (let tries = 0, before = lost; tries < TRIES_MAX; tries++, before = rpc) {
      try {
        rpc = await options.reconnect(stopped);
        return await follow();
      } catch {
        // Another try only if there was a daemon, which is gone again.
        if (rpc === before) break;
      }
    }
    say(
      paint.error(named("lost the connection to the daemon; `svc chat -c` returns to the session")),
    );
    left.resolve(1);
  };

  const context = session.context ? ` · ${contextText(session.context)}` : "";
  const about = `${session.model} in ${session.workdir} · ${session_id}${context} · /help`;
  const advice = await hasNoModel(rpc, session.model)
    ? "\nno model has an API key yet; `svc login` saves one"
    : "";
  say(paint.dim(visible(about + named(advice))));
  const parked = parkedNow(session);
  if (parked !== undefined) say(paint.warning(visible(`${parked}; /continue tries now`)));
  await follow();
  ask();
  const code = await left.promise;
  leaving = true;
  await draft?.close();
  input.close();
  rpc.close();
  return code;
}

/** The sessions that there are, with the command that opens each. */
async function otherSessions(call: CallVerb): Promise<string> {
  const { newestFirst } = await import("../features/tui/session_order.ts");
  const { sessions } = await call("session.list", {});
  return newestFirst(sessions).slice(0, SESSIONS_SHOWN).map(({ id, title, last_event_at }) =>
    `${title} · ${ago(last_event_at, Date.now())} · \`svc chat --session ${id}\``
  ).join("\n");
}

/** Whether the embedded model answers only because nothing else is configured. */
async function hasNoModel(rpc: RpcClient, model: string): Promise<boolean> {
  if (!model.startsWith("builtin/")) return false;
  return (await rpc.call("daemon.info")).default_model === model;
}

async function resolve(
  rpc: RpcClient,
  session_id: string,
  pending: Approval,
  { verb, params }: { verb: string; params: Record<string, unknown> },
): Promise<void> {
  const { approval_id } = pending;
  const shown = await shownDigest(pending);
  await rpc.ask(verb, { session_id, approval_id, ...params, shown });
}
