import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { SERVICE_DEADLINE_MS } from "../rpc/client.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { Path } from "../ui/path.tsx";
import { Pending } from "../ui/states.tsx";

type Service = Result<"service.status">;

const KINDS: Record<Service["kind"], string> = {
  systemd: "a systemd unit",
  launchd: "a launchd agent",
  windows: "a scheduled task",
  none: "none",
};
/** Asking runs a program. */
const EVERY_MS = 30_000;

/** Whether the daemon starts by itself, and what changes that. */
export function ServicePanel() {
  const { client, announcer } = useApp();
  const removing = useSignal(false);
  const live = useLive<Service>({
    ask: () => client.ask("service.status", {}),
    every_ms: EVERY_MS,
  });
  const status = live.value.value;
  // Either may have this daemon stop: what is so now came with the answer.
  const install = async () => {
    live.take(await client.call("service.install", {}, { timeout_ms: SERVICE_DEADLINE_MS }));
    announcer.say("Background service installed");
  };
  const uninstall = async () => {
    live.take(await client.call("service.uninstall", {}, { timeout_ms: SERVICE_DEADLINE_MS }));
    announcer.say("Background service uninstalled");
  };
  return (
    <section class="panel" aria-labelledby="service-heading">
      <header class="panel-head">
        <h2 id="service-heading">Background service</h2>
        {status !== undefined && status.kind !== "none" && (status.installed
          ? <Button tone="danger" onClick={() => removing.value = true}>Uninstall</Button>
          : <Button onClick={install}>Install</Button>)}
      </header>
      {status === undefined
        ? <Pending of={live} lines={1} label="Loading the service status" />
        : <Facts status={status} />}
      {removing.value && (
        <ConfirmDialog
          title="Uninstall the background service?"
          text="The daemon will no longer start automatically, and it stops if it runs as the service. Sessions, memory and settings are kept."
          action="Uninstall"
          onConfirm={uninstall}
          onClose={() => removing.value = false}
        />
      )}
    </section>
  );
}

function Facts({ status }: { status: Service }) {
  const { installed, kind, enabled, running, unit_path, hint } = status;
  return (
    <>
      <p class="facts">
        <Chip tone={installed ? running ? "running" : "idle" : "cancelled"}>
          {installed ? running ? "Runs" : "Installed" : "Not installed"}
        </Chip>
        {installed && <span>{KINDS[kind]}</span>}
        {enabled && <span>starts by itself</span>}
        {unit_path && <Path path={unit_path} />}
      </p>
      {hint && <p class="hint">{hint}</p>}
    </>
  );
}
