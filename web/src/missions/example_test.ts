import { assertEquals } from "@std/assert";
import { readSpec } from "../../../src/features/missions/spec.ts";
import { EXAMPLE } from "./example.ts";
import { toYaml } from "./yaml.ts";

Deno.test("the example is a spec that is taken as it is, also as a text", () => {
  const { sessions: [{ tasks, acceptance_criteria }] } = readSpec(EXAMPLE);
  assertEquals(tasks.map(({ dependencies }) => dependencies.length), [0, 0, 2]);
  const [prints, word] = acceptance_criteria;
  assertEquals(prints.command, 'test "$(sh greet.sh)" = "$(cat hello.txt bonjour.txt)"');
  assertEquals(word.content_match, { file: "hello.txt", pattern: "^Hello$" });
  assertEquals(readSpec(toYaml(EXAMPLE)), readSpec(EXAMPLE));
});
