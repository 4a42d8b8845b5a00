import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import type { Scope } from "./server_card.tsx";

type Hook = Result<"hooks.list">["hooks"][number];

/** What else is added to sessions by files: hooks and, for a session, skills and commands. */
export function Extensions({ session_id }: Scope) {
  const { client } = useApp();
  return (
    <section class="server extensions" aria-labelledby="extensions-heading">
      <h2 id="extensions-heading">From files</h2>
      <Disclosure
        label="Hooks"
        version={session_id}
        load={() => client.ask("hooks.list", { session_id })}
      >
        {({ hooks, problem }) => (
          <>
            {problem && <p class="step-error">{problem}</p>}
            {hooks.length === 0
              ? <p class="step-note">No program runs on events. daemon.toml sets hooks.</p>
              : <ul class="server-tools">{hooks.map(hookItem)}</ul>}
          </>
        )}
      </Disclosure>
      {session_id !== undefined && (
        <>
          <Files
            label="Skills"
            none="No skill. Each is a SKILL.md in a folder of .claude/skills or .svc/skills."
            load={async () => {
              const { skills, problems } = await client.ask("skills.list", { session_id });
              return { items: skills, problems };
            }}
            version={session_id}
          />
          <Files
            label="Commands"
            none="No command. Each is a Markdown file in .claude/commands or .svc/commands."
            load={async () => {
              const { commands, problems } = await client.ask("commands.list", { session_id });
              return { items: commands.map((it) => ({ ...it, name: `/${it.name}` })), problems };
            }}
            version={session_id}
          />
        </>
      )}
    </section>
  );
}

function hookItem({ on, match, command, file, timeout_s, runs }: Hook, n: number) {
  return (
    <li key={n}>
      <header>
        <strong>{on}</strong>
        {match && <span class="badge">{match}</span>}
        {!runs && <span class="badge">not trusted, does not run</span>}
      </header>
      <p class="step-text mono">{command}</p>
      <p class="step-note">{`${file}, at most ${timeout_s} s`}</p>
    </li>
  );
}

interface FilesProps {
  label: string;
  /** Said where there are none. */
  none: string;
  version: string;
  load(): Promise<{
    items: readonly { name: string; description: string; path: string }[];
    problems: readonly { path: string; message: string }[];
  }>;
}

function Files({ label, none, version, load }: FilesProps) {
  return (
    <Disclosure label={label} version={version} load={load}>
      {({ items, problems }) => (
        <>
          {problems.map(({ path, message }) => (
            <p key={path} class="step-error">{`${path}: ${message}`}</p>
          ))}
          {items.length === 0 && problems.length === 0 && <p class="step-note">{none}</p>}
          <ul class="server-tools">
            {items.map(({ name, description, path }) => (
              <li key={path}>
                <header>
                  <strong>{name}</strong>
                </header>
                <p class="step-text">{description}</p>
                <p class="step-note">{path}</p>
              </li>
            ))}
          </ul>
        </>
      )}
    </Disclosure>
  );
}
