import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { useId } from "./use_id.ts";

interface DialogProps {
  title: string;
  /** Closed by Escape, the cross, or a click beside it; first asked about what was written. */
  onClose(): void;
  wide?: boolean;
  /** What is written is kept when it is closed: it closes without a question. */
  kept?: boolean;
  /** What has `data-focus` gets the focus, else the first control. */
  children: ComponentChildren;
}

/**
 * A modal dialog. The element itself keeps the focus inside and hides the rest from readers; the
 * focus goes back to where it was when the dialog goes.
 */
export function Dialog({ title, onClose, wide, kept, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  /** Something was written into its form. */
  const written = useRef(false);
  const [asking, setAsking] = useState(false);
  /** What somebody wrote is not lost by a key or a click beside. */
  const leave = () => {
    // What was refused stands nowhere else either.
    const refused = element.current!.querySelector("form :is(.form-error, .field-error)") !== null;
    if (!kept && (written.current || refused)) setAsking(true);
    else onClose();
  };
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const dialog = element.current!;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-focus]")?.focus();
    return () => {
      dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onInput={({ target }) => written.current ||= (target as Element).closest("form") !== null}
      onSubmit={() => written.current = false}
      // Chromium closes a dialog at the second Escape whatever its cancel event says.
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
      onCancel={(event) => {
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
      onMouseDown={(event) => event.target === element.current && leave()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={heading}>{title}</h2>
          <Button label="Close" icon="close" tone="quiet" onClick={onClose} />
        </header>
        {children}
      </div>
      {asking && (
        <ConfirmDialog
          title="Discard what you wrote?"
          text="It has not been sent or saved."
          action="Discard"
          onConfirm={() => Promise.resolve(onClose())}
          onClose={() => setAsking(false)}
        />
      )}
    </dialog>
  );
}

interface FormFootProps {
  busy: ReadonlySignal<boolean>;
  error: ReadonlySignal<string | undefined>;
  /** The words on the buttons: the one that submits, the one that closes. */
  action: string;
  back?: string;
  disabled?: boolean;
  onClose(): void;
}

/** The end of a form in a dialog: why it was not done, and its buttons. */
export function FormFoot(
  { busy, error, action, back = "Cancel", disabled, onClose }: FormFootProps,
) {
  return (
    <>
      {error.value && <p class="form-error" role="alert">{error}</p>}
      <footer class="dialog-foot">
        <Button onClick={onClose}>{back}</Button>
        <Button type="submit" tone="primary" aria-busy={busy.value} disabled={disabled}>
          {action}
        </Button>
      </footer>
    </>
  );
}

interface ConfirmProps {
  title: string;
  /** What will happen. */
  text: string;
  /** The word on the button that does it. */
  action: string;
  onConfirm(): Promise<unknown>;
  onClose(): void;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, text, action, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <footer class="dialog-foot">
        <Button onClick={onClose} data-focus>Keep it</Button>
        <Button tone="danger" onClick={async () => await onConfirm().finally(onClose)}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
