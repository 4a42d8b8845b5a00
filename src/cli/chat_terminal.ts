/** `svc chat` on a terminal: the terminal UI, connected to the daemon for as long as it is open. */
import { connectOrStart, connectPatiently, RETRIES_AFTER_CRASH } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import type { Args } from "../features/verb_types.ts";
import type { HomePaths } from "../os/paths.ts";
import { SvcError, toSvcError } from "../protocol/errors.ts";
import { sessionDirs } from "../os/session_dirs.ts";
import { within } from "../base/within.ts";
import { type Link, TuiClient } from "../features/tui/client.ts";
import type { SentRequest } from "../features/tui/host.ts";
import type { Effect } from "../features/tui/effect.ts";
import type { Key } from "../features/tui/keys.ts";
import type { Menu, Model, Search } from "../features/tui/model.ts";
import type { Picker } from "../features/tui/picker.ts";
import { openPicker } from "../features/tui/picker_keys.ts";
import type { Point } from "../features/tui/point.ts";
import { answerRequest } from "../features/tui/requests.ts";
import { loadColumns } from "../features/tui/text.ts";
import { Tui } from "../features/tui/tui.ts";
import { terminalSettings } from "../features/chat_commands/terminal_settings.ts";
import { BranchWatch } from "./branch.ts";
import { ChatDraft } from "./chat_draft.ts";
import { ChatScreen, type Left } from "./chat_screen.ts";
import { env } from "./environment.ts";
import { MessageEditor } from "./message_editor.ts";
import { OwnMessageFiles } from "./message_files.ts";
import { Arming } from "./terminal_timers.ts";
import { named, ownName } from "./own_name.ts";

export interface TerminalChatOptions {
  session_id: string;
  paths: HomePaths;
  /** Whether the list of sessions is open at first. */
  chooses?: boolean;
}

/** Effects after which something else takes the keys. */
const LEADS_ON: ReadonlySet<Effect["type"]> = new Set(
  ["open_session", "new_session", "rewind", "take_found"] as const,
);

/** How long pending answers may take when the person leaves. */
const LAST_MS = 1_000;

/** Talks in a terminal until the person leaves. @returns the exit code. */
export async function converseInTerminal(
  first: RpcClient,
  { session_id, paths, chooses = false }: TerminalChatOptions,
): Promise<number> {
  const screen = new ChatScreen();
  let rpc = first;
  let shown = session_id;
  let chat: TerminalChat;
  let end: Left;
  try {
    for (;;) {
      chat = new TerminalChat(screen, rpc, { session_id: shown, paths });
      if (chooses) chat.choose();
      chooses = false;
      end = await chat.talk();
      await chat.close();
      if (end.session_id === undefined) break;
      shown = end.session_id;
      rpc = await connectOrStart(paths, () => {});
    }
  } finally {
    await screen.close();
  }
  if (end.code === 0 && chat.tui.model.session.state !== "ended") {
    console.log(`The session continues. To return: ${ownName()} chat --session ${shown}`);
  }
  return end.code;
}

/** A session in the terminal. */
class TerminalChat {
  readonly tui: Tui;
  readonly #screen: ChatScreen;
  readonly #client: TuiClient;
  readonly #arming: Arming;
  readonly #paths: HomePaths;
  readonly #answering = new Set<Promise<void>>();
  readonly #branch: BranchWatch;
  readonly #draft: ChatDraft;
  readonly #editor = new MessageEditor();
  /** Whether the editor is open. */
  #edits = false;
  /** Another session is to be shown. */
  readonly #other = Promise.withResolvers<Left>();
  #opens = false;
  #whole: Promise<void> | undefined;
  /** The list that is loading, for which keys are kept. */
  #awaited: Picker | Search | Menu | undefined;
  #rpc: RpcClient;
  /** What is asked for once the daemon can be. */
  readonly #first: Effect[] = [];
  #was: { turn: boolean; asks: boolean } = { turn: false, asks: false };

