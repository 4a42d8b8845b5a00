import { assertEquals, assertMatch } from "@std/assert";
import { answerProblem, hintOf, type PersonQuestion, typedAnswer } from "./person_question.ts";

const asked: PersonQuestion = {
  question: "Which one?",
  options: [{ label: "Two" }, { label: "1" }, { label: "x, y" }],
  multiple: false,
  free_text: false,
};
const many = { ...asked, multiple: true };
const free = { ...asked, free_text: true };
const chosen = (...labels: string[]) => ({ answer: { chosen: labels } });

Deno.test("a number is the option that it stands before, not one that is called so", () => {
  assertEquals(typedAnswer(asked, " 1 "), chosen("Two"));
  assertEquals(typedAnswer(asked, "2"), chosen("1"));
  assertEquals(typedAnswer(asked, "two"), chosen("Two"));
  assertEquals(typedAnswer(asked, "x, y"), chosen("x, y"));
  assertEquals(typedAnswer(asked, "0"), undefined);
  for (const line of ["", "4", "1,2", "other"]) {
    assertMatch(typedAnswer(asked, line)!.problem!, /a number from 1 to 3, or 0 to skip/, line);
  }
});

Deno.test("several numbers are for several options, and all else is the person's own words", () => {
  assertEquals(typedAnswer(many, "1, 3"), chosen("Two", "x, y"));
  assertEquals(typedAnswer(many, "3 3 1"), chosen("x, y", "Two"));
  assertEquals(typedAnswer(free, "1,2"), { answer: { chosen: [], text: "1,2" } });
  assertEquals(typedAnswer(free, " both "), { answer: { chosen: [], text: "both" } });
  assertEquals(typedAnswer({ ...free, options: [] }, "2"), { answer: { chosen: [], text: "2" } });
  assertEquals(hintOf({ ...free, options: [] }), "your own words, or 0 to skip");
});

Deno.test("an answer fits its question", () => {
  const problem = (question: PersonQuestion, labels: string[], text?: string) =>
    answerProblem(question, { chosen: labels, text });
  assertEquals(problem(asked, ["Two"]), undefined);
  assertEquals(problem(many, ["Two", "1"]), undefined);
  assertEquals(problem(free, [], "mine"), undefined);
  assertMatch(problem(asked, ["two"])!, /not one of the options: "Two", "1"/);
  assertMatch(problem(asked, ["Two", "1"])!, /only one/);
  assertMatch(problem(many, ["Two", "Two"])!, /twice/);
  assertMatch(problem(asked, ["Two"], "mine")!, /only one of the options/);
  assertMatch(problem(free, [], " ")!, /empty/);
});
