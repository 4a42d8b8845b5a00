/** Images and documents of a session's messages and results. */
import { useEffect, useState } from "preact/hooks";
import { type Attachment, attachmentLine } from "../../../src/protocol/attachments.ts";
import { visibleLine } from "../../../src/base/visible.ts";
import { useApp } from "../app.ts";
import type { SessionStore } from "./store.ts";

/** Whether the page shows a file of that type: never one that could hold a script. */
export function isShown(media_type: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(media_type);
}

interface PicturesProps {
  attachments: readonly Attachment[] | undefined;
  store: SessionStore;
}

export function Pictures({ attachments = [], store }: PicturesProps) {
  if (attachments.length === 0) return null;
  return (
    <ul class="pictures">
      {attachments.map((it, n) => (
        <li key={`${it.hash} ${n}`}>
          <Picture attachment={it} store={store} />
        </li>
      ))}
    </ul>
  );
}

/** The picture; until it is there, and in place of a document, its line. */
function Picture({ attachment, store }: { attachment: Attachment; store: SessionStore }) {
  const { client } = useApp();
  const [url, setUrl] = useState<string | null>();
  const { hash } = attachment;
  const line = visibleLine(attachmentLine(attachment));
  useEffect(() => {
    if (!isShown(attachment.media_type)) return;
    let gone = false;
    client.ask("session.attachment", { session_id: store.id, hash }).then(
      ({ media_type, data }) => {
        if (!gone) setUrl(isShown(media_type) ? `data:${media_type};base64,${data}` : null);
      },
      () => gone || setUrl(null),
    );
    return () => gone = true;
  }, [hash]);
  if (url) return <img src={url} alt={line} />;
  return <span class="picture-line">{url === null ? `${line} is missing or damaged` : line}</span>;
}
