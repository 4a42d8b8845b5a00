import type { EventParams, RpcClient } from "../client/rpc.ts";
import { toSvcError, wasAnswered, withHint } from "../protocol/errors.ts";
import { writeAllSync } from "../base/write_all.ts";
import { contextText } from "../protocol/compacted_text.ts";
import type { Delivery, SessionEvent } from "../protocol/events.ts";
import { personCommand } from "../protocol/person_command.ts";
import { stillPending } from "../session/state_steps.ts";
import { ago } from "../base/ago.ts";
import { visible, visibleJson, visibleLine } from "../base/visible.ts";
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
import { loadColumns } from "../features/tui/text.ts";
import { ChatDraft } from "./chat_draft.ts";
import { LineHistory } from "./line_history.ts";
import { LineInput } from "./line_input.ts";
import { LineOutput } from "./line_output.ts";
import { ModelText } from "./chat_render.ts";
import { ChatView } from "./chat_view.ts";
import { named } from "./own_name.ts";
import { answerPrompt, questionWords, sentence, told } from "./plain_words.ts";
import { typedDecision } from "./question_print.ts";

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

/** Stands before each message. */
const PROMPT = "You: ";

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
  const session = await rpc.call("session.get", { session_id });
  let { workdir } = session;
  const left = Promise.withResolvers<number>();
  let approvals: Approval[] = session.pending_approvals;
  let busy = session.activity !== "idle";
  let interrupted = false;
  let asked_at = 0;
  /** Whether a line was being typed when the question appeared: it is no answer. */
  let typed_before = false;
  /** Whether the session is followed: lines are taken before, too, but nothing asks for one. */
  let followed_once = false;
  /** Text to put into the next prompt. */
  let typed = "";
  /** Questions that were asked since none waited: the first of those that wait is the next one. */
  let asked_count = approvals.length;
  /** How full the context is, if it is nearly full. */
  let full: string | undefined;
  /** Messages and answers that no daemon has confirmed. */
  const unsent = new Set<Sending>();
  const answer = new ModelText(Deno.stdout.isTerminal());
  /** A draft of several lines, or one that came too late: the line here does not show it. */
  let unshown = "";
  const earlier = new LineHistory((method, params) => call(method, params), session_id);
  const input: LineInput = new LineInput({
    onLine: (text) => onLine(text),
    onBegin: () => output.breakLine(),
    onTyped() {
      draft?.changed();
      output.typed();
    },
    onInterrupt: () => interrupt(),
    onSearch: () => void act(recallOlder()),
    onEnd: (code) => left.resolve(code),
  });
  const output = new LineOutput({
    write: (text) => writeAllSync(Deno.stdout, new TextEncoder().encode(text)),
    typing: () => input.line !== "",
    leave: () => input.leave(),
    onPrinted: () => followed_once && !input.open && showPrompt(),
  });
  const draft = json || !input.terminal ? undefined : new ChatDraft(session_id, {
    read: () => input.line === "" ? typed || unshown : input.line,
    show(text) {
      unshown = text.includes("\n") ? text : "";
      typed = unshown === "" ? text : "";
    },
    keep(text) {
      unshown = text;
      if (text.includes("\n")) return;
      input.remember(text);
      say("Note: an earlier draft waits; Up brings it");
    },
  });

  const say = (line: string) => output.say(line);
  const sayAll = (lines: readonly string[]) => lines.forEach(say);
  /** Shows the prompt, unless a turn runs that asks nothing. */
  const showPrompt = () => {
    const [first] = approvals;
    if (first !== undefined) input.prompt(answerPrompt(first));
    else if (!busy) input.prompt(PROMPT);
  };
  const ask = () => {
    const [first] = approvals;
    typed_before = first !== undefined && input.line !== "";
    if (first) {
      const count = Math.max(asked_count, approvals.length);
      const n = count - approvals.length + 1;
      sayAll(questionWords({ question: first, n, count }, workdir));
      if (!input.terminal) say(answerPrompt(first));
      output.flush();
      asked_at = performance.now();
    } else asked_count = 0;
    // What is being typed goes on where it stands, unless there is a question.
    if (first || input.line === "" || !input.open) showPrompt();
    if (first || busy || typed === "") return;
    input.set(input.line === "" ? typed : `${input.line} ${typed}`);
    typed = "";
  };
  /** Asks for the next line, unless a turn runs that asks nothing. */
  const goOn = () => {
    if (!busy || approvals.length > 0) ask();
  };
  const act = (doing: Promise<unknown>) =>
    doing.catch((error) => sayAll(told("Error", visible(named(withHint(toSvcError(error)))))));

  /** Puts an older message with what was typed into the line. */
  const recallOlder = async () => {
    const before = input.line;
    const line = await earlier.older(before);
    if (input.line !== before) return;
    if (line === undefined) return say("Note: no earlier message has this");
    input.set(line);
  };

  const compact = async () => {
    const { compacted } = await rpc.call("session.compact", { session_id });
    if (!compacted) say("Note: there is nothing worth leaving out of the conversation");
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
    if (messages.length === 0) say(`Note: ${NONE_QUEUED}`);
    else giveBack(messages);
  };

  const report = async (saying: Promise<string | undefined>) => {
    const said = await saying;
    if (said !== undefined) say(visible(named(said)));
  };
  const send = async (line: string, delivery?: Delivery) => {
    const run = personCommand(line);
    const text = run ?? await messageFor(rpc, session_id, line);
    busy = true;
    earlier.changed();
    const client_message_id = crypto.randomUUID();
    // A log has nothing else of what was typed.
    if (input.terminal) view.typedHere(client_message_id);
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
      say(visible(`  /${name} ${argument_hint}`.trimEnd() + `  ${description}`));
    }
    for (const { path, message } of problems) say(visible(`  not used: ${path}: ${message}`));
  };

  const view = new ChatView({
    say,
    text: (piece) => output.text(answer.take(piece)),
    endText: () => output.endText(),
  });

  let seq: number | undefined;
  let daemon_stops = false;
  const onEvent = (event: EventParams) => {
    // What a page writes meanwhile is there with the next chat.
    if (event.type === "draft.changed") return;
    seq = event.seq;
    if (event.type === "session.paused") daemon_stops = event.data.reason === "daemon_shutdown";
    if (json) {
      input.leave();
      return console.log(visibleJson(JSON.stringify(event)));
    }
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
      asked_count++;
      if (approvals.length === 1) ask();
      else say(`Note: ${approvals.length} questions wait`);
    } else {
      const [asked] = approvals;
      approvals = stillPending(approvals, event as unknown as SessionEvent);
      if (type === "session.ended") left.resolve(0);
      else if (type === "turn.completed") {
        busy = interrupted = false;
        if (full !== undefined) say(sentence(`${full}; /compact shortens the conversation`));
        full = undefined;
        ask();
      } else if (asked !== approvals[0]) ask();
    }
  };

  const onLine = (text: string) => {
    if (text === unshown) unshown = "";
    draft?.changed();
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
      const changing = runTheme(themed, call)
        .then(({ said }) =>
          `${said}\nit is for the whole screen: line by line there are no colours`
        );
      return act(report(changing)).finally(goOn);
    }
    const undoing = undoCommand(line);
    if (undoing !== undefined) {
      return act(report(runUndo(undoing, session_id, call))).finally(goOn);
    }
    const queued = queuedText(line);
    if (queued !== undefined) {
      if (queued !== "") return act(send(queued, "queue")).finally(goOn);
      say(QUEUE_USAGE);
      return goOn();
    }
    if (line === "/help") return act(help()).finally(goOn);
    if (first && (!typed_before || line === "")) {
      const decide = typedDecision(first, line);
      if (decide === undefined) return ask();
      if (performance.now() - asked_at < READ_MS) {
        say("Warning: that was typed before the question appeared; please answer now");
        return showPrompt();
      }
      view.typedHere(first.approval_id);
      return act(deliver((rpc) => resolve(rpc, session_id, first, decide)));
    } else if (line !== "") {
      return act(send(text)).finally(goOn);
    }
    if (!busy) showPrompt();
  };
  const interrupt = () => {
    if (!busy || interrupted) return left.resolve(0);
    interrupted = true;
    act(stop());
  };
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
    say(named("Error: lost the connection to the daemon; `svc chat -c` returns to the session"));
    left.resolve(1);
  };

  const no_model = await hasNoModel(rpc, session.model);
  const parked = parkedNow(session);
  sayAll([
    `Session ${session_id} in ${session.workdir}`,
    `Model: ${session.model}`,
    ...session.context ? [sentence(contextText(session.context))] : [],
    ...no_model ? [named("Note: no model has an API key yet; `svc login` saves one")] : [],
    ...parked === undefined ? [] : [`Warning: ${parked}; /continue tries now`],
    "Type a message, or /help for the commands.",
  ].map((it) => visibleLine(it)));
  await follow();
  followed_once = true;
  ask();
  // What Backspace takes away is measured.
  void loadColumns();
  const code = await left.promise;
  leaving = true;
  output.close();
  await draft?.close();
  input.leave();
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
