/** A button and the box that it opens: above everything, closed by Escape or a click beside it. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";
import { useId } from "./use_id.ts";
import { usePopover } from "./use_popover.ts";

interface PopoverProps {
  /** What the button is called. */
  label: string;
  /** On the button; without it, the icon alone. */
  text?: string;
  icon?: IconName;
  class?: string;
  /** What is in the box while it is open. */
  children(close: () => void): ComponentChildren;
}

export function Popover({ label, text, icon, class: extra, children }: PopoverProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const open = useSignal(false);
  usePopover(box, {
    align: "start",
    onOpen: () => open.value = true,
    onClose: () => open.value = false,
  });
  useLayoutEffect(() => {
    if (open.value) box.current!.querySelector<HTMLElement>("input, button, select")?.focus();
  }, [open.value]);
  return (
    <>
      <button
        type="button"
        class={["button quiet", text === undefined && "bare", extra].filter(Boolean).join(" ")}
        popovertarget={id}
        aria-label={label}
        aria-expanded={open.value}
        title={text === undefined ? label : undefined}
      >
        {icon && <Icon name={icon} />}
        {text !== undefined && <span class="clip">{text}</span>}
      </button>
      <div ref={box} id={id} class="popover" popover="auto" role="group" aria-label={label}>
        {open.value && children(() => box.current?.hidePopover())}
      </div>
    </>
  );
}
