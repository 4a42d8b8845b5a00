import type { EventParams, RpcClient } from "../client/rpc.ts";
import { reachesFar, REMEMBER, type Scope } from "../protocol/memory.ts";
import { APPROVAL_TOOL } from "../features/tool_servers/names.ts";
import { stopExitCode } from "../protocol/stop_reasons.ts";
import { SvcError } from "../protocol/errors.ts";
import { writeAllSync } from "../base/write_all.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import { callLine } from "../base/call_line.ts";
import { messageFor } from "./chat_message.ts";
import { eventLines, ModelText, painter, wantsColour } from "./chat_render.ts";
import { exactLine, visible, visibleJson } from "../base/visible.ts";

export interface OnceOptions {
  session_id: string;
  prompt: string;
  json: boolean;
}

/** Sends one message, prints the answer, and waits until its turn has ended. */
export async function askOnce(rpc: RpcClient, options: OnceOptions): Promise<number> {
  const { session_id, prompt, json } = options;
  const paint = painter(wantsColour(Deno.stderr));
  // Piped, it stays as the model wrote it.
  const answer = new ModelText(Deno.stdout.isTerminal());
  const verbose = Deno.stderr.isTerminal();
  const finished = Promise.withResolvers<EventParams>();
  let sent_seq = Infinity;
  let completed: EventParams | undefined;
  let at_line_start = true;
  rpc.onEvent = (event) => {
    if (json) console.log(visibleJson(JSON.stringify(withoutSub(event))));
    const { type, data } = event;
    if (type === "session.delta" && !json) {
      write(answer.take(data.text));
      at_line_start = data.text.endsWith("\n");
    } else if (type === "approval.requested" && data.lane_id === MAIN_LANE) {
      refuse(rpc, session_id, data);
    } else if (type === "turn.completed") {
      completed = event;
      if (event.seq > sent_seq) finished.resolve(event);
    } else if (verbose && !json) {
      for (const line of eventLines(event, paint)) console.error(line);
    }
  };
  const text = await messageFor(rpc, session_id, prompt);
  await rpc.call("session.subscribe", { session_id, deltas: "session" });
  const sent = await rpc.call("session.send", { session_id, text });
  sent_seq = sent.seq;
  if (completed && completed.seq > sent_seq) finished.resolve(completed);
  const interrupted = onInterrupt(() => rpc.call("session.cancel", { session_id }));
  try {
    const lost = rpc.closed.then((): never => {
      throw new SvcError("internal", "lost the connection to the daemon", {
        hint:
          `the turn is in the journal; \`svc chat --session ${session_id}\` continues the session`,
      });
    });
    const { data } = await Promise.race([finished.promise, lost]);
    if (!json && !at_line_start) write("\n");
    if (data.stop_reason === "ok") return 0;
    const why = data.error ? `: ${visible(data.error)}` : "";
    console.error(`svc: turn ${data.stop_reason}${why}`);
    return stopExitCode(data.stop_reason);
  } finally {
    interrupted.dispose();
  }
}

/** Nobody is there to be asked: the call is denied, and how to allow it is said. */
function refuse(
  rpc: RpcClient,
  session_id: string,
  { approval_id, tool, args }: { approval_id: string; tool: string; args: unknown },
): void {
  const every_session = tool === APPROVAL_TOOL ||
    (tool === REMEMBER && reachesFar((args as { scope?: Scope }).scope));
  const way = every_session
    ? `this always needs an answer; give it with \`svc chat --session ${session_id}\``
    : "--approve auto allows such calls";
  console.error(
    `svc: denied, because nobody can be asked: ${exactLine(callLine(tool, args))} (${way})`,
  );
  rpc.call("session.approve", { session_id, approval_id, decision: "deny" }).catch(() => {});
}

function withoutSub({ sub: _, ...event }: EventParams): Omit<EventParams, "sub"> {
  return event;
}

function write(text: string): void {
  writeAllSync(Deno.stdout, new TextEncoder().encode(text));
}

/** Runs `cancel` at the first Ctrl-C and exits at the second. */
function onInterrupt(cancel: () => Promise<unknown>): { dispose(): void } {
  let asked = false;
  const handler = () => {
    if (asked) Deno.exit(130);
    asked = true;
    cancel().catch(() => {});
  };
  Deno.addSignalListener("SIGINT", handler);
  return { dispose: () => Deno.removeSignalListener("SIGINT", handler) };
}
