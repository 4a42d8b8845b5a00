import { assertEquals } from "@std/assert";
import { MessageLines, TopLevelId } from "./lines.ts";

const encode = (text: string) => new TextEncoder().encode(text);

function read(max: number, chunks: string[]): unknown[] {
  const told: unknown[] = [];
  const lines = new MessageLines(max, {
    message: (text) => told.push(text),
    tooLong: (id) => told.push({ too_long: id }),
  });
  for (const chunk of chunks) {
    const bytes = encode(chunk);
    lines.push(bytes);
    bytes.fill(0);
  }
  return told;
}

Deno.test("lines are put together from chunks; empty ones and carriage returns are dropped", () => {
  assertEquals(read(100, ['{"a"', ":1}\n\n{}\r\n", '{"é', '":2}', "\n{"]), [
    '{"a":1}',
    "{}",
    '{"é":2}',
  ]);
});

Deno.test("a line that is too long is passed over with its id, and the next one read", () => {
  const long = "x".repeat(100);
  for (
    const [line, id] of [
      [`{"result":{"id":9,"text":"${long}"},"jsonrpc":"2.0","id":7}`, 7],
      [`{"jsonrpc":"2.0","id":7,"result":{"text":"${long}"}}`, 7],
      [`{ "result": "\\"id\\": 1, ${long}", "id" : "seven" }`, "seven"],
      [`{"result":"}{\\\\","text":"${long}","id":8}`, 8],
      [`{"method":"x","params":{"id":3,"text":"${long}"}}`, undefined],
      [`{"id":{"a":1},"text":"${long}"}`, undefined],
      [`["id", 1, "${long}"]`, undefined],
      [long, undefined],
    ] as const
  ) {
    for (const size of [1, 7, 1000]) {
      const text = `{"a":1}\n${line}\n{"b":2}\n`;
      const chunks = Array.from(
        { length: Math.ceil(text.length / size) },
        (_, n) => text.slice(n * size, (n + 1) * size),
      );
      assertEquals(read(50, chunks), ['{"a":1}', { too_long: id }, '{"b":2}'], `${size} ${line}`);
    }
  }
});

Deno.test("a line of just the length is kept", () => {
  assertEquals(read(7, ['{"a":1}\n{"a":10}\n']), ['{"a":1}', { too_long: undefined }]);
});

Deno.test("an id that is very long is none", () => {
  const id = new TopLevelId();
  id.push(encode(`{"id":"${"x".repeat(1000)}"}`));
  assertEquals(id.value(), undefined);
});
