/** In characters. */
const KEPT = 4_000;

/** Keeps the end of a program's output, for error messages. */
export class Tail {
  text = "";
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
