/** How much is kept, in characters. */
const KEPT = 4_000;

/** Reads what a program says and keeps the end of it, for when it fails. */
export class Tail {
  text = "";
  /** Resolves when the stream has ended. */
  readonly read: Promise<void>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.read = stream.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write: (chunk) => {
          this.text = (this.text + chunk).slice(-KEPT);
        },
      }),
    ).catch(() => {});
  }
}
