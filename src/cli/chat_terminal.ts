/** `svc chat` on a terminal: the terminal UI, connected to the daemon for as long as it is open. */
import { connectOrStart, connectPatiently, RETRIES_AFTER_CRASH } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import type { Args } from "../features/verb_types.ts";
import type { HomePaths } from "../os/paths.ts";
import { SvcError, toSvcError } from "../protocol/errors.ts";
import { within } from "../base/within.ts";
import { viKeys } from "../features/chat_commands/vi_command.ts";
import { DEFAULT_SIZE } from "../features/tui/arrange.ts";
import { type Link, TuiClient } from "../features/tui/client.ts";
import type { SentRequest } from "../features/tui/host.ts";
import { answerRequest } from "../features/tui/requests.ts";
import { Tui } from "../features/tui/tui.ts";
import { ChatDraft } from "./chat_draft.ts";
import { painter as styles, wantsColour } from "./chat_render.ts";
import { OwnMessageFiles } from "./message_files.ts";
import { MessageEditor } from "./message_editor.ts";
import { Terminal } from "./terminal.ts";
import { Arming, MemoryAtRest } from "./terminal_timers.ts";
import { Painter } from "./terminal_painter.ts";
import { named, ownName } from "./own_name.ts";

export interface TerminalChatOptions {
  session_id: string;
  paths: HomePaths;
}

/** How long pending answers may take when the person leaves. */
const LAST_MS = 1_000;

/** Talks in a terminal until the person leaves. @returns the exit code. */
export async function converseInTerminal(
  first: RpcClient,
  { session_id, paths }: TerminalChatOptions,
): Promise<number> {
  const left = Promise.withResolvers<number>();
  const tui = new Tui(session_id, DEFAULT_SIZE, () => crypto.randomUUID(), named);
  const answering = new Set<Promise<void>>();
  const arming = new Arming(() => {
    tui.arm();
    painter.request();
  });
  const memory = new MemoryAtRest();

  const client = new TuiClient(tui, {
    onChange: () => painter.request(),
    onOwn(effect) {
      if (effect === "quit") left.resolve(0);
      else if (effect === "redraw") painter.forget();
      else if (effect === "editor") void edit();
      else terminal.suspend();
    },
    files: new OwnMessageFiles(tui.model),
    async onExport(command, call) {
      const { runExport } = await import("./session_file.ts");
      return await runExport(command, session_id, call);
    },
  });
  const draft = new ChatDraft(session_id, {
    read: () => tui.written(),
    show(text) {
      tui.showDraft(text);
      painter.request();
    },
  });
  using editor = new MessageEditor();
  const edit = async () => {
    painter.hold(true);
    const edited = await terminal.lend(() => editor.edit(tui.textToEdit()))
      .finally(() => painter.hold(false));
    if ("text" in edited) tui.takeEdited(edited.text);
    else tui.notice(edited.problem);
    draft.changed();
    painter.request();
  };
  const terminal: Terminal = new Terminal({
    onKey(key) {
      void client.perform(tui.press(key));
      draft.changed();
    },
    onRedraw: () => painter.forget(),
    onLeave: left.resolve,
  });
  const painter: Painter = new Painter({
    draw() {
      tui.size = terminal.size();
      return tui.screen();
    },
    write: (text) => terminal.write(text),
    paint: styles(wantsColour(Deno.stdout)),
    onPainted() {
      arming.seen(tui.model.approvals[0]);
      memory.used();
    },
  });
  // Without colours Markdown stays as it was written: its marks say what it means.
  if (wantsColour(Deno.stdout)) {
    void import("../features/tui/markdown_rows.ts").then(({ layMarkdown }) => {
      tui.useMarkdown(layMarkdown);
      painter.request();
    });
  }

  let rpc = first;
  void viKeys((method, params) => first.call(method, ...[params] as Args<typeof method>))
    .then((on) => {
      tui.useVi(on);
      painter.request();
    }).catch(() => {});
  const talk = async (): Promise<never> => {
    for (;;) {
      await openOver(rpc, client, draft, answering);
      await rpc.closed;
      client.close();
      rpc = await reconnect(paths, tui);
    }
  };
  let code: number;
  try {
    code = await Promise.race([left.promise, talk()]);
  } finally {
    arming.close();
    memory.close();
    painter.close();
    await within(Promise.all(answering), LAST_MS);
    await draft.close();
    await terminal.close();
    rpc.close();
  }
  if (code === 0 && tui.model.session.state !== "ended") {
    console.log(`The session continues. To return: ${ownName()} chat --session ${session_id}`);
  }
  return code;
}

/** Catches up over a connection and answers the tui verbs there, until it breaks. */
async function openOver(
  rpc: RpcClient,
  client: TuiClient,
  draft: ChatDraft,
  answering: Set<Promise<void>>,
): Promise<void> {
  const link: Link = {
    call: (method, params) => rpc.call(method, ...[params] as Args<typeof method>),
    onEvent: () => {},
    onSubscriptionEnded: () => {},
    get lost() {
      return rpc.lost;
    },
  };
  rpc.onEvent = (event) => {
    if (event.type === "draft.changed") return draft.take(event.data);
    if (event.type !== "tui.request") return link.onEvent(event);
    const answered = answerTo(rpc, client, event.data).finally(() => {
      answering.delete(answered);
      draft.changed();
    });
    answering.add(answered);
  };
  rpc.onSubscriptionEnded = (error) => link.onSubscriptionEnded(error);
  try {
    await client.open(link);
    await draft.open(rpc);
    await rpc.call("tui.attach", { session_id: client.tui.model.session.id });
  } catch (error) {
    if (!rpc.lost) throw error;
  }
}

async function answerTo(
  rpc: RpcClient,
  client: TuiClient,
  { request_id, ...request }: SentRequest,
): Promise<void> {
  try {
    const result = await answerRequest(client, request);
    await rpc.call("tui.answer", { request_id, result });
  } catch (failed) {
    const { code, message, hint } = toSvcError(failed);
    const error = { code, message, hint };
    // The caller has given up if this fails too.
    await rpc.ask("tui.answer", { request_id, error }).catch(() => {});
  }
}

/**
 * Waits for the daemon. Starts one after a crash or for a waiting message, but not after a
 * deliberate stop.
 */
async function reconnect(paths: HomePaths, { model }: Tui): Promise<RpcClient> {
  for (;;) {
    try {
      return await connectPatiently(paths, () => {}, RETRIES_AFTER_CRASH);
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== "not_found") throw error;
    }
    if (!model.session.paused_by_stop || model.outbox.length > 0) {
      return await connectOrStart(paths, () => {});
    }
  }
}
