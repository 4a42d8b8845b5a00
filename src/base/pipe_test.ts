import { assertEquals } from "@std/assert";
import { Pipe } from "./pipe.ts";

const TEXT = new TextEncoder();

/** A pipe's other end, which a test writes to. */
class Source {
  readonly stream: ReadableStream<Uint8Array>;
  cancelled = false;
  #controller!: ReadableByteStreamController;

  constructor() {
    this.stream = new ReadableStream({
      type: "bytes",
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.cancelled = true),
    });
  }

  write(text: string): void {
    this.#controller.enqueue(TEXT.encode(text));
  }

  /** As a byte stream has it: the read that waits is answered, too. */
  end(): void {
    this.#controller.close();
    this.#controller.byobRequest?.respond(0);
  }

  break(): void {
    this.#controller.error(new Error("the pipe broke"));
  }
}

Deno.test("what comes is passed on until the end", async () => {
  const source = new Source();
  let text = "";
  const pipe = new Pipe(source.stream, (chunk) => text += new TextDecoder().decode(chunk));
  source.write("one ");
  source.write("two");
  source.end();
  await pipe.ended;
  assertEquals(text, "one two");
  await pipe.close();
});

Deno.test("a pipe that breaks has ended, and can be closed", async () => {
  const source = new Source();
  const pipe = new Pipe(source.stream, () => {});
  source.break();
  await pipe.ended;
  await pipe.close();
});

Deno.test("closing ends the reading of a pipe that something holds", async () => {
  const source = new Source();
  const pipe = new Pipe(source.stream, () => {});
  await pipe.close();
  await pipe.ended;
  assertEquals(source.cancelled, true);
});

Deno.test("who writes is told when nobody takes what comes", async () => {
  const source = new Source();
  const pipe = new Pipe(source.stream, () => {
    throw new Error("not taken");
  });
  source.write("lost");
  await pipe.ended;
  assertEquals(source.cancelled, true);
});
