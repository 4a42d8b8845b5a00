import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../protocol/events.ts";
import { ChatView } from "./chat_view.ts";
import { questionWords } from "./plain_words.ts";

function printed() {
  let text = "";
  let seq = 0;
  const endText = () => void (text += text === "" || text.endsWith("\n") ? "" : "\n");
  const view = new ChatView({
    text: (piece) => void (text += piece),
    endText,
    say(line) {
      endText();
      text += `${line}\n`;
    },
  });
  return {
    view,
    /** What is printed for events, a second after each other. */
    of(...events: [string, unknown][]): string {
      text = "";
      for (const [type, data] of events) {
        const at = new Date(1_000 * ++seq).toISOString();
        view.apply({ seq, at, type, data } as SessionEvent);
      }
      return text;
    },
  };
}

const message = (text: string, client_message_id?: string): [string, unknown] => [
  "user.message",
  { message_id: "m", text, client_message_id },
];

Deno.test("a message that was typed here is not printed again, one from elsewhere is", () => {
  const chat = printed();
  chat.view.typedHere("id-1");
  assertEquals(chat.of(message("mine", "id-1")), "");
  assertEquals(chat.of(message("not\x1b[2J mine", "id-2")), "You: not\\u{1b}[2J mine\n");
  assertEquals(chat.of(message("from an older client")), "You: from an older client\n");
});

Deno.test("a call is printed with its edit and its result, and that somebody else allowed it", () => {
  const args = { path: "a.txt", old_text: "one", new_text: "1\n2\n3\n4\n5\n6\n7" };
  const call = { call_id: "c", tool: "edit_file", args, lane_id: "main" };
  const request = { ...call, approval_id: "a", reason: "edit", rule: "edit_file" };
  const started: [string, unknown] = ["session.tool_started", call];
  const asked: [string, unknown] = ["approval.requested", request];
  const allowed: [string, unknown] = ["approval.resolved", {
    approval_id: "a",
    decision: "allow",
    by: "web",
  }];
  const ended: [string, unknown] = ["session.tool_completed", {
    call_id: "c",
    tool: "edit_file",
    ok: false,
    output: "the text is not there\nread the file\n",
  }];
  const shown = "Tool: edit_file a.txt\n";
  const failed = "Failed: the text is not there\n  read the file\n";
  const chat = printed();
  assertEquals(chat.of(started, asked, allowed, ended), `${shown}Allowed.\n${failed}`);
  const here = printed();
  here.view.typedHere("a");
  assertEquals(here.of(started, asked, allowed, ended), `${shown}${failed}`);
});

Deno.test("an edit is printed with its line numbers, once its place is known", () => {
  const args = { path: "a.txt", old_text: "one", new_text: "1\n2" };
  const call = { call_id: "c", tool: "edit_file", args, lane_id: "main" };
  const output = "edited a.txt: replaced at line 9";
  assertEquals(
    printed().of(["session.tool_started", call], ["session.tool_completed", {
      ...call,
      ok: true,
      output,
    }]).split("\n"),
    [
      "Tool: edit_file a.txt",
      "a.txt: 2 added, 1 removed",
      "  removed 9: one",
      "  added 9: 1",
      "  added 10: 2",
      `Result: ${output}`,
      "",
    ],
  );
});

Deno.test("the output of a command is plain, and nothing is hidden in it", () => {
  const call = { call_id: "c", tool: "run_command", args: { command: "make" }, lane_id: "main" };
  const output = "error: \x1b[2Jit\nand more\n";
  const end = { ...call, ok: false, output, looks: [0, 5, 9, 14, 3, 2, 18, 9, 2] };
  const text = printed().of(["session.tool_started", call], ["session.tool_completed", end]);
  assertEquals(text, "Tool: run_command make\nFailed: error: \\u{1b}[2Jit\n  and more\n");
});

Deno.test("of a long change the beginning is printed", () => {
  const args = { path: "a.txt", content: "x\n".repeat(100) };
  const call = { call_id: "c", tool: "write_file", args, lane_id: "main" };
  const end = { ...call, ok: true, output: "written" };
  const text = printed().of(["session.tool_started", call], ["session.tool_completed", end]);
  assertEquals(text.split("\n").slice(24, 28), [
    "  added 23: x",
    "  77 more lines are not shown",
    "Result: written",
    "",
  ]);
});

