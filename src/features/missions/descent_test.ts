import { assert, assertEquals } from "@std/assert";
import type { TurnResult } from "../../session/work_session.ts";
import type { CheckResult } from "./checks.ts";
import { Descent, type DescentParts } from "./descent.ts";
import type { Check, CriterionSpec } from "./spec.ts";

const CRITERION: CriterionSpec = { id: "c", description: "it holds", command: "check" };

interface Scene {
  /** What the check finds, one after the other; the last one stays. */
  finds: Partial<CheckResult>[];
  /** What the model answers, by a word of the prompt. */
  says?: Record<string, string>;
  allowed?: boolean;
  examined?: CheckResult;
  criterion?: CriterionSpec;
}

/** A descent whose surroundings are made up, and everything that it did. */
function scene({ finds, says = {}, allowed = true, examined, criterion = CRITERION }: Scene) {
  const steps: string[] = [];
  const classes = new Set<string>();
  const prompts: string[] = [];
  const asked_for: string[] = [];
  const rewritten: Check[] = [];
  let evidence = 0;
  const parts: DescentParts = {
    examine: () => Promise.resolve(examined),
    check() {
      const found = finds.length > 1 ? finds.shift() : finds[0];
      return Promise.resolve({ kind: "command", passed: false, output: "", ...found });
    },
    ask(prompt) {
      prompts.push(prompt);
      const key = Object.keys(says).find((word) => prompt.includes(word));
      const message = key === undefined ? "" : says[key];
      return Promise.resolve({ stop_reason: "ok", message } as TurnResult);
    },
    allowed(tier) {
      asked_for.push(tier);
      return Promise.resolve(allowed);
    },
    evidence: () => `m#${++evidence}`,
    step({ tier, status, failure_class }) {
      if (status !== "running") steps.push(`${tier} ${status}`);
      if (failure_class !== undefined) classes.add(failure_class);
      return Promise.resolve();
    },
    rewritten: (check) => void rewritten.push(check),
  };
  const descent = new Descent(criterion, undefined, parts);
  return { descent, steps, classes, prompts, asked_for, rewritten };
}

const RED = { output: "1 failed", exit_code: 1 };
const GREEN = { passed: true, output: "ok", exit_code: 0 };

Deno.test("a criterion that holds needs no model and changes nothing", async () => {
  const { descent, steps, prompts } = scene({ finds: [GREEN] });
  assertEquals(await descent.run(), "passed");
  assertEquals([steps, prompts, descent.changed], [["T1 passed", "T2 passed"], [], false]);
});

Deno.test("a fault of the code is repaired and checked again", async () => {
  const { descent, steps, classes } = scene({ finds: [RED, RED, GREEN] });
  assertEquals(await descent.run(), "passed");
  assertEquals(steps, [
    ...["T1 passed", "T2 failed", "T3 passed"],
    ...["T2 failed", "T4 failed", "T3 passed"],
    ...["T2 passed", "T4 passed"],
  ]);
  assertEquals([...classes], ["code_bug"]);
  assert(descent.changed);
});

Deno.test("a fault of the code that no repair removes fails, and is never let pass", async () => {
  const { descent, steps, asked_for, prompts } = scene({ finds: [RED] });
  assertEquals(await descent.run(), "failed");
  assertEquals(prompts.length, 3);
  assertEquals(steps.filter((step) => step === "T4 failed").length, 3 + 1);
  assertEquals(steps.at(-1), "T4 failed");
  assertEquals([steps.some((step) => step.startsWith("T8")), asked_for], [false, []]);
});

Deno.test("a missing program is brought about, else the criterion is let pass", async () => {
  const missing = { output: "x: command not found", exit_code: 127 };
  const mended = scene({ finds: [missing, GREEN] });
  assertEquals(await mended.descent.run(), "passed");
  assertEquals(mended.steps.at(-1), "T5 passed");

  const { descent, steps, asked_for, prompts } = scene({ finds: [missing] });
  assertEquals(await descent.run(), "soft_passed");
  assertEquals([prompts.length, asked_for, steps.at(-1)], [2, ["T8"], "T8 passed"]);

  const refused = scene({ finds: [missing], allowed: false });
  assertEquals(await refused.descent.run(), "failed");
  assertEquals(refused.steps.at(-1), "T8 failed");
});

Deno.test("a check that cannot be read is not run; another takes its place if that is allowed", async () => {
  const examined: CheckResult = {
    kind: "command",
    passed: false,
    output: "bash: -c: line 1: syntax error near unexpected token `('",
    exit_code: 2,
  };
  const says = { "is itself wrong": '{"file_exists": "a"}' };
  const { descent, steps, rewritten } = scene({ finds: [GREEN], examined, says });
  assertEquals(await descent.run(), "passed");
  assertEquals(steps, ["T1 failed", "T3 passed", "T2 passed", "T6 passed"]);
  assertEquals(rewritten, [{ file_exists: "a" }]);

  const refused = scene({ finds: [GREEN], examined, says, allowed: false });
  assertEquals(await refused.descent.run(), "passed");
  assertEquals(refused.steps, ["T1 failed", "T3 passed", "T6 failed", "T2 passed", "T7 passed"]);
  assertEquals(refused.rewritten, []);
});

Deno.test("what a failure does not say the model is asked, and in doubt it is the code", async () => {
  const silent = { output: "", exit_code: 1 };
  const says = { "Answer with one word": "**ac_bug**" };
  const known = scene({ finds: [silent], says });
  await known.descent.run();
  assertEquals([...known.classes], ["ac_bug"]);

  const unknown = scene({ finds: [silent], says: { "Answer with one word": "It depends." } });
  assertEquals(await unknown.descent.run(), "failed");
  assertEquals([...unknown.classes], ["code_bug"]);
});

Deno.test("a criterion without a check is judged by the last line of the answer", async () => {
  const criterion = { id: "c", description: "it is readable" };
  const judge = (answer: string) => scene({ finds: [], criterion, says: { "# Judge": answer } });
  const passed = judge("I read it.\nPASS it is");
  assertEquals(await passed.descent.run(), "passed");
  assert(passed.prompts[0].endsWith("it is readable"));
  for (const answer of ["PASS at first\nFAIL on a second look", "Perhaps."]) {
    assertEquals(await judge(answer).descent.run(), "failed", answer);
  }
});

Deno.test("a second run has what the first left of the tries", async () => {
  const { descent, prompts } = scene({ finds: [RED, RED, GREEN, RED] });
  assertEquals(await descent.run(), "passed");
  assertEquals(await descent.run(), "failed");
  assertEquals(prompts.length, 3);
});
