import { assertEquals } from "@std/assert";
import { TASK_TYPES } from "../../tasks/task.ts";
import { chooseSkill, saysNothingMore } from "./choice.ts";

const PAGE = "https://example.org/";
const REPO = "https://github.com/denoland/std";

/** What is asked, and the skill and options that follow. */
const CLEAR: [said: string | string[], task_type: string, extra: Record<string, unknown>][] = [
  ["What does a heron eat?", "research", {}],
  ["¿Qué come una garza?", "research", {}],
  [
    `Hello! Could you please summarize ${PAGE}a_(bird), and (see ${PAGE}b)?`,
    "research",
    { urls: [`${PAGE}a_(bird)`, `${PAGE}b`] },
  ],
  ["Tell me about herons.", "research", {}],
  ["How do I fix a failing test?", "research", {}],
  ["research: herons", "research", {}],
  ["Use the research skill to find herons", "research", {}],
  [`Open ${PAGE}.`, "browser", { url: PAGE }],
  [`Take a screenshot and a PDF of ${PAGE}`, "browser", {
    url: PAGE,
    screenshot: true,
    pdf: true,
  }],
  ["Please take a screenshot.", "browser", { screenshot: true }],
  ["Does a heron eat fish?", "research", {}],
  [`Is ${PAGE} up?`, "browser", { url: PAGE }],
  [`Check that ${PAGE} shows "Example Domain"`, "browser", {
    url: PAGE,
    expected_text: "Example Domain",
  }],
  [`Fix the failing test in ${REPO}.`, "code", { repo: REPO }],
  ["Fix the failing test", "code", {}],
  [`Please rename the module in ${PAGE}project.git`, "code", { repo: `${PAGE}project.git` }],
  [["Fix the failing test", REPO], "code", { repo: REPO }],
  [["Hello", "research", `${PAGE}`], "research", { urls: [PAGE] }],
  [["Take a screenshot", PAGE], "browser", { url: PAGE, screenshot: true }],
  [["Take a screenshot", `Is it ${PAGE}?`], "browser", { url: PAGE, screenshot: true }],
  [["Take a screenshot", `Summarize ${PAGE} instead`], "research", { urls: [PAGE] }],
  ["Deploy staging", "deploy", { target: "staging" }],
  ["Please deploy to the `web-1` target now.", "deploy", { target: "web-1" }],
  ["Roll out staging as a dry run", "deploy", { target: "staging", dry_run: true }],
  [["Deploy", "staging"], "deploy", { target: "staging" }],
  [["deploy stagin", "staging"], "deploy", { target: "staging" }],
  ["Deploy what we built yesterday to wherever it belongs", "deploy", {}],
];

for (const [said, task_type, extra] of CLEAR) {
  Deno.test(`${JSON.stringify(said)} is a ${task_type} task`, () => {
    assertEquals(chooseSkill([said].flat(), TASK_TYPES), { task_type, extra });
  });
}

for (
  const said of [
    "Hello from a client!",
    "What can you do?",
    "How are you",
    "Do it",
    PAGE,
    `${PAGE} is nice.`,
    "Write a poem about herons",
    "Open the window",
    "The weather is fine today",
    "Release the hounds",
    "codeine",
    "",
    "\0\u202e",
  ]
) {
  Deno.test(`${JSON.stringify(said)} asks for nothing clear`, () => {
    assertEquals(chooseSkill([said], TASK_TYPES), undefined);
  });
}

Deno.test("a skill that is not offered is not chosen", () => {
  assertEquals(chooseSkill(["What does a heron eat?"], ["code", "deploy"]), undefined);
  assertEquals(chooseSkill(["research: herons"], ["code", "deploy"]), undefined);
  const up = chooseSkill([`Is ${PAGE} up?`], ["research"]);
  assertEquals(up, { task_type: "research", extra: { urls: [PAGE] } });
});

Deno.test("names and greetings are not part of a request", () => {
  for (const said of ["Research", "use the browser skill.", "Hello!", " hi ", "Thank you"]) {
    assertEquals(saysNothingMore(said, TASK_TYPES), true, said);
  }
  for (const said of ["Research herons", "Hello world", "painting", "use the force"]) {
    assertEquals(saysNothingMore(said, TASK_TYPES), false, said);
  }
});

Deno.test("a hostile text takes no longer than its size", () => {
  const began = performance.now();
  for (const unit of ["please ", "(", "https://", "deploy ", "[({", "'\"`", "shows ", " ?", "a."]) {
    const text = unit.repeat(1024 * 1024 / unit.length);
    chooseSkill([text, `deploy ${text}`, `Open https://${text}`], TASK_TYPES);
    saysNothingMore(text, TASK_TYPES);
  }
  // A quadratic search takes minutes.
  assertEquals(performance.now() - began < 20_000, true);
});
