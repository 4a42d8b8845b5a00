/** What is offered when a desktop shell has brought its first daemon (product.md, Desktop sidecar discovery). */
import { useSignal } from "@preact/signals";
import { useApp } from "./app.ts";
import type { Result } from "./rpc/api.ts";
import { SERVICE_DEADLINE_MS } from "./rpc/client.ts";
import { Button } from "./ui/button.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { useSubmit } from "./ui/use_submit.ts";

export default function Welcome({ onClose }: { onClose(): void }) {
  const { client, announcer } = useApp();
  const installed = useSignal<Result<"service.install"> | undefined>(undefined);
  const { error, submit: install } = useSubmit(async () => {
    installed.value = await client.call("service.install", {}, {
      timeout_ms: SERVICE_DEADLINE_MS,
    });
    announcer.say("The service is installed.");
  });

  if (installed.value !== undefined) {
    const { unit_path, hint } = installed.value;
    return (
      <Dialog title="The service is installed" onClose={onClose}>
        <p>
          The daemon now starts when you log in and goes on without this window. Its unit is{" "}
          <code>{unit_path}</code>; <code>svc serve --uninstall</code> removes it.
        </p>
        {hint && <p>{hint}</p>}
        <footer class="dialog-foot">
          <Button tone="primary" data-focus onClick={onClose}>Done</Button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title="Welcome to svc" onClose={onClose}>
      <p>
        No daemon was running, so this window has brought its own. When you close the window your
        agents stop at a safe point; they are there again the next time.
      </p>
      <p>
        As a background service the daemon starts when you log in, and your agents work on without a
        window. You can do it later too, with <code>svc serve --install</code>.
      </p>
      {error.value && <p class="form-error" role="alert">{error.value}</p>}
      <footer class="dialog-foot">
        <Button onClick={onClose}>Not now</Button>
        <Button tone="primary" data-focus onClick={install}>Install the service</Button>
      </footer>
    </Dialog>
  );
}
