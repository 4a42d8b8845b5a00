/** Images and documents that are to be sent with a message. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import {
  ATTACHED_BYTES_MAX,
  ATTACHED_MAX,
  type Attachment,
  sizeText,
} from "../../../src/protocol/attachments.ts";
import { useApp } from "../app.ts";
import { Button } from "../ui/button.tsx";
import { isShown } from "./pictures.tsx";

interface AttachedFile {
  id: string;
  name: string;
  type: string;
  bytes: number;
  /** A `data:` address with the content in base64. */
  url: string;
}

/** The files beside a message that is being written. */
export interface AttachedFiles {
  readonly files: readonly AttachedFile[];
  /** Takes the files that were pasted, dropped or chosen. @returns whether there were some. */
  take(data: Pick<DataTransfer, "files"> | HTMLInputElement | null): boolean;
  /** Takes the files of a message of the session that was taken back. */
  giveBack(session_id: string, attachments: readonly Attachment[]): void;
  remove(files: readonly AttachedFile[]): void;
}

/** What `session.send` takes. */
export function toSend(files: readonly AttachedFile[]): { data: string; name: string }[] {
  return files.map(({ url, name }) => ({ data: url.slice(url.indexOf(",") + 1), name }));
}

/** Bytes of a text file, which becomes a part of the message. */
const TEXT_MAX = 64 * 1024;

/** So many messages have files that the browser keeps. */
const KEPT_MAX = 10;

const CACHE = "svc-files";
const addressFor = (of: string) => `/files/${of}`;

/** Does one thing after the other: a large file takes longer than what removes it. */
async function inOrder<T>(work: () => Promise<T>): Promise<T> {
  return await navigator.locks.request(CACHE, work);
}

/** Keeps files until they are sent, also while the page is away, as far as the browser does. */
export function keepFiles(of: string, files: readonly AttachedFile[]): Promise<void> {
  return inOrder(async () => {
    const kept = await caches.open(CACHE);
    const key = addressFor(of);
    if (files.length > 0) await kept.put(key, Response.json(files));
    else await kept.delete(key);
    for (const old of (await kept.keys()).slice(0, -KEPT_MAX)) await kept.delete(old);
  });
}

/** The files that the browser keeps for a message. */
export function keptFiles(of: string): Promise<readonly AttachedFile[]> {
  return inOrder(async () => {
    // Without making the cache where there is none.
    const response = await caches.match(addressFor(of), { cacheName: CACHE });
    return await response?.json() ?? [];
  }).catch(() => []);
}

/**
 * Keeps the files of a message until it is sent: all pages of this browser have the same.
 *
 * @param of the session; for a message that begins one, the tab
 * @param append adds the content of a text file to the message
 * @param from the tab that has kept the files until now
 */
export function useAttached(
  of: string,
  append: (text: string) => void,
  from = of,
): AttachedFiles {
  const app = useApp();
  const files = useSignal<readonly AttachedFile[]>([]);
  const key = addressFor(of);
  const others = useRef<BroadcastChannel>();
  useEffect(() => {
    const channel = others.current = new BroadcastChannel(key);
    channel.onmessage = ({ data }) => files.value = data;
    keptFiles(from).then((kept) => {
      const added = files.peek();
      const all = [...kept.filter(({ id }) => !added.some((it) => it.id === id)), ...added];
      if (added.length > 0 || from !== of) set(all);
      else files.value = all;
    });
    return () => {
      channel.close();
      others.current = undefined;
    };
  }, []);
  const set = (all: readonly AttachedFile[]) => {
    files.value = all;
    keepFiles(of, all).catch(() => {});
    // The view may have gone while a message was on its way, and may have come back.
    const channel = others.current ?? new BroadcastChannel(key);
    channel.postMessage(all);
    if (channel !== others.current) channel.close();
  };
  const add = async (file: File) => {
    const text = isSent(file) ? undefined : await textOf(file);
    if (text !== undefined) {
      append(fenced(file.name, text));
      return app.announcer.say(`Added ${file.name} to the message`);
    }
    const url = await addressOf(file);
    const { name, type, size } = file;
    put({ name, type, bytes: size, url });
    app.announcer.say(`Attached ${name}`);
  };
  const put = (file: Omit<AttachedFile, "id">) => {
    const all = [...files.value, { id: crypto.randomUUID(), ...file }];
    const bytes = all.reduce((sum, it) => sum + it.bytes, 0);
    if (all.length > ATTACHED_MAX || bytes > ATTACHED_BYTES_MAX) {
      throw new Error(
        `A message can have ${ATTACHED_MAX} files with ${sizeText(ATTACHED_BYTES_MAX)} together`,
      );
    }
    set(all);
  };
  return {
    files: files.value,
    take(data) {
      const given = [...data?.files ?? []];
      app.attempt(async () => {
        const failures: unknown[] = [];
        // One that cannot be sent, such as a directory, does not keep the others away.
        for (const file of given) await add(file).catch((error) => failures.push(error));
        if (failures.length > 0) throw failures[0];
      });
      return given.length > 0;
    },
    giveBack(session_id, attachments) {
      app.attempt(async () => {
        for (const { hash, name, media_type: type, bytes } of attachments) {
          const { data } = await app.client.ask("session.attachment", { session_id, hash });
          put({ name, type, bytes, url: `data:${type};base64,${data}` });
        }
      });
    },
    remove(gone) {
      if (gone.length > 0) set(files.peek().filter(({ id }) => !gone.some((it) => it.id === id)));
    },
  };
}

/** Whether a file is sent as it is. */
function isSent({ type }: File): boolean {
  return isShown(type) || type === "application/pdf";
}

/** @throws {Error} for a file that is neither sent as it is nor a short text */
async function textOf(file: File): Promise<string> {
  try {
    if (file.size > TEXT_MAX || /^(image|audio|video|font)\//.test(file.type)) throw new Error();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes("\0")) throw new Error();
    return text;
  } catch {
    throw new Error(
      `${file.name}: only PNG, JPEG, GIF and WebP images, PDF files, and text of at most ${
        sizeText(TEXT_MAX)
      } can be sent`,
    );
  }
}

/** A file's text as a block of code, in a fence that it does not contain. */
function fenced(name: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `\n\n${name}:\n${fence}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}

function addressOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Small pictures of the files, each with a button that removes it. */
export function AttachedList({ attached }: { attached: AttachedFiles }) {
  if (attached.files.length === 0) return null;
  return (
    <ul class="attached" aria-label="Attached files">
      {attached.files.map((file) => (
        <li key={file.id}>
          {isShown(file.type) ? <img src={file.url} alt="" /> : null}
          <span class="clip">{file.name}</span>
          <Button
            tone="quiet"
            icon="close"
            label={`Remove ${file.name}`}
            onClick={() => attached.remove([file])}
          />
        </li>
      ))}
    </ul>
  );
}
