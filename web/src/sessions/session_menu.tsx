import { useSignal } from "@preact/signals";
import type { App } from "../app.ts";
import { useApp } from "../app.ts";
import type { Params } from "../rpc/api.ts";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { ConfirmDialog, Dialog, FormFoot } from "../ui/dialog.tsx";
import { useSubmit } from "../ui/use_submit.ts";
import { exportItems } from "./export.ts";
import type { SessionItem } from "./list.ts";
import { TitleField } from "./title_field.tsx";

/** What can be done with a session of a list. */
export function SessionMenu({ item }: { item: SessionItem }) {
  const app = useApp();
  const renaming = useSignal(false);
  const deleting = useSignal(false);
  const { id: session_id, title, state, pinned = false, archived = false } = item;
  const items = (): MenuItem[] => [
    ...(state === "running" || state === "paused"
      ? [
        { label: "Rename…", icon: "edit", run: () => renaming.value = true } as const,
        {
          label: pinned ? "Unpin" : "Pin",
          icon: "pin",
          run: () => configure(app, item, { pinned: !pinned }),
        } as const,
        {
          label: archived ? "Take out of the archive" : "Archive",
          icon: "folder",
          run: () => configure(app, item, { archived: !archived }),
        } as const,
      ]
      : []),
    ...(state === "unreadable" ? [] : exportItems(app, session_id, title)),
    { label: "Delete…", icon: "trash", danger: true, run: () => deleting.value = true },
  ];
  return (
    <>
      <Menu label={`Actions for ${title}`} items={items} />
      {renaming.value && <Rename item={item} onClose={() => renaming.value = false} />}
      {deleting.value && (
        <ConfirmDialog
          title="Delete this session?"
          text={`“${title}” and everything svc stores about it will be deleted. ` +
            "Files in its directory stay."}
          action="Delete session"
          onConfirm={async () => {
            await app.client.call("session.delete", { session_id });
            await app.sessions.refresh();
            app.announcer.say("The session is deleted.");
          }}
          onClose={() => deleting.value = false}
        />
      )}
    </>
  );
}

async function configure(
  { client, seen, sessions }: App,
  item: SessionItem,
  changes: Omit<Params<"session.configure">, "session_id">,
): Promise<void> {
  const unread = seen.isUnread(item);
  await client.call("session.configure", { session_id: item.id, ...changes });
  // The person knows of their own change.
  if (!unread) seen.look(item.id);
  await sessions.refresh();
}

function Rename({ item, onClose }: { item: SessionItem; onClose(): void }) {
  const app = useApp();
  const title = useSignal(item.title);
  const { submit, ...foot } = useSubmit(async () => {
    const changed = title.value.trim();
    if (changed !== "" && changed !== item.title) await configure(app, item, { title: changed });
    onClose();
  });
  return (
    <Dialog title="Rename session" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TitleField value={title} focused />
        <FormFoot {...foot} action="Rename" onClose={onClose} />
      </form>
    </Dialog>
  );
}
