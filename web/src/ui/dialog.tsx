import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

interface DialogProps {
  title: string;
  /** Closed by Escape, the cross, or a click beside it. */
  onClose(): void;
  wide?: boolean;
  /** What has `data-focus` gets the focus, else the first control. */
  children: ComponentChildren;
}

/**
 * A modal dialog. The element itself keeps the focus inside and hides the rest from readers; the
 * focus goes back to where it was when the dialog goes.
 */
export function Dialog({ title, onClose, wide, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
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
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={heading}>{title}</h2>
          <Button label="Close" icon="close" tone="quiet" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
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
