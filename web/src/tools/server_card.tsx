import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import { type Result, RpcError } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { keepLogin, leftLogin } from "../ui/left_login.ts";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { CallTool } from "./call_tool.tsx";
import { changeServer } from "./policy.ts";
import { ServerDialog } from "./server_dialog.tsx";

type Server = Result<"mcp.list_servers">["servers"][number];
type Tested = Result<"mcp.test_server">;
export type Tool = Result<"mcp.list_tools">["tools"][number];

/** As whom servers are looked at and used: the operator, or a session. */
export interface Scope {
  session_id?: string;
}

/** A server may take its own time limit to begin, to answer and to end. */
const SERVER_DEADLINE_MS = 10 * 60_000;
/** How long the page waits for the person at the provider; the daemon gives up before. */
const LOGIN_DEADLINE_MS = 60 * 60_000;

interface ServerCardProps {
  server: Server;
  scope: Scope;
  /** Told when its state may have changed. */
  onUsed(): Promise<unknown>;
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
        {server.scope === "operator" && <ServerMenu server={server} onChanged={onUsed} />}
      </header>
      <p class="facts">
        <span>{transport === "http" ? "over HTTP" : "a program on this machine"}</span>
        <span>{trust}</span>
        <span>{server.scope === "operator" ? "of policy.yaml" : "of the project"}</span>
        {connected > 0 && <span>{connected === 1 ? "connected" : `${connected} connections`}</span>}
        {server.logged_in && <span>logged in</span>}
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

interface MenuProps {
  server: Server;
  onChanged(): Promise<unknown>;
}

/** What a person does with a server of policy.yaml, and the login that is on its way. */
function ServerMenu({ server, onChanged }: MenuProps) {
  const app = useApp();
  const { client, announcer } = app;
  const asked = useSignal<"edit" | "remove" | undefined>(undefined);
  /** The provider's page, while the login waits for the person. */
  const page = useSignal<string | undefined>(undefined);
  const { name, transport, enabled, logged_in } = server;
  const kind = `server.${name}`;
  const close = () => asked.value = undefined;

  const logIn = async () => {
    const { needed, url } = await client.call("mcp.login", { name }, {
      timeout_ms: SERVER_DEADLINE_MS,
    });
    if (!needed || url === undefined || !/^https?:/i.test(url)) {
      return announcer.say(`${name} needs no login`);
    }
    keepLogin(kind, { name, url });
    // Browsers may refuse it; then there is the link.
    globalThis.open(url, "_blank", "noopener");
    waitFor(url);
  };
  const waitFor = (url: string, is_left = false) => {
    page.value = url;
    client.call("mcp.login_result", { name }, { timeout_ms: LOGIN_DEADLINE_MS }).then(
      () => announcer.say(`Logged in to ${name}`),
      (error) => {
        // It came to its end while the page was loaded.
        if (is_left && error instanceof RpcError && error.code === "not_found") return;
        // Who cancelled it knows that.
        if (page.peek() === url) app.report(error);
      },
    ).finally(async () => {
      if (leftLogin(kind)?.url === url) keepLogin(kind, undefined);
      if (page.peek() === url) page.value = undefined;
      await onChanged().catch(() => {});
    });
  };
  useEffect(() => {
    const left = leftLogin(kind);
    if (left !== undefined) waitFor(left.url, true);
  }, []);
  const logOut = async () => {
    page.value = undefined;
    await client.call("mcp.logout", { name });
    await onChanged();
  };
  const items = (): MenuItem[] => [
    { label: "Edit…", icon: "edit", run: () => asked.value = "edit" },
    {
      label: enabled ? "Turn off" : "Turn on",
      icon: enabled ? "pause" : "play",
      run: async () => {
        await changeServer(client, name, { enabled: enabled ? false : undefined });
        await onChanged();
        announcer.say(`${name} is turned ${enabled ? "off" : "on"}`);
      },
    },
    ...(transport === "http" && enabled
      ? [
        logged_in
          ? { label: "Log out", icon: "undo", run: logOut } as const
          : { label: "Log in…", icon: "send", run: logIn } as const,
      ]
      : []),
    { label: "Remove…", icon: "trash", danger: true, run: () => asked.value = "remove" },
  ];
  return (
    <>
      <Menu label={`Actions for ${name}`} items={items} />
      {page.value !== undefined && (
        <p class="server-login" role="status">
          <span>
            Waiting for you to allow it on the provider's page.{" "}
            <a href={page.value} target="_blank" rel="noopener noreferrer">Open the page</a>
          </span>
          <Button label={`Cancel the login at ${name}`} onClick={logOut}>Cancel</Button>
        </p>
      )}
      {asked.value === "edit" && <ServerDialog name={name} onSaved={onChanged} onClose={close} />}
      {asked.value === "remove" && (
        <ConfirmDialog
          title="Remove this tool server?"
          text={`“${name}” is taken out of policy.yaml. Calls that run are finished.`}
          action="Remove server"
          onConfirm={async () => {
            const { revision } = await client.ask("mcp.get_policy", {});
            await client.call("mcp.remove_server", { revision, name });
            announcer.say(`Removed ${name}`);
            await onChanged();
          }}
          onClose={close}
        />
      )}
    </>
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
