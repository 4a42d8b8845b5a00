/**
 * Artifacts in a directory that all machines mount, as `<dir>/<task_id>/<sha256>`, mode 0600.
 *
 * Nothing here is synchronous: a file server that does not answer must not stop the process.
 */
import { dirname, join } from "@std/path";
import { writeAll } from "../../../base/write_all.ts";
import { type ObjectKey, type Objects, StoreFault } from "./objects.ts";

/** A writer this old is dead, even if the clocks of the machines differ by hours. */
const LEFT_BEHIND_MS = 24 * 3_600_000;

const FULL = "free space there or raise its quota, then run the task again";
const RIGHTS = "let the user that svc runs as write there, on each machine";
/** What to do about errors that do not pass by themselves. */
const FIXES: Record<string, string> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EFBIG: FULL,
  EACCES: RIGHTS,
  EPERM: RIGHTS,
  EROFS: "mount it for writing",
  ENOTDIR: "set the store to a directory",
};

export class Directory implements Objects {
  readonly #dir: string;

  /** @param dir an absolute path that exists: a missing one is a disk that is not mounted */
  constructor(dir: string) {
    this.#dir = dir;
  }

  get url(): string {
    return this.#dir;
  }

  async write({ task_id, sha256 }: ObjectKey, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const dir = join(this.#dir, task_id);
    const path = join(dir, sha256);
    await this.#try(async () => {
      if (!(await infoIfAny(dir))) {
        await Deno.mkdir(dir, { mode: 0o700 }).catch(unless(Deno.errors.AlreadyExists));
      }
      if ((await infoIfAny(path))?.size === bytes.length) await flushDir(dir);
      else await writeWhole(path, bytes);
      // Whoever made the entries of an earlier write may have crashed before this.
      await flushDir(this.#dir);
    });
  }

  async read({ task_id, sha256 }: ObjectKey): Promise<ReadableStream<Uint8Array> | undefined> {
    return await this.#try(async () => {
      const file = await Deno.open(join(this.#dir, task_id, sha256))
        .catch(unless(Deno.errors.NotFound));
      if (file) return file.readable;
      await Deno.stat(this.#dir);
    });
  }

  async tasks(): Promise<string[]> {
    return await this.#try(async () =>
      (await Array.fromAsync(Deno.readDir(this.#dir))).map(({ name }) => name)
    );
  }

  async remove(task_id: string): Promise<void> {
    await this.#try(async () => {
      await Deno.stat(this.#dir);
      await Deno.remove(join(this.#dir, task_id), { recursive: true })
        .catch(unless(Deno.errors.NotFound));
    });
  }

  async tidy(task_id: string): Promise<void> {
    const dir = join(this.#dir, task_id);
    await this.#try(async () => {
      const entries = await Array.fromAsync(Deno.readDir(dir));
      for (const { name } of entries.filter(({ name }) => name.endsWith(".tmp"))) {
        const written = (await infoIfAny(join(dir, name)))?.mtime?.getTime() ?? Date.now();
        if (Date.now() - written < LEFT_BEHIND_MS) continue;
        await Deno.remove(join(dir, name)).catch(unless(Deno.errors.NotFound));
      }
    });
  }

  async #try<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause)) throw cause;
      if (!(await infoIfAny(this.#dir).catch(() => true))) {
        const fix = "mount the disk, or create that directory on it";
        throw new StoreFault("it does not exist", fix, { cause });
      }
      const fix = FIXES[String(cause.code)];
      const passing = fix === undefined;
      throw new StoreFault(cause.message, fix ?? "check the disk", { passing, cause });
    }
  }
}

async function writeWhole(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    const file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
    try {
      await writeAll(file, bytes);
      await file.sync();
    } finally {
      file.close();
    }
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error;
  }
  await flushDir(dirname(path));
}

/** Makes a directory's entries durable, where the file system can. */
async function flushDir(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  const dir = await Deno.open(path);
  try {
    // SMB refuses it.
    await dir.sync().catch((error) => {
      if (error.code !== "EINVAL") throw error;
    });
  } finally {
    dir.close();
  }
}

async function infoIfAny(path: string): Promise<Deno.FileInfo | void> {
  return await Deno.stat(path).catch(unless(Deno.errors.NotFound));
}

/** Makes a handler that takes errors of a kind for a result. */
function unless(expected: new (message: string) => Error): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof expected)) throw error;
  };
}
