/** Archives that have the same bytes for the same content: same dates, owners and order. */
import { createTarPacker } from "modern-tar";
import { zipSync } from "fflate";

export interface ArchiveFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  executable?: boolean;
}

export interface ArchiveOptions {
  /** Ends with `.tar.gz` or `.zip`. */
  path: string;
  files: readonly ArchiveFile[];
  /** The date of every file. */
  date: Date;
}

/** Writes an archive. */
export async function writeArchive({ path, files, date }: ArchiveOptions): Promise<void> {
  const sorted = files.toSorted((a, b) => a.name < b.name ? -1 : 1);
  if (path.endsWith(".zip")) await Deno.writeFile(path, zipped(sorted, date));
  else await writeTar(path, sorted, date);
}

async function writeTar(path: string, files: readonly ArchiveFile[], date: Date): Promise<void> {
  const { readable, controller } = createTarPacker();
  const file = await Deno.open(path, { write: true, create: true, truncate: true });
  const written = readable.pipeThrough(new CompressionStream("gzip")).pipeTo(file.writable);
  for (const { name, bytes, executable } of files) {
    const entry = controller.add({
      name,
      size: bytes.length,
      mtime: date,
      mode: modeOf(executable),
      uid: 0,
      gid: 0,
    });
    const writer = entry.getWriter();
    await writer.write(bytes);
    await writer.close();
  }
  controller.finalize();
  await written;
}

function zipped(files: readonly ArchiveFile[], date: Date): Uint8Array {
  // A zip's times have no time zone and are written as local ones; this makes them UTC everywhere.
  const mtime = new Date(date.getTime() + date.getTimezoneOffset() * 60_000);
  const UNIX = 3;
  return zipSync(Object.fromEntries(files.map(({ name, bytes, executable }) => {
    const attrs = (0o100000 | modeOf(executable)) << 16;
    return [name, [bytes, { mtime, os: UNIX, attrs }]];
  })));
}

function modeOf(executable = false): number {
  return executable ? 0o755 : 0o644;
}
