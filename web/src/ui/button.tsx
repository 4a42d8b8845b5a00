import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useApp } from "../app.ts";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps
  extends
    Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, "onClick" | "icon" | "label" | "disabled"> {
  /** Without children it is what the button is called. */
  label?: string;
  icon?: IconName;
  tone?: "primary" | "danger" | "quiet";
  /** Pressing it does nothing; it keeps the focus that it may have. */
  disabled?: boolean;
  /** A promise keeps the button busy; what it rejects with is shown. */
  onClick?(event: MouseEvent): unknown;
  children?: ComponentChildren;
}

export function Button({ label, icon, tone, disabled, onClick, children, ...rest }: ButtonProps) {
  const app = useApp();
  const [busy, setBusy] = useState(false);
  const click = async (event: MouseEvent) => {
    // Nor does it submit its form.
    if (busy || disabled) return event.preventDefault();
    const done = onClick?.(event);
    if (!(done instanceof Promise)) return;
    setBusy(true);
    await app.attempt(() => done);
    setBusy(false);
  };
  return (
    <button
      type="button"
      {...rest}
      class={["button", tone, children === undefined && "bare", rest.class].filter(Boolean)
        .join(" ")}
      aria-label={label ?? rest["aria-label"]}
      aria-disabled={disabled || undefined}
      title={children === undefined ? label : undefined}
      aria-busy={busy || rest["aria-busy"] || undefined}
      onClick={click}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}
