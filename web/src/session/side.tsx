import type { Signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { explain } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import type { IconName } from "../ui/icon.tsx";
import { Failed, Loading } from "../ui/states.tsx";
import { useLoaded } from "../ui/use_loaded.ts";
import type { SessionStore } from "./store.ts";

/** What stands beside the conversation. */
export type SideName = "changes" | "files";

interface PanelProps {
  store: SessionStore;
  whole: Signal<boolean>;
  onClose(): void;
}

const PANELS: Record<SideName, () => Promise<ComponentType<PanelProps>>> = {
  changes: async () => (await import("./panels.ts")).changes,
  files: async () => (await import("./panels.ts")).files,
};

/** Opens and closes the panels. */
export function SideButtons({ side }: { side: Signal<SideName | undefined> }) {
  const toggle = (name: SideName) => side.value = side.value === name ? undefined : name;
  const button = (name: SideName, icon: IconName, label: string) => (
    <Button
      icon={icon}
      data-side={name}
      aria-expanded={side.value === name}
      onClick={() => toggle(name)}
    >
      {label}
    </Button>
  );
  return (
    <>
      {button("changes", "changes", "Changes")}
      {button("files", "folder", "Files")}
    </>
  );
}

interface SidePanelProps {
  side: Signal<SideName | undefined>;
  store: SessionStore;
  whole: Signal<boolean>;
}

/** The panel that is open; loaded when it is first wanted. */
export function SidePanel({ side, store, whole }: SidePanelProps) {
  const name = side.value!;
  const { Part, failure } = useLoaded(PANELS[name]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
  }, [Part]);
  const waiting = store.state.pending_approvals.length;
  const close = () => {
    side.value = undefined;
    // Without room, the button is in the menu.
    [`[data-side="${name}"]`, ".page-actions [popovertarget]"]
      .map((it) => document.querySelector<HTMLElement>(it)!)
      .find((it) => it.checkVisibility())?.focus();
  };
  return (
    <div
      ref={box}
      class="side-box"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        close();
      }}
    >
      {waiting > 0 && (
        <p class="side-asks">
          {waiting === 1 ? "A question waits for you." : `${waiting} questions wait for you.`}
          <Button onClick={close}>Show</Button>
        </p>
      )}
      {failure !== undefined
        ? <Failed message={explain(failure)} onRetry={close} />
        : Part
        ? <Part store={store} whole={whole} onClose={close} />
        : <Loading lines={8} label="Loading" />}
    </div>
  );
}
