import { assertEquals } from "@std/assert";
import { named, readPromises, recorded, recordRow } from "./attack/promises.ts";

const TEXT = `
| promise | shown by |
| --- | --- |
| One | [a_test.ts](../tests/attack/a_test.ts): "has … by …"<br>[b_test.ts](../src/b_test.ts) |
| Two | [a_test.ts](../tests/attack/a_test.ts): "has … by …" |
`;

Deno.test("a promise's tests are found in a run by their file and the parts of their name", () => {
  const promised = readPromises(TEXT);
  assertEquals(promised, [
    { file: "tests/attack/a_test.ts", part: "has … by …" },
    { file: "src/b_test.ts", part: "" },
  ]);
  const of = (file: string, name: string) => ({ file, name, outcome: "ok", seconds: 0 }) as const;
  const cases = [
    of("tests/attack/a_test.ts", "x | has one by two"),
    of("tests/attack/a_test.ts", "x | by one has two"),
    of("tests/attack/b_test.ts", "x | has one by two"),
    of("src/b_test.ts", "anything"),
  ];
  assertEquals(promised.map((it) => named(cases, it)), [[cases[0]], [cases[3]]]);
});

Deno.test("the recorded run is read as it was written", () => {
  const promised = { file: "tests/attack/a_test.ts", part: "x | has" };
  const count = { attempts: 5, controls: 4, succeeded: 1, not_run: 0 };
  const page = `| test | attempts |\n${recordRow(promised, count)}`;
  assertEquals(recorded(page, promised), { attempts: 5, succeeded: 1 });
  assertEquals(recorded(page, { ...promised, part: "" }), undefined);
});
