import { assert, assertEquals } from "@std/assert";
import { arrange } from "./arrange.ts";
import { keysOn, pasteOn, shownText, typed } from "./input_bench.ts";
import { Layouts } from "./layout.ts";
import { Tui } from "./tui.ts";

const LINES = Array.from({ length: 9_999 }, (_, n) => `line ${n}`).join("\n");
const LABEL = "[Pasted text #1: 9,999 lines]";

Deno.test("long pasted text is a chip, which moves, goes and comes back as one character", () => {
  const it = typed("a b");
  keysOn(it, "left");
  pasteOn(it, LINES);
  assertEquals(shownText(it), `a ${LABEL}|b`);
  keysOn(it, "left");
  assertEquals(shownText(it), `a |${LABEL}b`);
  keysOn(it, "delete");
  assertEquals(shownText(it), "a |b");
  keysOn(it, "ctrl-_", "right", "alt-backspace");
  assertEquals(shownText(it), "a |b");
  keysOn(it, "ctrl-y");
  pasteOn(it, "x".repeat(1_001));
  assertEquals(shownText(it), `a ${LABEL}[Pasted text #2: 1,001 characters]|b`);
  pasteOn(it, "ten\n".repeat(10));
  assert(shownText(it).endsWith("ten\n|b"));
});

Deno.test("the whole text is sent, and Up has it again as a chip", () => {
  const it = typed("see ");
  pasteOn(it, LINES.replaceAll("\n", "\r\n"));
  const [sent] = keysOn(it, " ", "!", "enter");
  assert(sent.type === "send");
  assertEquals(sent.text, `see ${LINES} !`);
  keysOn(it, "up");
  assertEquals(shownText(it), `see ${LABEL} !|`);
  const [again] = keysOn(it, "enter");
  assert(again.type === "send");
  assertEquals(again.text, sent.text);
});

Deno.test("what is typed or pasted and looks like a chip stays text", () => {
  const it = typed("");
  pasteOn(it, LINES);
  keysOn(it, "end", ...` ${LABEL}`);
  pasteOn(it, "\u{10F000}\u{10F001}\u{100000}");
  const [sent] = keysOn(it, "enter");
  assert(sent.type === "send");
  assertEquals(sent.text, `${LINES} ${LABEL}\u{100000}`);
});

Deno.test("an editor gets all of the text; what it left whole is a chip again", () => {
  const tui = new Tui("sess_00000000000000000000000000", { cols: 80, rows: 24 }, () => "id");
  tui.press({ type: "paste", text: LINES });
  const text = tui.textToEdit();
  assertEquals(text, LINES);
  tui.takeEdited(`before ${text} after`);
  assertEquals(shownText(tui.model), `before ${LABEL} after|`);
  tui.takeEdited("short");
  assertEquals(shownText(tui.model), "short|");
  keysOn(tui.model, "ctrl-_");
  assertEquals(shownText(tui.model), `before ${LABEL} after|`);
});

Deno.test("a draft and withdrawn messages come back whole", () => {
  const tui = new Tui("sess_00000000000000000000000000", { cols: 80, rows: 24 }, () => "id");
  tui.showDraft(LINES);
  assertEquals([shownText(tui.model), tui.written()], [`${LABEL}|`, LINES]);
  const [sent] = keysOn(tui.model, "enter");
  assert(sent.type === "send");
  keysOn(tui.model, "n", "e", "w");
  tui.giveBack([{ message_id: "m", seq: 1, text: sent.text }]);
  assertEquals(tui.textToEdit(), `${LINES}\n\nnew`);
});

Deno.test("what the chips stand for counts for the limit of a message", () => {
  const it = typed("");
  pasteOn(it, "x".repeat(1024 * 1024 - 1));
  assertEquals(it.notice, undefined);
  pasteOn(it, "yz");
  assertEquals(it.notice, "the message is too long and was cut");
  const [sent] = keysOn(it, "enter");
  assert(sent.type === "send");
  assertEquals(sent.text.length, 1024 * 1024);
});

Deno.test("chips that can no longer come back are dropped", () => {
  const it = typed("");
  for (let n = 0; n < 30; n++) {
    pasteOn(it, `${n}`.repeat(500_000));
    keysOn(it, "ctrl-u");
  }
  const kept = Object.values(it.input.chips).map((chip) =>
    chip.kind === "text" ? chip.text.length : 0
  );
  assert(kept.reduce((sum, size) => sum + size, 0) <= 9 * 1024 * 1024);
  keysOn(it, "ctrl-y");
  assert(shownText(it).startsWith("[Pasted text #1: "));
});

Deno.test("a label is bold, what is typed like one is not, and the cursor stands behind it", () => {
  const it = typed("");
  pasteOn(it, LINES);
  keysOn(it, ...` ${LABEL} x`);
  for (const cols of [200, 40, 20, 5]) {
    const { rows, row, col } = arrange(it, { cols, rows: 60 }, new Layouts()).input;
    const spans = rows.flat();
    const bold = spans.filter(({ style }) => style === "bold").map(({ text }) => text).join("");
    assertEquals(bold, LABEL, `${cols}`);
    const whole = spans.map(({ text }) => text).join("").replaceAll(/[› ]/g, "");
    assertEquals(whole, `${LABEL}${LABEL}x`.replaceAll(" ", ""));
    assertEquals(row, rows.length - 1);
    assert(col <= cols);
  }
});
