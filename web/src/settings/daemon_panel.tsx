import { useApp } from "../app.ts";
import { bytes, duration } from "../format.ts";
import type { Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";

interface DaemonPanelProps {
  info: Result<"daemon.info">;
  onReloaded(): Promise<void>;
}

/** The daemon at the other end, and where its files lie. */
export function DaemonPanel({ info, onReloaded }: DaemonPanelProps) {
  const { client, announcer } = useApp();
  const facts = [
    ["Version", info.version],
    ["Process", String(info.pid)],
    ["Running for", duration(info.uptime_s * 1000)],
    ["Memory", bytes(info.rss_bytes)],
    ["Address", `http://127.0.0.1:${info.port}`],
    ["Socket", info.sock],
    ["Configuration", info.config_path],
    ["Log", info.log_path],
  ];
  const reload = async () => {
    await client.call("daemon.reload_config", {});
    await onReloaded();
    announcer.say("Configuration reloaded");
  };
  return (
    <section class="panel" aria-labelledby="daemon-heading">
      <header class="panel-head">
        <h2 id="daemon-heading">Daemon</h2>
        <Button onClick={reload}>Reload configuration</Button>
      </header>
      <dl class="daemon-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
