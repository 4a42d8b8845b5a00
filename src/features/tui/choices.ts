/** The entries of pickers that the daemon knows. Loaded with the first picker. */
import { ago } from "../../base/ago.ts";
import type { Attachment } from "../../protocol/attachments.ts";
import type { CallVerb, Params, Result } from "../verb_types.ts";
import type { SessionItem } from "../../session/session_item.ts";
import { ViewList } from "../../session/view_list.ts";
import { terminalSettings } from "../chat_commands/terminal_settings.ts";
import { rewindText } from "../chat_commands/undo_command.ts";
import type { PickerKind } from "./effect.ts";
import type { Model } from "./model.ts";
import {
  approvalChoices,
  effortChoices,
  exportChoices,
  paletteChoices,
  themeChoices,
} from "./palette.ts";
import type { Choice } from "./picker.ts";
import { newestFirst } from "./session_order.ts";
import { clean, cleanLine } from "./text.ts";

/** Returns the entries of a picker. @throws as the verbs */
export async function choicesFor(
  kind: PickerKind,
  model: Model,
  call: CallVerb,
): Promise<Choice[]> {
  const session_id = model.session.id;
  switch (kind) {
    case "palette": {
      // Without the person's own commands if the session is gone: there are others to go to.
      const own = await call("commands.list", { session_id }).catch(() => undefined);
      return paletteChoices(model, own?.commands ?? []);
    }
    case "approval":
      return approvalChoices(model);
    case "effort":
      return effortChoices();
    case "theme":
      return themeChoices((await terminalSettings(call)).theme);
    case "export":
      return exportChoices();
    case "models":
      return modelChoices(await call("models.list", {}), model.session.model);
    case "sessions":
      return sessionChoices((await call("session.list", {})).sessions, session_id);
    case "rewind":
      return rewindChoices(model, await call("session.changes", { session_id }));
    case "changes":
      return changeChoices(await call("session.changes", { session_id }));
    case "providers":
      return providerChoices(await call("models.providers", {}));
  }
}

type Models = Result<"models.list">["models"];

function modelChoices({ models }: { models: Models }, now: string): Choice[] {
  return models.map((it) => ({
    label: cleanLine(it.id),
    detail: [
      it.id === now ? "now" : it.default ? "default" : "",
      it.context_tokens === undefined ? "" : `${tokens(it.context_tokens)} context`,
      it.price === undefined ? "" : `$${it.price.input} in, $${it.price.output} out per million`,
      it.images ? "images" : "",
      it.efforts !== undefined && it.efforts.length > 0 ? "effort" : "",
    ].filter(Boolean).join(" · "),
    current: it.id === now,
    does: { effects: [{ type: "setting", command: { setting: "model", value: it.id } }] },
  }));
}

/** `200k`, `1M`. */
function tokens(count: number): string {
  return count >= 1_000_000
    ? `${Math.round(count / 100_000) / 10}M`
    : `${Math.round(count / 1000)}k`;
}

export function sessionChoices(sessions: readonly SessionItem[], here?: string): Choice[] {
  return newestFirst(sessions).map((it) => ({
    label: cleanLine(it.title) || it.id,
    detail: cleanLine(
      [
        it.id === here ? "this one" : doing(it),
        ago(it.last_event_at, Date.now()),
        it.workdir,
        it.model,
      ].filter(Boolean).join(" · "),
    ),
    session_id: it.id,
    does: { effects: it.id === here ? [] : [{ type: "open_session", session_id: it.id }] },
  }));
}

function doing({ pending_approvals_count, activity, pinned, state }: SessionItem): string {
  if (pending_approvals_count > 0) return "waits for you";
  if (activity === "working") return "works";
  if (state !== "running") return state;
  return pinned ? "pinned" : "";
}

type Found = Result<"session.search">["results"];

/** Sessions in which something was said. */
export function saidChoices(results: Found, here: string): Choice[] {
  return results.map(({ session_id, title, at, snippet }) => ({
    label: cleanLine(title) || session_id,
    detail: cleanLine(`“${snippet.map(({ text }) => text).join("")}” · ${ago(at, Date.now())}`),
    session_id,
    does: { effects: session_id === here ? [] : [{ type: "open_session", session_id }] },
  }));
}

/** Messages at the end of a session that its preview is made of. */
const PREVIEWED = 2;
const PREVIEW_LINES = 12;
const PREVIEW_TEXT = 600;

