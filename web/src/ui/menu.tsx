import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useApp } from "../app.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { useId } from "./use_id.ts";
import { usePopover } from "./use_popover.ts";

export interface MenuItem {
  label: string;
  icon: IconName;
  danger?: boolean;
  run(): unknown;
}

interface MenuProps {
  /** What the button is called. */
  label: string;
  /** Asked when it opens. */
  items(): readonly MenuItem[];
}

/** A button with what can be done with something. */
export function Menu({ label, items }: MenuProps) {
  const app = useApp();
  const id = useId();
  const open = useSignal(false);
  const panel = useRef<HTMLDivElement>(null);
  usePopover(panel, {
    align: "end",
    onOpen: () => open.value = true,
    onClose: () => open.value = false,
  });
  const buttons = () => [...panel.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
  useLayoutEffect(() => {
    if (open.value) buttons()[0]?.focus();
  }, [open.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (event.key === "Tab") panel.current!.hidePopover();
    if (to === undefined) return;
    event.preventDefault();
    all[to].focus();
  };
  const run = (item: MenuItem) => {
    panel.current!.hidePopover();
    const done = item.run();
    if (done instanceof Promise) app.attempt(() => done);
  };
  return (
    <>
      <Button
        label={label}
        icon="more"
        tone="quiet"
        class="menu-button"
        aria-haspopup="menu"
        aria-expanded={open.value}
        popovertarget={id}
      />
      <div
        ref={panel}
        id={id}
        popover="auto"
        class="popover menu"
        role="menu"
        aria-label={label}
        onKeyDown={onKeyDown}
      >
        {open.value && items().map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            class={item.danger ? "danger" : undefined}
            onClick={() => run(item)}
          >
            <Icon name={item.icon} />
            {item.label}
          </button>
        ))}
      </div>
    </>
  );
}
