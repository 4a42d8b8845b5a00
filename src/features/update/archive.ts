/** Extracts one file from an archive. Names in the archive never become paths. */
import { SvcError } from "../../protocol/errors.ts";
import { writeAll } from "../../base/write_all.ts";

const CHUNK_BYTES = 64 * 1024;
/** In bytes. */
const UNPACKED_MAX = 1024 * 1024 * 1024;

interface ExtractOptions {
  /** A `.tar.gz` or a `.zip`. */
  archive: string;
  /** The file's name in the archive. */
  entry: string;
  to: Deno.FsFile;
  signal: AbortSignal;
}

/**
 * Extracts one file.
 * @throws {SvcError} validation when the archive is broken, or has the file not exactly once; the
 * signal's reason; errors of writing
 */
export async function extractFile({ archive, entry, to, signal }: ExtractOptions): Promise<void> {
  const entries = archive.endsWith(".zip") ? zipEntries(archive, entry) : tarEntries(archive);
  let found = 0;
  for await (const { name, body } of entries) {
    if (name !== entry) continue;
    if (body === undefined || ++found > 1) throw broken(`${entry} is not there once, as a file`);
    await writeBody(body, to, signal);
  }
  if (found === 0) throw broken(`it has no file ${entry}`);
}

interface Entry {
  name: string;
  /** Undefined unless it is a plain file. */
  body: ReadableStream<Uint8Array> | undefined;
}

async function writeBody(
  body: ReadableStream<Uint8Array>,
  to: Deno.FsFile,
  signal: AbortSignal,
): Promise<void> {
  let size = 0;
  for await (const chunk of readable(body)) {
    signal.throwIfAborted();
    size += chunk.length;
    if (size > UNPACKED_MAX) throw broken("it unpacks to more than a program can be");
    await writeAll(to, chunk);
  }
}

async function* tarEntries(archive: string): AsyncGenerator<Entry> {
  const { createTarDecoder } = await import("modern-tar");
  const given_up = new AbortController();
  const { signal } = given_up;
  const unzip = new DecompressionStream("gzip");
  const decoder = createTarDecoder({ strict: true });
  const piped = Promise.allSettled([
    ReadableStream.from(chunksOf(archive)).pipeTo(unzip.writable, { signal }),
    unzip.readable.pipeTo(decoder.writable, { signal }),
  ]);
  let open: ReadableStream<Uint8Array> | undefined;
  const discardRest = async () => {
    if (open !== undefined) await discard(open);
    for await (const { body } of readable(decoder.readable)) await discard(body);
  };
  try {
    for await (const { header: { name, type = "file" }, body } of readable(decoder.readable)) {
      open = body;
      yield { name, body: type === "file" ? body : undefined };
      // Reads the rest: the decoder hangs after a body is cancelled.
      await discard(body);
    }
  } finally {
    given_up.abort();
    // The decoder's pending write ends only when its output is read.
    discardRest().catch(() => {});
    await piped;
  }
}

async function discard(body: ReadableStream<Uint8Array>): Promise<void> {
  for await (const _ of readable(body)) {
    // Discarded.
  }
}

/** Yields a file's content, and closes it even if the rest is not read. */
async function* chunksOf(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const file = await Deno.open(path);
  try {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const size = await file.read(chunk);
      if (size === null) return;
      yield chunk.subarray(0, size);
    }
  } finally {
    file.close();
  }
}

async function* zipEntries(archive: string, entry: string): AsyncGenerator<Entry> {
  const { unzipSync } = await import("fflate");
  let files: Record<string, Uint8Array>;
  try {
    files = unzipSync(await Deno.readFile(archive), {
      filter: ({ name, originalSize }) => name === entry && originalSize <= UNPACKED_MAX,
    });
  } catch (error) {
    throw broken(String(error));
  }
  for (const [name, bytes] of Object.entries(files)) {
    yield { name, body: ReadableStream.from([bytes]) };
  }
}

/**
 * Yields a stream's content; a decoder's errors become ours. Leaving early does not cancel it, see
 * above.
 */
async function* readable<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  try {
    yield* stream.values({ preventCancel: true });
  } catch (error) {
    throw broken(error instanceof Error ? error.message : String(error));
  }
}

function broken(problem: string): SvcError {
  return new SvcError("validation", `the archive cannot be unpacked: ${problem}`);
}