  constructor(screen: ChatScreen, rpc: RpcClient, { session_id, paths }: TerminalChatOptions) {
    this.#screen = screen;
    this.#rpc = rpc;
    this.#paths = paths;
    const { left, painter, terminal } = screen;
    const tui = this.tui = new Tui(
      session_id,
      terminal.size(),
      () => crypto.randomUUID(),
      named,
    );
    tui.model.home = env("HOME") ?? "";
    this.#branch = new BranchWatch((found) => {
      tui.model.session.branch = found;
      painter.request();
    });
    this.#arming = new Arming(() => {
      tui.arm();
      painter.request();
    });
    this.#draft = new ChatDraft(session_id, {
      read: () => tui.written(),
      show(text) {
        tui.showDraft(text);
        painter.request();
      },
      keep: (text) => tui.keepDraft(text),
    });
    const edit = async () => {
      // A second Ctrl-G may have come with the first.
      if (this.#edits) return;
      this.#edits = true;
      painter.hold(true);
      const edited = await terminal.lend(() => this.#editor.edit(tui.textToEdit()))
        .finally(() => {
          this.#edits = false;
          painter.hold(false);
        });
      if ("text" in edited) tui.takeEdited(edited.text);
      else tui.notice(edited.problem);
      this.#draft.changed();
      painter.request();
    };
    this.#client = new TuiClient(tui, {
      onChange: () => this.#changed(),
      onOpened: async () => {
        // A conversation is not shown in two ways.
        if (tui.model.entries.some(({ kind }) => kind === "assistant")) await this.whole();
        painter.hurry();
      },
      onOwn(effect) {
        if (effect === "quit") left.resolve({ code: 0 });
        else if (effect === "redraw") painter.forget();
        else if (effect === "editor") void edit();
        else terminal.suspend();
      },
      onTheme: (name) => screen.theme = name,
      files: new OwnMessageFiles(tui.model),
      onOpen: (session_id) => {
        this.#opens = true;
        this.#other.resolve({ code: 0, session_id });
      },
      async onBrowse(url) {
        const { openInBrowser } = await import("../os/open_url.ts");
        return await openInBrowser(url, sessionDirs(paths.index));
      },
      async onExport(command, call) {
        const { runExport } = await import("./session_file.ts");
        return await runExport(command, session_id, call);
      },
    });
    void this.#loadSettings();
    screen.chat = this;
  }

  /** Resolves when everything is shown as it should be; an empty session needs little of that. */
  async whole(): Promise<void> {
    await (this.#whole ??= this.#loadWhole());
  }

  async #loadWhole(): Promise<void> {
    await loadColumns();
    const { colouredLine, layMarkdown } = await import("../features/tui/markdown_rows.ts");
    this.tui.useMarkdown(layMarkdown, colouredLine);
    this.#screen.painter.request();
  }

  async #loadSettings(): Promise<void> {
    try {
      const settings = await terminalSettings((method, params) =>
        this.#rpc.call(method, ...[params] as Args<typeof method>)
      );
      this.#screen.theme = settings.theme;
      this.#screen.terminal.mouse = settings.mouse;
      this.tui.reduced_motion = settings.reduced_motion;
      this.tui.useVi(settings.vi_keys);
      this.#screen.painter.request();
    } catch {
      // The connection broke; the next one need not ask again.
    }
  }

  /** Follows the session, and after a restart of the daemon the new one, until the person leaves. */
  async talk(): Promise<Left> {
    return await Promise.race([this.#screen.left.promise, this.#other.promise, this.#follow()]);
  }

  /** Shows the list of sessions. */
  choose(): void {
    this.#first.push(...openPicker(this.tui.model, "sessions"));
  }

  press(key: Key): void {
    const list = key.type === "named" ? loadingList(this.tui.model, key.name) : undefined;
    // What was typed fast is meant for the list that is to come, and what follows for after that.
    if (list !== undefined) {
      this.#awaited = list;
      this.#screen.hold(key);
    } else void this.#perform(this.tui.press(key));
  }

  /** Gives the keys that were kept for a list to it, once it is there or was closed. */
  #changed(): void {
    this.#screen.painter.request();
    const { model } = this.tui;
    if (this.#awaited === undefined || loadingList(model, "enter") === this.#awaited) return;
    this.#awaited = undefined;
    this.#screen.release();
  }

  point(at: Point): void {
    void this.#perform(this.tui.point(at));
  }

  async #perform(effects: readonly Effect[]): Promise<void> {
    // What is typed from now on is meant for the other session, or goes behind the message.
    const leads_on = effects.some(({ type }) => LEADS_ON.has(type));
    if (leads_on) this.#screen.hold();
    this.#draft.changed();
    await this.#client.perform(effects);
    if (leads_on && !this.#opens) this.#screen.release();
  }

  /** A frame is on the screen. */
  painted(): void {
    const { tui } = this;
    void this.whole();
    this.#arming.seen(tui.shownQuestion);
    this.#branch.seen(tui.model.session.workdir, tui.model.session.turn);
    const now = { turn: tui.model.session.turn, asks: tui.model.approvals.length > 0 };
    const title = tui.model.session.title;
    if (now.asks && !this.#was.asks) this.#screen.tell(`${title}: a question waits for you`);
    else if (this.#was.turn && !now.turn) this.#screen.tell(`${title}: the turn has ended`);
    this.#was = now;
  }

  async close(): Promise<void> {
    this.#arming.close();
    await within(Promise.all(this.#answering), LAST_MS);
    await this.#draft.close();
    await this.#editor.close();
    this.#rpc.close();
  }

  async #follow(): Promise<never> {
    for (;;) {
      await openOver(this.#rpc, this.#client, this.#draft, {
        answering: this.#answering,
        whole: () => this.whole(),
      });
      void this.#client.perform(this.#first.splice(0));
      await this.#rpc.closed;
      this.#client.close();
      this.#rpc = await reconnect(this.#paths, this.tui);
    }
  }
}

/** The list or menu of which the key cannot choose yet. */
function loadingList(
  { picker, search, menu, focus, help }: Model,
  key: string,
): Picker | Search | Menu | undefined {
  if (key !== "enter" && key !== "tab") return undefined;
  if (search !== undefined) return search.waits ? search : undefined;
  if (picker !== undefined) return picker.loading && key === "enter" ? picker : undefined;
  return menu?.waits && focus === "input" && !help ? menu : undefined;
}

/** Catches up over a connection and answers the tui verbs there, until it breaks. */
async function openOver(
  rpc: RpcClient,
  client: TuiClient,
  draft: ChatDraft,
  { answering, whole }: { answering: Set<Promise<void>>; whole: () => Promise<void> },
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
    const answered = whole().then(() => answerTo(rpc, client, event.data)).finally(() => {
      answering.delete(answered);
      draft.changed();
    });
    answering.add(answered);
  };
  rpc.onSubscriptionEnded = (error) => link.onSubscriptionEnded(error);
  try {
    // The draft is there before anybody is told that the chat is ready.
    await Promise.all([draft.open(rpc), client.open(link)]);
    client.tui.tellOfDraft();
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
