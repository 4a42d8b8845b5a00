import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { useLive } from "../rpc/use_live.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/choice.tsx";
import { Icon } from "../ui/icon.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Pending } from "../ui/states.tsx";
import { ProjectServers } from "./project_servers.tsx";
import { Extensions } from "./extensions.tsx";
import { ServerCard } from "./server_card.tsx";
import { ServerDialog } from "./server_dialog.tsx";

type Servers = Result<"mcp.list_servers">;

/** No event tells of a server; the daemon has the answer at hand. */
const EVERY_MS = 3_000;

export default function Tools() {
  const { client, announcer, sessions } = useApp();
  const session_id = useSignal("");
  const adding = useSignal(false);
  const scope = session_id.value === "" ? {} : { session_id: session_id.value };
  const live = useLive<Servers>({
    ask: () => client.ask("mcp.list_servers", { session_id: session_id.peek() || undefined }),
    every_ms: EVERY_MS,
  });
  const found = live.value.value;
  const viewers = (sessions.items.value ?? []).filter((it) => it.state !== "ended")
    .map((it): [string, string] => [it.id, `session ${it.title}`]);
  return (
    <Page
      title="Tools"
      of={live}
      actions={
        <>
          <Button
            onClick={async () => {
              await client.call("daemon.reload_config", {});
              await live.refresh();
              announcer.say("policy.yaml reloaded");
            }}
          >
            Read policy again
          </Button>
          <Button tone="primary" icon="plus" onClick={() => adding.value = true}>
            New server
          </Button>
        </>
      }
    >
      <div class="toolbar">
        <Choice
          label="As seen by"
          value={session_id}
          options={[["", "the operator"], ...viewers]}
          onChange={() => live.refresh()}
        />
      </div>
      {found === undefined ? <Pending of={live} lines={4} label="Loading tool servers" /> : (
        <>
          {found.problems.map(({ server, message }) => (
            <p key={`${server}\n${message}`} class="server-problem">
              <Icon name="warning" />
              <span>{message}</span>
            </p>
          ))}
          {found.project && session_id.value !== "" && (
            <ProjectServers
              project={found.project}
              session_id={session_id.value}
              onApproved={() => live.refresh()}
            />
          )}
          {found.servers.length === 0 && <NoServers onAdd={() => adding.value = true} />}
          <ul class="servers" aria-label="Tool servers">
            {found.servers.map((server) => (
              <ServerCard
                key={`${session_id.value} ${server.name}`}
                server={server}
                scope={scope}
                onUsed={() => live.refresh()}
              />
            ))}
          </ul>
          <Extensions {...scope} />
        </>
      )}
      {adding.value && (
        <ServerDialog
          onSaved={() => live.refresh()}
          onClose={() => adding.value = false}
        />
      )}
    </Page>
  );
}

function NoServers({ onAdd }: { onAdd(): void }) {
  return (
    <Empty icon="tools" title="No tool servers">
      <p>
        Sessions can use the tools of MCP servers. They stand in <code>policy.yaml</code>{" "}
        in the home of svc.
      </p>
      <Button tone="primary" icon="plus" onClick={onAdd}>Add a server</Button>
    </Empty>
  );
}
