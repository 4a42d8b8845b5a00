import { useApp } from "../app.ts";
import type { Result } from "../rpc/api.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Path } from "../ui/path.tsx";

interface ProjectProps {
  project: NonNullable<Result<"mcp.list_servers">["project"]>;
  session_id: string;
  onApproved(): Promise<unknown>;
}

/** What a project's file would have run, until a person has approved it. */
export function ProjectServers({ project, session_id, onApproved }: ProjectProps) {
  const { client, announcer } = useApp();
  const { file, sha256, approved, runs } = project;
  const approve = async () => {
    await client.call("mcp.approve_project", { session_id, sha256 });
    await onApproved();
    announcer.say("The project's tool servers are approved");
  };
  return (
    <section class="server server-project" aria-label="Tool servers of the project">
      <header class="server-head">
        <h2 tabIndex={-1}>Tool servers of the project</h2>
        {approved ? <Chip tone="done">Approved</Chip> : <Chip tone="blocked">Not approved</Chip>}
        {!approved && <Button tone="primary" onClick={approve}>Approve what is below</Button>}
      </header>
      <Path path={file} />
      <p class="step-note">
        {approved
          ? "Sessions in this directory can use these servers until the file changes."
          : "Nothing of it runs until you approve it. Then sessions in this directory start these programs and use these addresses."}
      </p>
      {Object.entries(runs).map(([name, run]) => (
        <pre
          key={name}
          class="evidence"
          tabIndex={0}
          role="group"
          aria-label={`What ${name} runs`}
        >{`${name} ${shown(run)}`}</pre>
      ))}
    </section>
  );
}

/** As JSON, with escapes for characters that hide others or turn them around. */
function shown(run: unknown): string {
  return JSON.stringify(run, null, 2).replace(
    /[^\P{C}\n]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)!.toString(16)}}`,
  );
}
