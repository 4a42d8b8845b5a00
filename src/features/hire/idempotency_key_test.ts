import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { contentHash, readIdempotencyKey } from "./idempotency_key.ts";

Deno.test("a key is taken with and without the quotes of a structured field", () => {
  const taken = [
    ["abc", "abc"],
    ['"abc"', "abc"],
    ["8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    ["~".repeat(255), "~".repeat(255)],
    [`"${"~".repeat(255)}"`, "~".repeat(255)],
  ];
  for (const [header, key] of taken) assertEquals(readIdempotencyKey(header), key);
});

Deno.test("a key that is empty, too long or not visible ASCII is refused", () => {
  const long = "~".repeat(256);
  const refused = ["", '""', '"', '"abc', '"abc";a=1', '"a\\bc"', "a b", "a, b", "é", long];
  for (const header of refused) {
    assertThrows(() => readIdempotencyKey(header), SvcError, "1 to 255 visible ASCII", header);
  }
});

Deno.test("the hash of a body depends on its content, not on its form", async () => {
  const hash = (text: string) => contentHash(JSON.parse(text));
  const one = await hash('{"a": 1, "b": {"c": [1, 2], "a,b": "c", "a": "b,c"}}');
  assertEquals(await hash('{"b":{"a":"b,c","a,b":"c","c":[1,2]},\n"a":1.0}'), one);
  for (const other of ['{"a":1}', '{"a":1,"b":{"c":[2,1],"a,b":"c","a":"b,c"}}']) {
    assertNotEquals(await hash(other), one);
  }
});