/** The end of a conversation, as lines. @throws as the verbs */
export async function previewOf(session_id: string, call: CallVerb): Promise<string[]> {
  const from = { session_id, from_last: PREVIEWED, limit: 2_000, deltas: "session" } as const;
  const { events } = await call("session.history", from);
  const list = new ViewList();
  for (const event of events) list.apply(event);
  return list.items.flatMap((item) => {
    if (item.kind !== "user" && item.kind !== "text") return [];
    const text = clean(item.text.slice(-PREVIEW_TEXT).trim());
    return text === "" ? [] : [`${item.kind === "user" ? "› " : "  "}${text.replace(/\n+/g, " ")}`];
  }).slice(-PREVIEW_LINES);
}

type Changes = Result<"session.changes">;

function rewindChoices({ entries }: Model, { turns }: Changes): Choice[] {
  const by_message = new Map(turns.filter((it) => !it.undone).map((it) => [it.message_id, it]));
  return entries.flatMap((entry): Choice[] => {
    const { message, waits } = entry;
    if (message === undefined || waits) return [];
    const { message_id, text, attachments } = message;
    const turn = by_message.get(message_id);
    return [{
      label: cleanLine(text.slice(0, 200)) || "(no text)",
      detail: turn === undefined || turn.files_changed === 0
        ? "no changes of files"
        : `+${turn.added} −${turn.deleted}, ${counted(turn.files_changed, "file")}`,
      does: { effects: [{ type: "plan_rewind", message_id, text, attachments }] },
    }];
  }).reverse();
}

type What = NonNullable<Params<"session.rewind">["what"]>;

const WHAT: Record<What, string> = {
  both: "Files and conversation",
  files: "Files only",
  conversation: "Conversation only",
};

/** What going back to a message can mean, with what it would change. @throws as the verbs */
export async function undoChoices(
  session_id: string,
  message: { message_id: string; text: string; attachments?: readonly Attachment[] },
  call: CallVerb,
): Promise<Choice[]> {
  const { message_id } = message;
  const plan = (force: boolean | string[]) =>
    call("session.rewind", { session_id, message_id, what: "files", force, dry_run: true });
  const files = await plan(false).catch(() => undefined);
  const conversation = choice("conversation", false, "files stay as they are");
  if (files === undefined || files.files_changed + files.kept_count === 0) return [conversation];
  const said = (done: typeof files) => cleanLine(rewindText(done).split("\n")[0]);
  if (!files.refused) {
    return [choice("both", false, said(files)), conversation, choice("files", false, said(files))];
  }
  const changed = `somebody changed ${counted(files.kept_count, "file")} since`;
  return [
    choice("both", [], `${changed}: keep that`),
    conversation,
    choice("files", [], `${changed}: keep that`),
    choice("both", true, `${changed}: overwrite it`),
  ];

  function choice(what: What, force: boolean | string[], detail: string): Choice {
    return {
      label: WHAT[what],
      detail,
      does: { effects: [{ ...message, type: "rewind", what, force }] },
    };
  }
}

function changeChoices({ files, problem }: Changes): Choice[] {
  if (problem !== undefined && files.length === 0) throw new Error(problem);
  return files.map(({ path, change, added, deleted }) => ({
    label: cleanLine(path),
    detail: added === undefined ? change : `${change} · +${added} −${deleted}`,
    does: { effects: [{ type: "show_change", path }] },
  }));
}

type Providers = Result<"models.providers">;

/** Ways to a model: what runs on this machine, then providers. */
export function providerChoices({ providers, servers, agents }: Providers): Choice[] {
  const uses = (id: string, detail: string): Choice => ({
    label: cleanLine(id),
    detail,
    does: { effects: [{ type: "setting", command: { setting: "model", value: id } }] },
  });
  return [
    ...servers.filter(({ running }) => running)
      .flatMap(({ models }) => models.map((id) => uses(id, "runs on this machine"))),
    ...agents.filter(({ needs }) => needs === undefined)
      .map(({ model }) => uses(model, "an agent on this machine")),
    ...providers.filter(({ login }) => login).map(({ provider }): Choice => ({
      label: `${provider}: log in with the browser`,
      does: { effects: [{ type: "login", provider }] },
    })),
    ...providers.map(({ provider, address, key_from }): Choice => ({
      label: `${provider}: paste an API key`,
      detail: [key_from === undefined ? "" : "has a key", cleanLine(address)]
        .filter(Boolean).join(" · "),
      does: {
        ask: {
          title: `API key for ${provider} (${cleanLine(address)})`,
          effect: "save_key",
          provider,
          secret: true,
        },
      },
    })),
  ];
}

function counted(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}
