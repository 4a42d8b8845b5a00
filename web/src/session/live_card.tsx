/** What stands beside and below the head of a call whose work goes on: a subagent, a command. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { SUBAGENT } from "../../../src/protocol/events.ts";
import { endText } from "../../../src/protocol/background_text.ts";
import { findLane, laneEnded } from "../../../src/session/state_steps.ts";
import type { ToolItem } from "../../../src/session/view.ts";
import { useApp } from "../app.ts";
import { count, duration } from "../format.ts";
import { RpcError } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { useAtEnd } from "../ui/use_at_end.ts";
import { callSubject } from "./call.ts";
import { outcomeText } from "./item_text.ts";
import type { SessionStore } from "./store.ts";

interface LiveProps {
  item: ToolItem;
  store: SessionStore;
}

/** Characters of output that a card shows while its work goes on. */
const TAIL = 8 * 1024;
/** Where more than these go on at once, their cards are closed until they are opened. */
const OPEN_MAX = 4;
/** How often the output of a background command is asked for while it is shown. */
const ASK_MS = 1_000;
const LINE_MAX = 300;

/** Whether a call's work goes on beside the conversation, or did: a subagent, a command. */
export function worksBeside({ tool, background }: ToolItem): boolean {
  return tool === SUBAGENT || background !== undefined;
}

/** Whether the work of a call goes on. */
export function goesOn({ outcome, background }: ToolItem): boolean {
  return background === undefined ? outcome === undefined : background.ended === undefined;
}

/** Whether a subagent was stopped before it was done. */
export function isStopped({ tool, lane_id }: ToolItem, { state }: SessionStore): boolean {
  return tool === SUBAGENT && findLane(state, lane_id ?? "")?.status === "cancelled";
}

/** Whether so few go on that each shows its last lines by itself. */
export function showsTail({ state: { lanes, background } }: SessionStore): boolean {
  const running = lanes.filter((it) => it.kind === "tool" && !laneEnded(it));
  return running.length + background.length <= OPEN_MAX;
}

/** For how long it runs, or ran, and a subagent's tokens. */
export function LiveFacts({ item, store }: LiveProps) {
  const { at, background, lane_id } = item;
  const now = useSignal(Date.now());
  const running = goesOn(item);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => now.value = Date.now(), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  const { ended, started_at = at, ended_at } = background ?? {};
  const until = running ? now.value : ended_at && Date.parse(ended_at);
  const ran_ms = until && Math.max(0, until - Date.parse(started_at));
  const tokens = lane_id && findLane(store.state, lane_id)?.tokens;
  const facts = [
    running ? "running" : ended ? endText(ended) : outcomeText(item, isStopped(item, store)),
    ran_ms && duration(Math.floor(ran_ms / 1_000) * 1_000),
    tokens && `${count(tokens)} tokens`,
  ];
  return <>{facts.filter(Boolean).join(" · ")}</>;
}

/** Stops the work, or opens all that it has said. */
export function LiveActions({ item, store }: LiveProps) {
  const { client } = useApp();
  const session_id = store.id;
  const { lane_id, background } = item;
  const about = callSubject(item.args).split("\n")[0].slice(0, LINE_MAX);
  const stop = background === undefined
    ? lane_id && (() => client.call("lanes.kill", { session_id, lane_id }))
    : () =>
      client.call("background.stop", { session_id, command_id: background.command_id })
        .then(() => {});
  return (
    <span class="tool-actions">
      {lane_id && (
        <a
          class="button quiet"
          href={`/sessions/${session_id}/lanes/${lane_id}`}
          aria-label={`Open ${about}`}
        >
          Open
        </a>
      )}
      {stop && goesOn(item) && (
        <Button tone="quiet" icon="stop" aria-label={`Stop ${about}`} onClick={stop}>Stop</Button>
      )}
    </span>
  );
}

/** The last lines of what the work says, as they come. */
export function LiveTail({ item, store }: LiveProps) {
  return item.background === undefined
    ? <Tail item={item} text={store.conversation.lane_output.get(item.lane_id ?? "")} />
    : <BackgroundTail item={item} store={store} background={item.background} />;
}

function Tail({ item, text = "" }: { item: ToolItem; text?: string }) {
  const shown = text.slice(-TAIL).toWellFormed().trimEnd();
  const at_end = useAtEnd<HTMLPreElement>(shown);
  if (shown === "") return <p class="tool-none">{goesOn(item) ? "No output yet" : "No output"}</p>;
  return (
    <pre
      {...at_end}
      class="tool-tail"
      tabIndex={0}
      role="group"
      aria-label={`Output of ${item.tool}`}
    >
      {shown}
    </pre>
  );
}

interface BackgroundTailProps extends LiveProps {
  background: NonNullable<ToolItem["background"]>;
}

function BackgroundTail({ item, store, background }: BackgroundTailProps) {
  const { client } = useApp();
  const text = useSignal<string | undefined>(undefined);
  const { command_id, ended } = background;
  useEffect(() => {
    const ids = { session_id: store.id, command_id };
    let closed = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let from: number | undefined;
    const ask = async () => {
      try {
        const anew = from === undefined;
        from ??= await begin();
        const { text: more, next, running } = await client.ask("background.output", {
          ...ids,
          from,
        });
        if (closed) return;
        // What it began with again is there already.
        const before = anew ? "" : text.peek() ?? "";
        if (anew || more !== "") text.value = (before + more).slice(-2 * TAIL);
        // Behind a command that says so much, it would stay behind.
        from = more.length > TAIL ? undefined : next;
        if (running) timer = setTimeout(ask, ASK_MS);
      } catch (error) {
        // Its end, or the daemon's, is what the journal says.
        if (!closed && error instanceof RpcError) text.value ??= "";
      }
    };
    /** Its output from a little before its end on. */
    const begin = async () => {
      const { commands } = await client.ask("background.list", { session_id: store.id });
      const found = commands.find((it) => it.command_id === command_id);
      return Math.max(0, (found?.output_bytes ?? 0) - TAIL);
    };
    ask();
    return () => {
      closed = true;
      clearTimeout(timer);
    };
  }, [store, command_id, ended === undefined]);
  return <Tail item={item} text={text.value} />;
}

/** How the work has ended, in one line. */
export function LiveResult({ item }: { item: ToolItem }) {
  const { outcome, background } = item;
  if (background !== undefined || outcome === undefined) return null;
  const line = outcome.output.split("\n").find((it) => it.trim() !== "") ?? "";
  return <p class="tool-result clip" dir="auto">{line.slice(0, LINE_MAX)}</p>;
}
