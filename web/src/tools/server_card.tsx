import { useSignal } from "@preact/signals";
import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { CallTool } from "./call_tool.tsx";

type Server = Result<"mcp.list_servers">["servers"][number];
type Tested = Result<"mcp.test_server">;
export type Tool = Result<"mcp.list_tools">["tools"][number];

/** As whom servers are looked at and used: the operator, or a session. */
export interface Scope {
  session_id?: string;
}

/** A server may take its own time limit to begin, to answer and to end. */
const SERVER_DEADLINE_MS = 10 * 60_000;

interface ServerCardProps {
  server: Server;
  scope: Scope;
  /** Told when its state may have changed. */
  onUsed(): void;
}

/** A tool server: how it stands, a test of it, and its tools. */
export function ServerCard({ server, scope, onUsed }: ServerCardProps) {
  const { client, announcer } = useApp();
  const tested = useSignal<Tested | undefined>(undefined);
  const calling = useSignal<Tool | undefined>(undefined);
  const { name, transport, trust, problem, connected, tools, enabled } = server;
  const usable = enabled && problem === undefined;
  const test = async () => {
    tested.value = undefined;
    const result = await client.call("mcp.test_server", { name, ...scope }, {
      timeout_ms: SERVER_DEADLINE_MS,
    });
    tested.value = result;
    if (result.ok) announcer.say(`${name}: ${testText(result)}`);
    onUsed();
  };
  return (
    <li class="server">
      <header class="server-head">
        <h2>{name}</h2>
        <State server={server} />
        {usable && <Button label={`Test ${name}`} onClick={test}>Test</Button>}
      </header>
      <p class="facts">
        <span>{transport === "http" ? "over HTTP" : "a program on this machine"}</span>
        <span>{trust}</span>
        <span>{server.scope === "operator" ? "of policy.yaml" : "of the project"}</span>
        {connected > 0 && <span>{connected === 1 ? "connected" : `${connected} connections`}</span>}
        {tools !== undefined && <span>{tools === 1 ? "1 tool" : `${tools} tools`}</span>}
      </p>
      {problem !== undefined && <p class="step-error">{problem}</p>}
      {tested.value && (
        <p
          class={tested.value.ok ? "step-note" : "step-error"}
          role={tested.value.ok ? undefined : "alert"}
        >
          {testText(tested.value)}
        </p>
      )}
      {usable && (
        <Disclosure
          label={`Tools of ${name}`}
          version={String(tools)}
          load={async () => {
            const found = await client.ask("mcp.list_tools", { server: name, ...scope });
            onUsed();
            return found;
          }}
        >
          {(found) => <Tools {...found} onTry={(tool) => calling.value = tool} />}
        </Disclosure>
      )}
      {calling.value && (
        <CallTool
          tool={calling.value}
          scope={scope}
          onCalled={onUsed}
          onClose={() => calling.value = undefined}
        />
      )}
    </li>
  );
}

function State({ server }: { server: Server }) {
  const { enabled, problem, breaker, breaker_until, connected } = server;
  if (!enabled) return <Chip tone="paused">Disabled</Chip>;
  if (problem !== undefined) return <Chip tone="errored">Refused</Chip>;
  if (breaker_until !== undefined) {
    const until = new Date(breaker_until).toLocaleTimeString();
    return <Chip tone="errored" title="Failed 5 times in a row">Left alone until {until}</Chip>;
  }
  if (breaker !== "closed") return <Chip tone="blocked">Waiting to retry</Chip>;
  return connected > 0 ? <Chip tone="done">Ready</Chip> : <Chip tone="pending">Not started</Chip>;
}

function testText({ ok, reason, server, latency_ms, tools }: Tested): string {
  if (!ok) return reason ?? "not working";
  const who = `${server?.name} ${server?.version}`.trim();
  return `working: ${who}, ${tools} tools, ${latency_ms} ms`;
}

interface ToolsProps extends Result<"mcp.list_tools"> {
  onTry(tool: Tool): void;
}

function Tools({ tools, problems, onTry }: ToolsProps) {
  return (
    <>
      {problems.map(({ message }) => <p key={message} class="step-error">{message}</p>)}
      {tools.length === 0 && problems.length === 0 && (
        <p class="step-note">This server has no tools.</p>
      )}
      <ul class="server-tools">
        {tools.map((tool) => (
          <li key={tool.name}>
            <header>
              <strong>{tool.tool}</strong>
              <span class="badge">{tool.access}</span>
              <Button label={`Try ${tool.tool}`} onClick={() => onTry(tool)}>Try</Button>
            </header>
            <p class="step-text">{tool.description}</p>
            <details>
              <summary>Schema</summary>
              <pre
                class="evidence"
                tabIndex={0}
                role="group"
                aria-label={`Schema of ${tool.tool}`}
              >{JSON.stringify(tool.input_schema, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}
