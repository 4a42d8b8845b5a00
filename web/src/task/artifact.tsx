import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type App, useApp } from "../app.ts";
import { bytes } from "../format.ts";
import type { Task } from "../tasks/task.ts";
import { Button } from "../ui/button.tsx";
import { Disclosure } from "../ui/disclosure.tsx";

type Artifact = NonNullable<Task["artifacts"]>[number];

/** Pictures that a browser shows without running anything of them. */
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;
const TEXT = /^(text\/|application\/(json|x-ndjson|xml|yaml))/;
/** More is downloaded, not shown. */
const SHOWN_MAX = 1_000_000;
const DEADLINE_MS = 60_000;

/** Something that a task made: to look at where that is safe, and to download. */
export function ArtifactItem({ task_id, artifact }: { task_id: string; artifact: Artifact }) {
  const app = useApp();
  const { announcer } = app;
  const { name, media_type, size } = artifact;
  const shows = size <= SHOWN_MAX && (IMAGE.test(media_type) || TEXT.test(media_type));
  const download = async () => {
    const url = URL.createObjectURL(await fetchArtifact(app, task_id, artifact));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    URL.revokeObjectURL(url);
    announcer.say(`Downloaded ${name}`);
  };
  return (
    <li class="artifact">
      <div class="artifact-head">
        <code class="clip" title={name}>{name}</code>
        <span class="hint">{media_type}, {bytes(size)}</span>
        <Button icon="down" label={`Download ${name}`} onClick={download}>Download</Button>
      </div>
      {shows && (
        <Disclosure
          label={`Show ${name}`}
          load={() => fetchArtifact(app, task_id, artifact)}
        >
          {(content) =>
            IMAGE.test(media_type)
              ? <Picture content={content} name={name} />
              : <Text content={content} name={name} />}
        </Disclosure>
      )}
    </li>
  );
}

/** @throws {Error} what the daemon says. */
async function fetchArtifact(
  { client, link }: App,
  task_id: string,
  { name, media_type }: Artifact,
): Promise<Blob> {
  await client.whenTrusted();
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const response = await fetch(`/v1/tasks/${task_id}/artifacts/${encodeURIComponent(name)}`, {
    headers: { authorization: `Bearer ${link.token}` },
    signal,
  });
  if (!response.ok) throw new Error((await response.json()).error.message);
  return new Blob([await response.arrayBuffer()], { type: media_type });
}

function Picture({ content, name }: { content: Blob; name: string }) {
  const url = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const made = URL.createObjectURL(content);
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [content]);
  return url.value === undefined ? null : <img src={url.value} alt={name} />;
}

function Text({ content, name }: { content: Blob; name: string }) {
  const text = useSignal("");
  useEffect(() => {
    content.text().then((it) => text.value = it);
  }, [content]);
  return <pre class="result" tabIndex={0} role="group" aria-label={name}>{text}</pre>;
}
