import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visibleLine } from "../../../src/base/visible.ts";
import { useApp } from "../app.ts";
import { showWaiting } from "../badge.ts";
import { Failed } from "./states.tsx";

interface PageProps {
  /** The view's name: its heading and the window's title. */
  title: string;
  /** Beside the heading. */
  actions?: ComponentChildren;
  /** Below the heading. */
  lead?: ComponentChildren;
  /** The view fills the window and scrolls inside. */
  fill?: boolean;
  class?: string;
  /** The answer that the view shows: where it cannot be brought up to date, that is said above. */
  of?: {
    value: ReadonlySignal<unknown>;
    error: ReadonlySignal<string | undefined>;
    refresh(): unknown;
  };
  children: ComponentChildren;
}

/** The frame of every view. A view that was navigated to takes the focus at its heading. */
export function Page({ title, actions, lead, fill, class: extra, of, children }: PageProps) {
  const app = useApp();
  const heading = useRef<HTMLHeadingElement>(null);
  const pending = app.sessions.pending.value;
  useEffect(() => {
    document.title = `${pending > 0 ? `(${pending}) ` : ""}${visibleLine(title)} · svc`;
  }, [title, pending]);
  useEffect(() => showWaiting(pending), [pending]);
  useEffect(() => {
    // How far the view is scrolled is the shell's to say.
    if (app.router.navigated) heading.current?.focus({ preventScroll: true });
    app.router.navigated = false;
  }, []);
  return (
    <div class={["page", fill && "fill", extra].filter(Boolean).join(" ")}>
      <header class="page-head">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1} dir="auto">{title}</h1>
          {lead}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {of?.value.value !== undefined && of.error.value !== undefined && (
        <Failed
          message={of.error.value}
          onRetry={() => of.refresh()}
        />
      )}
      {children}
    </div>
  );
}
