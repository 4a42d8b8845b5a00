/** A small file system of its own: a tmpfs, which only root may mount. */
import { join } from "@std/path";
import { writeAllSync } from "../../src/base/write_all.ts";
import { noted } from "./lacking.ts";
import { granted } from "./permissions.ts";

const KIB = 1024;

/** A mounted file system; unmounted at the end. */
export class SmallDisk implements Disposable {
  readonly path: string;

  /** @param path an empty directory, which becomes private. */
  constructor(path: string, kib: number) {
    this.path = path;
    const options = `size=${kib}k,mode=0700`;
    if (!run("mount", "-t", "tmpfs", "-o", options, "tmpfs", path)) {
      throw new Error(`${path} cannot be mounted`);
    }
  }

  /** Takes up the room but for so many KiB. */
  fill(left_kib = 0): void {
    using file = Deno.openSync(this.#ballast, { write: true, create: true });
    file.seekSync(0, Deno.SeekMode.End);
    const piece = new Uint8Array(4 * KIB);
    try {
      while (true) writeAllSync(file, piece);
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("No space left"))) throw error;
    }
    file.truncateSync(Math.max(0, file.statSync().size - left_kib * KIB));
  }

  /** Gives the room back. */
  free(): void {
    // A child that another test starts at this moment may still hold the file.
    Deno.truncateSync(this.#ballast);
    Deno.removeSync(this.#ballast);
  }

  get #ballast(): string {
    return join(this.path, "ballast");
  }

  /** Mounts it anew, to read only or to write. @returns false while a file is open for writing. */
  remount(mode: "ro" | "rw"): boolean {
    return run("mount", "-o", `remount,${mode}`, this.path);
  }

  [Symbol.dispose](): void {
    run("umount", "-l", this.path);
  }
}

/** Whether this test run may make one. */
export function canMount(): boolean {
  if (Deno.build.os !== "linux" || !granted("read", "write", "run", "sys") || Deno.uid() !== 0) {
    return Deno.build.os === "linux" && noted(false, "mount, as root");
  }
  const path = Deno.makeTempDirSync({ prefix: "svc-mount-" });
  try {
    using _disk = new SmallDisk(path, 64);
    return true;
  } catch {
    return noted(false, "mount, as root");
  } finally {
    Deno.removeSync(path);
  }
}

function run(command: string, ...args: string[]): boolean {
  return new Deno.Command(command, { args, stderr: "null" }).outputSync().success;
}
