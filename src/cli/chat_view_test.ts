import { assertEquals } from "@std/assert";
import type { SessionEvent } from "../protocol/events.ts";
import type { ThemeName } from "../protocol/themes.ts";
import { themed } from "./theme.ts";
import { ChatView } from "./chat_view.ts";

function printed(name: ThemeName = "none") {
  let text = "";
  let seq = 0;
  const view = new ChatView({
    paint: themed({ name, depth: "16" }),
    write: (piece) => void (text += piece),
    say: (line) => void (text += `${line}\n`),
  });
  return {
    view,
    /** What is printed for events. */
    of(...events: [string, unknown][]): string {
      text = "";
      for (const [type, data] of events) {
        view.apply({ seq: ++seq, at: "", type, data } as SessionEvent);
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
  assertEquals(chat.of(message("not\x1b[2J mine", "id-2")), "› not\\u{1b}[2J mine\n");
  assertEquals(chat.of(message("from an older client")), "› from an older client\n");
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
  const shown = "● edit_file a.txt\n";
  const failed = "└ failed the text is not there\n  read the file\n";
  const chat = printed();
  assertEquals(chat.of(started, asked, allowed, ended), `${shown}allowed\n${failed}`);
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
      "● edit_file a.txt",
      "  a.txt: +2 −1",
      "   9 - one",
      "   9 + 1",
      "  10 + 2",
      `└ ${output}`,
      "",
    ],
  );
});

Deno.test("the output of a command has the colours that it printed, and no other sequence", () => {
  const call = { call_id: "c", tool: "run_command", args: { command: "make" }, lane_id: "main" };
  const output = "error: \x1b[2Jit\nand more\n";
  const end = { ...call, ok: false, output, looks: [0, 5, 9, 14, 3, 2, 18, 9, 2] };
  const chat = printed("terminal");
  const text = chat.of(["session.tool_started", call], ["session.tool_completed", end]);
  assertEquals(text.split("\n").slice(1), [
    "\x1b[31m└ failed\x1b[0m \x1b[31;1merror\x1b[0m\x1b[2m: \\u{1b}[2Jit\x1b[0m",
    "\x1b[2m  \x1b[0m\x1b[32mand\x1b[0m\x1b[2m more\x1b[0m",
    "",
  ]);
});

Deno.test("of a long change the beginning is printed", () => {
  const args = { path: "a.txt", content: "x\n".repeat(100) };
  const call = { call_id: "c", tool: "write_file", args, lane_id: "main" };
  const end = { ...call, ok: true, output: "written" };
  const text = printed().of(["session.tool_started", call], ["session.tool_completed", end]);
  assertEquals(text.split("\n").slice(24, 28), [
    " 23 + x".padStart(9),
    "  … 77 more lines",
    "└ written",
    "",
  ]);
});

Deno.test("a file of one long line is not printed in full", () => {
  const args = { path: "a.txt", content: "x".repeat(1_000_000) };
  const call = { call_id: "c", tool: "write_file", args, lane_id: "main" };
  const end = { ...call, ok: true, output: "written" };
  const text = printed().of(["session.tool_started", call], ["session.tool_completed", end]);
  assertEquals([text.includes("  1 + xxx"), text.length < 1_000], [true, true]);
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
  assertEquals(text, "half an answerturn interrupted\n");
});
