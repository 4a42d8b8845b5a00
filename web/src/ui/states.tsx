/** What a view shows while it has nothing to show. */
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

/** Lines where content will be. Nothing is read out until it is there. */
export function Loading({ lines = 4, label = "Loading" }: { lines?: number; label?: string }) {
  return (
    <div class="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, n) => <div key={n} class="skeleton" />)}
    </div>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  /** What to do about it. */
  children?: ComponentChildren;
}

/** There is nothing to show. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}

interface FailedProps {
  message: string;
  onRetry?(): unknown;
  /** Where else to go. */
  children?: ComponentChildren;
}

/** Something could not be loaded. */
export function Failed({ message, onRetry, children }: FailedProps) {
  return (
    <div class="empty failed" role="alert">
      <span class="empty-icon">
        <Icon name="warning" />
      </span>
      <p class="empty-title">That did not work</p>
      <p class="empty-text">{message}</p>
      <div class="empty-actions">
        {onRetry && <Button onClick={onRetry}>Try again</Button>}
        {children}
      </div>
    </div>
  );
}

interface PendingProps {
  /** What is asked for. */
  of: { error: ReadonlySignal<string | undefined>; refresh(): unknown };
  lines?: number;
  label: string;
  /** Where else to go when it cannot be had. */
  children?: ComponentChildren;
}

/** In place of an answer that is not there: that it is on its way, or why it did not come. */
export function Pending({ of, lines, label, children }: PendingProps) {
  return of.error.value === undefined
    ? <Loading lines={lines} label={label} />
    : <Failed message={of.error.value} onRetry={() => of.refresh()}>{children}</Failed>;
}
