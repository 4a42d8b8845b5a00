import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Message } from "../../models/model.ts";
import { curatorQuestion, excerptOf, proposalsIn } from "./curator_answer.ts";

const fact = { category: "fact", scope: "AllSessions", content: "The person is called Ann." };

Deno.test("proposals are read out of an answer, with a fence or words around it", () => {
  const json = JSON.stringify({ entries: [fact] });
  for (const answer of [json, `\`\`\`json\n${json}\n\`\`\``, `Here it is:\n${json}\nDone.`]) {
    assertEquals(proposalsIn(answer), [fact as ReturnType<typeof proposalsIn>[number]]);
  }
});

Deno.test("what has not the form of a proposal is left out, and more than three are too many", () => {
  const entries = [
    { category: "secret", content: "x" },
    { category: "fact", content: "  " },
    { category: "fact", content: "x".repeat(2_001) },
    "fact",
    { category: "gotcha", scope: "Always", content: " a trap " },
    fact,
    fact,
    fact,
  ];
  const [first, ...rest] = proposalsIn(JSON.stringify({ entries }));
  // No lobe speaks to every prompt of the machine.
  assertEquals(first, { category: "gotcha", scope: "Worker", content: "a trap" });
  assertEquals(rest.length, 2);
});

Deno.test("an answer that is no JSON proposes nothing", () => {
  for (const answer of ["", "nothing", "{", "{}", "[]", '{"entries": 1}', "} {"]) {
    assertEquals(proposalsIn(answer), [], answer);
  }
});

Deno.test("an excerpt has what person and agent said, not what tools gave", () => {
  const messages: Message[] = [
    { role: "user", text: "Where does it run?", memory: "remembered" },
    { role: "assistant", text: "", calls: [{ call_id: "c", tool: "grep", args: {} }] },
    { role: "tool", results: [{ call_id: "c", tool: "grep", ok: true, output: "secret" }] },
    { role: "assistant", text: "On port 80.", calls: [] },
  ];
  assertEquals(excerptOf(messages), "Person: Where does it run?\n\nAgent: On port 80.");
});

Deno.test("of a long conversation an excerpt has the end", () => {
  const messages: Message[] = Array.from({ length: 50 }, (_, n) => {
    return { role: "user" as const, text: `${n}:${"x".repeat(5_000)}` };
  });
  const excerpt = excerptOf(messages);
  assert(excerpt.length <= 12_100);
  assertStringIncludes(excerpt, "Person: 49:");
  assert(!excerpt.includes("Person: 40:"));
});

Deno.test("the question names what is known, as data", () => {
  assertStringIncludes(curatorQuestion("Person: hello", []), "nothing\n");
});
