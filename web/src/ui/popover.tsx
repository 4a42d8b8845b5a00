/** A button and the box that it opens: above everything, closed by Escape or a click beside it. */
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

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

const GAP_PX = 4;

export function Popover({ label, text, icon, class: extra, children }: PopoverProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const close = () => box.current?.hidePopover();
  /** On the side of the button where there is more room. */
  const place = () => {
    const { style } = box.current!;
    const { left, right, top, bottom } = button.current!.getBoundingClientRect();
    const below = top + bottom < innerHeight;
    const begins = left + right < innerWidth;
    style.insetBlock = below ? `${bottom + GAP_PX}px auto` : `auto ${innerHeight - top + GAP_PX}px`;
    style.insetInline = begins ? `${left}px auto` : `auto ${innerWidth - right}px`;
    style.maxInlineSize = `calc(${begins ? innerWidth - left : right}px - 0.5rem)`;
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={["button quiet", text === undefined && "bare", extra].filter(Boolean).join(" ")}
        popovertarget={id}
        aria-label={label}
        aria-expanded={open}
        title={text === undefined ? label : undefined}
      >
        {icon && <Icon name={icon} />}
        {text !== undefined && <span class="clip">{text}</span>}
      </button>
      <div
        ref={box}
        id={id}
        class="popover"
        popover="auto"
        role="group"
        aria-label={label}
        onBeforeToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          setOpen(true);
        }}
        onToggle={(event) => {
          if (event.newState !== "open") return setOpen(false);
          box.current!.querySelector<HTMLElement>("input, button, select")?.focus();
        }}
      >
        {open && children(close)}
      </div>
    </>
  );
}