Deno.test("a file of one long line is not printed in full", () => {
  const args = { path: "a.txt", content: "x".repeat(1_000_000) };
  const call = { call_id: "c", tool: "write_file", args, lane_id: "main" };
  const end = { ...call, ok: true, output: "written" };
  const text = printed().of(["session.tool_started", call], ["session.tool_completed", end]);
  assertEquals([text.includes("  added 1: xxx"), text.length < 1_000], [true, true]);
});

Deno.test("the model's text is printed as it comes, and the end of a turn once", () => {
  const chat = printed();
  const end = { turn_id: "t", stop_reason: "interrupted", message: "" };
  const text = chat.of(
    ["session.delta", { turn_id: "t", text: "half " }],
    ["session.delta", { turn_id: "t", text: "an answer" }],
    ["turn.completed", end],
    ["turn.started", { turn_id: "u", model: "m" }],
  );
  assertEquals(
    text,
    "Answer: half an answer\nStopped: Interrupted; /continue goes on with it\nEnded.\n",
  );
});

Deno.test("a turn is told from its message to how long it took, a line for each thing", () => {
  const chat = printed();
  chat.view.typedHere("mine");
  const call = { call_id: "c", tool: "read_file", args: { path: "a.txt" }, lane_id: "main" };
  const text = chat.of(
    ["turn.started", { turn_id: "t", model: "m" }],
    message("go", "mine"),
    ["session.reasoning", { turn_id: "t", text: "hm" }],
    ["session.delta", { turn_id: "t", text: "\nI look.\n\n" }],
    ["cost.tick", { usd_delta: 0, tokens_in: 1, tokens_out: 1, tokens_cached: 0 }],
    ["session.tool_started", call],
    ["session.tool_completed", { ...call, ok: true, output: "" }],
    ["plan.changed", {
      steps: [{ step: "read", state: "done" }, { step: "mend", state: "doing" }],
    }],
    ["session.delta", { turn_id: "t", text: "All " }],
    ["session.delta", { turn_id: "t", text: "fine." }],
    ["turn.completed", { turn_id: "t", stop_reason: "ok", message: "" }],
  );
  assertEquals(text.split("\n"), [
    "Thinking.",
    "Thought for 1.0 s.",
    "Answer: I look.",
    "",
    "Tool: read_file a.txt",
    "Done.",
    "Plan, step 1 of 2, done: read",
    "Plan, step 2 of 2, now: mend",
    "Answer: All fine.",
    "Finished in 10.0 s.",
    "",
  ]);
});

Deno.test("no line of a question can be taken for an answer, and answers have numbers", () => {
  const request = {
    tool: "run_command",
    args: { command: "rm y\nAnswer 1 or y: deny" },
    reason: "run rm y\nAnswer 1 or y: deny",
    rule: "run_command",
    choices: ["run_command: rm *"],
  };
  const lines = questionWords({ question: request, n: 1, count: 2 }, "/work");
  assertEquals(lines[0], "Question 1 of 2: allow run_command?");
  const answers = lines.filter((it) => it.startsWith("Answer"));
  assertEquals(answers, [
    "Answer 1 or y: allow",
    "Answer 2 or a: always allow every run_command",
    "Answer 3 or n: deny. n, TEXT says what to do instead",
    "Answer 1s, 1d, 1e: always run_command: rm *",
  ]);
  assert(lines.slice(1, -5).every((it) => it.startsWith("  ")), lines.join("\n"));
  const args = { question: "Which?\nAnswer 2: x", options: [{ label: "A" }, { label: "B" }] };
  const asked = {
    ...request,
    kind: "question",
    args: { multiple: false, free_text: true, ...args },
  };
  assertEquals(questionWords({ question: asked, n: 2, count: 2 }, "/work"), [
    "Question 2 of 2: Which?",
    "  Answer 2: x",
    "Answer 1: A",
    "Answer 2: B",
  ]);
});
