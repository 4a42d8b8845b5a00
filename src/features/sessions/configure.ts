import type * as z from "zod";
import { acpName } from "../../models/acp_entry.ts";
import type { AddedDirectory } from "../../protocol/added_directory.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { EventData } from "../../protocol/event_data.ts";
import type { Hub } from "../../session/hub.ts";
import type { Session } from "../../session/session.ts";
import { isWorkTitle } from "../../session/ids.ts";
import type { SessionState } from "../../session/session_state.ts";
import type { configureSchema } from "./schemas.ts";
import type { SessionServices } from "./verbs.ts";

export type Settings = Omit<z.output<ReturnType<typeof configureSchema>>, "session_id">;

/** Fixed for untrusted sessions. */
const WORKING = ["model", "approval", "effort", "network", "budget_usd", "title"] as const;
const SETTINGS = [...WORKING, "pinned", "archived"] as const;
const DIRECTORIES = ["add_dirs", "remove_dirs"] as const;

/** What a session may do; in the index before the journal. */
const RIGHTS = ["approval", "budget_usd", "added_dirs", "network"] as const;

/** What an event records. */
type Changes = Omit<EventData["session.configured"], "by">;

/**
 * Changes settings in one event, or does nothing if they are already set.
 * @param by for the record
 * @returns the new settings
 * @throws {SvcError} `ended`; validation without changes or for an unknown model; permission_denied
 * for an untrusted session; conflict when a change is not possible now
 */
export async function configureSession(
  { hub, models, ...homes }: Pick<SessionServices, "hub" | "models" | "home" | "person_home">,
  { session_id, ...asked }: Settings & { session_id: string },
  by: string,
) {
  const names = [...SETTINGS, ...DIRECTORIES];
  if (names.every((name) => asked[name] === undefined)) {
    throw new SvcError("validation", "session.configure: there is nothing to change", {
      hint: `pass at least one of ${names.join(", ")}`,
    });
  }
  const session = await hub.get(session_id);
  const { state } = session;
  if (session.final) throw new SvcError("ended", `session ${session_id} has ended`);
  if (
    state.trust !== "trusted" &&
    [...WORKING, ...DIRECTORIES].some((name) => asked[name] !== undefined)
  ) {
    throw new SvcError(
      "permission_denied",
      `session ${session_id} works for others; it keeps the settings that it began with`,
    );
  }
  if (asked.model !== undefined) models().check(asked.model);
  const changed = SETTINGS.filter((name) =>
    asked[name] !== undefined && asked[name] !== settingsOf(state)[name]
  );
  const changes: Changes = Object.fromEntries(changed.map((name) => [name, asked[name]]));
  const added_dirs = await directoriesOf(state, asked, homes);
  if (added_dirs !== undefined) changes.added_dirs = added_dirs;
  const has_changed = Object.keys(changes).length > 0;
  if (has_changed) {
    requireTitle(session, changes);
    requireNoAgentAtWork(session, changes);
    await record(hub, session, changes, by);
  }
  return { changed: has_changed, ...settingsOf(state), added_dirs: state.added_dirs ?? [] };
}

function settingsOf(state: SessionState) {
  const { model, approval, effort, network, budget_usd, title, pinned, archived } = state;
  return {
    model,
    approval,
    effort: effort ?? ("default" as const),
    network: network ?? ("default" as const),
    budget_usd,
    title,
    pinned: pinned ?? false,
    archived: archived ?? false,
  };
}

/** Returns the directories that a session has from now on; undefined without a change. */
async function directoriesOf(
  { workdir, added_dirs: now = [] }: SessionState,
  { add_dirs = [], remove_dirs = [] }: Settings,
  homes: Pick<SessionServices, "home" | "person_home">,
): Promise<AddedDirectory[] | undefined> {
  if (add_dirs.length + remove_dirs.length === 0) return undefined;
  const { withAdded, withoutAdded } = await import("../../session/added_dirs.ts");
  const places = { workdir, ...homes };
  const left = await withoutAdded(now, remove_dirs, places);
  const all = await withAdded(left, add_dirs, places);
  return JSON.stringify(all) === JSON.stringify(now) ? undefined : all;
}

/** Work sessions are found by their titles after a crash, so others must not have such titles. */
function requireTitle({ id, state }: Session, { title }: Changes): void {
  if (title === undefined) return;
  if (isWorkTitle(state.title)) {
    throw new SvcError("conflict", `session ${id} belongs to ${state.title}, which names it`);
  }
  if (isWorkTitle(title)) {
    throw new SvcError(
      "validation",
      `session.configure: ${JSON.stringify(title)} is the title of a task's or mission's session`,
    );
  }
}

/** An ACP agent answers whole turns, with the rights from their start. */
function requireNoAgentAtWork(session: Session, { model, approval, added_dirs }: Changes): void {
  const { activity, fresh, state } = session;
  const is_agent = acpName(state.model) !== undefined;
  const concerned = model !== undefined && (is_agent || acpName(model) !== undefined) ||
    (approval !== undefined || added_dirs !== undefined) && is_agent;
  if (!concerned || activity === "idle" && !fresh) return;
  throw new SvcError("conflict", `an agent over acp/… answers whole turns, and one is running`, {
    hint: "change it after the turn, or cancel the turn first",
  });
}

async function record(hub: Hub, session: Session, changes: Changes, by: string): Promise<void> {
  const { state } = session;
  const { approval = state.approval, budget_usd = state.budget_usd } = changes;
  const added_dirs = changes.added_dirs === undefined
    ? state.added_dirs
    : changes.added_dirs.length > 0
    ? changes.added_dirs
    : undefined;
  const wanted = changes.network ?? state.network;
  const network = wanted === "default" ? undefined : wanted;
  const rights = { approval, trust: state.trust, budget_usd, added_dirs, network };
  const more = RIGHTS.some((name) => changes[name] !== undefined);
  if (more) session.configuring.add(rights);
  try {
    if (more) await announce(hub, session);
    await session.emit("session.configured", { ...changes, by });
  } finally {
    session.configuring.delete(rights);
  }
}

async function announce(hub: Hub, session: Session): Promise<void> {
  try {
    await hub.saveConfiguring(session);
  } catch (cause) {
    throw new SvcError("internal", `cannot write the sessions index: ${messageOf(cause)}`, {
      hint: "free disk space, or repair the directory; the session keeps its settings",
      cause,
    });
  }
}
