/** What is done with a session as a whole, and its figures where the header has no room for them. */
import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import type { IconName } from "../ui/icon.tsx";
import { Path } from "../ui/path.tsx";
import { Popover } from "../ui/popover.tsx";
import { exportItems } from "../sessions/export.ts";
import { useLoaded } from "../ui/use_loaded.ts";
import type { Seed } from "../missions/spec_form.ts";
import { Figures } from "./facts.tsx";
import type { SessionStore } from "./store.ts";

const loadConfigure = async () => (await import("../on_demand.ts")).Configure;

interface SessionMenuProps {
  store: SessionStore;
  /** What the header opens where it has room for more buttons. */
  panels: readonly { icon: IconName; label: string; open(): unknown }[];
}

export function SessionMenu({ store, panels }: SessionMenuProps) {
  const app = useApp();
  const { client, router, sessions, view } = app;
  const asked = useSignal<"settings" | "kill" | undefined>(undefined);
  const { state, title, workdir } = store.state;
  const session_id = store.id;
  const close = () => asked.value = undefined;
  return (
    <>
      <Popover label="More" icon="more">
        {(leave) => {
          const item = (work: () => unknown) => () => {
            leave();
            return work();
          };
          return (
            <div class="menu-items">
              <p class="menu-facts">
                <Path path={workdir} />
                <Figures store={store} />
              </p>
              {panels.map(({ icon, label, open }) => (
                <Button key={label} tone="quiet" class="narrow" icon={icon} onClick={item(open)}>
                  {label}
                </Button>
              ))}
              <Button tone="quiet" icon="chevron" onClick={item(() => view.fold?.())}>
                Open or fold all cards
              </Button>
              <Button tone="quiet" icon="settings" onClick={item(() => asked.value = "settings")}>
                Session settings
              </Button>
              <Button
                tone="quiet"
                icon="missions"
                onClick={item(() =>
                  router.go("/missions", { seed: JSON.stringify(seedOf(store)) })
                )}
              >
                Make a mission of this
              </Button>
              {exportItems(app, session_id, title).map(({ label, icon, run }) => (
                <Button key={label} tone="quiet" icon={icon} onClick={item(run)}>{label}</Button>
              ))}
              {state === "running" && (
                <Button
                  tone="quiet"
                  icon="pause"
                  onClick={item(() => client.call("session.pause", { session_id }))}
                >
                  Pause
                </Button>
              )}
              {state === "paused" && (
                <Button
                  tone="quiet"
                  icon="play"
                  onClick={item(() => client.call("session.resume", { session_id }))}
                >
                  Resume
                </Button>
              )}
              {state !== "ended" && (
                <Button
                  tone="danger"
                  icon="trash"
                  onClick={item(() => asked.value = "kill")}
                >
                  Kill
                </Button>
              )}
            </div>
          );
        }}
      </Popover>
      {asked.value === "settings" && <Settings store={store} onClose={close} />}
      {asked.value === "kill" && (
        <ConfirmDialog
          title="Kill this session?"
          text={`“${title}” will end permanently. Running work is stopped, and you cannot send more messages. Its history is kept.`}
          action="Kill session"
          onConfirm={async () => {
            await client.call("session.kill", { session_id });
            await sessions.refresh();
          }}
          onClose={close}
        />
      )}
    </>
  );
}

/** Characters of a text that a mission is made from; the browser's history keeps it. */
const SEED_MAX = 8_000;
const SEED_STEPS_MAX = 50;

/** What a mission is made of: the open steps of the plan, or else what was asked last. */
function seedOf({ id, state, conversation }: SessionStore): Seed {
  const { plan, title, workdir } = state;
  const asked = conversation.items.findLast((item) => item.kind === "user");
  return {
    session_id: id,
    workdir,
    name: title,
    steps: plan.filter(({ state }) => state !== "done").slice(0, SEED_STEPS_MAX)
      .map(({ step }) => step.slice(0, SEED_MAX)),
    goal: asked?.text.slice(0, SEED_MAX) ?? "",
  };
}

function Settings({ store, onClose }: { store: SessionStore; onClose(): void }) {
  const { Part, failure } = useLoaded(loadConfigure);
  if (failure !== undefined) return <p role="alert">The settings cannot be loaded.</p>;
  return Part === undefined ? null : <Part store={store} onClose={onClose} />;
}
