/** Remembers the newest manifest of each channel, so that an older one is refused. */
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { atomicWrite } from "../../os/files.ts";
import type { Manifest } from "./manifest.ts";

const SeenSchema = z.record(
  z.string(),
  z.object({ version: z.string(), released_at: z.iso.datetime() }),
);
type Seen = z.infer<typeof SeenSchema>;

/**
 * Refuses a manifest that is older than an earlier one, with which a server could hold back
 * updates.
 * @param path `update.json` in the home
 * @throws {SvcError} conflict
 */
export async function refuseReplay(path: string, manifest: Manifest): Promise<void> {
  const before = (await readSeen(path))[manifest.channel];
  if (before === undefined || timeOf(manifest) >= timeOf(before)) return;
  throw new SvcError(
    "conflict",
    `the manifest is of ${manifest.released_at} (svc ${manifest.version}), but one of ` +
      `${before.released_at} (svc ${before.version}) was seen before`,
    {
      hint: "a release may have been withdrawn; --allow-downgrade takes the older one all the same",
    },
  );
}

export async function remember(path: string, manifest: Manifest): Promise<void> {
  const seen = await readSeen(path);
  const { channel, version, released_at } = manifest;
  if (seen[channel]?.released_at === released_at) return;
  seen[channel] = { version, released_at };
  await atomicWrite(path, `${JSON.stringify(seen, null, 2)}\n`, 0o600);
}

/** An unreadable file counts as empty: it is only a safeguard. */
async function readSeen(path: string): Promise<Seen> {
  try {
    return SeenSchema.parse(JSON.parse(await Deno.readTextFile(path)));
  } catch (error) {
    const unreadable = error instanceof Deno.errors.NotFound || error instanceof SyntaxError ||
      error instanceof z.ZodError;
    if (unreadable) return {};
    throw error;
  }
}

function timeOf({ released_at }: { released_at: string }): number {
  return Date.parse(released_at);
}
