/** A destination that may take fewer bytes than given: a connection, a file, standard output. */
export interface ByteSink {
  write(bytes: Uint8Array): Promise<number>;
}

/** A synchronous {@linkcode ByteSink}. */
interface SyncByteSink {
  writeSync(bytes: Uint8Array): number;
}

/** Writes every byte. @throws the sink's error; a part may be written then */
export async function writeAll(sink: ByteSink, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await sink.write(bytes.subarray(done));
}

/** Writes every byte. @throws the sink's error; a part may be written then */
export function writeAllSync(sink: SyncByteSink, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += sink.writeSync(bytes.subarray(done));
}
