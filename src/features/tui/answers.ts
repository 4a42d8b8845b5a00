/** The answers below a pending question, with the keys that give them. */
import { hintOf, SKIP } from "../../protocol/person_question.ts";
import { choiceText, RULE_SCOPES } from "../../session/question.ts";
import type { ApprovalView, Model } from "./model.ts";
import { type Line, line, type Style, wrapLine } from "./text.ts";

/** On a narrower screen rows begin at its edge. */
const INDENTED_COLS = 40;
const CONFIRMS = "  Enter confirms, Esc takes it back";
const CONFIRMS_DENIAL = "  Enter confirms, or type what to do instead";

/** Returns the answers of the first question as rows: one below the other, or all in one row. */
export function answerRows(model: Model, cols: number, in_one: boolean): Line[] {
  const [approval] = model.approvals;
  const short = stateLine(model, approval);
  if (short !== undefined) return in_one ? [short] : indented(short, cols);
  if (in_one) return [oneRow(model, approval)];
  return menu(model, approval).flatMap((it) => indented(it, cols));
}

/** What stands there instead of answers. */
function stateLine(model: Model, approval: ApprovalView): Line | undefined {
  const { asked, chosen, picked, armed, answered, read } = approval;
  if (answered) return line("  answered", "dim");
  if (model.input_denies && model.input_answers === approval.approval_id) {
    return line("  Enter denies it and says what you type; Esc goes back", "bold");
  }
  if (asked?.free_text && model.input_answers !== undefined) {
    return line("  Enter answers with what you type", "bold");
  }
  if (model.focus !== "approval") return line("  Tab to answer", "dim");
  if (asked === undefined) return undefined;
  if (picked !== undefined) {
    return [{ text: `  ${picked.words}`, style: "bold" }, { text: CONFIRMS, style: "plain" }];
  }
  const numbers = chosen.map((at) => at + 1).join(", ");
  const how = read ? hintOf(asked) : `v shows all of it first, or ${SKIP} to skip`;
  const text = armed ? `  ${numbers === "" ? how : `${numbers} chosen; Enter answers`}` : "  …";
  return line(text, armed ? "bold" : "dim");
}

/** The way to what of a question was not on the screen. */
function unread(model: Model, { left_out }: ApprovalView): [key: string, words: string] {
  if (left_out > 0) return [`${left_out} more characters:`, "open the web app"];
  return [model.approval_shown ? "PgDn to its end" : "v", "shows all of it first"];
}

function mayAllow({ read, left_out }: ApprovalView): boolean {
  return read && left_out === 0;
}

/** All answers in one row, for a low screen. */
function oneRow(model: Model, approval: ApprovalView): Line {
  const { picked, armed, always } = approval;
  if (picked !== undefined) {
    return [{ text: `  ${picked.words}`, style: "bold" }, { text: CONFIRMS, style: "plain" }];
  }
  const style: Style = armed ? "bold" : "dim";
  const key = (text: string): Line => [{ text: armed ? text : "…", style }];
  const words = (text: string): Line => [{ text, style: "plain" }];
  if (!mayAllow(approval)) {
    const [how, what] = unread(model, approval);
    return [
      ...words("  "),
      ...key("n"),
      ...words(" deny  "),
      { text: how, style },
      ...words(` ${what}`),
    ];
  }
  return [
    ...[...words("  "), ...key("1 y"), ...words(" allow  ")],
    ...[...key("3 n"), ...words(" deny  ")],
    ...[...key("2 a"), ...words(` always allow ${always}`)],
  ];
}

/** The answers one below the other. */
function menu(model: Model, approval: ApprovalView): Line[] {
  const { picked, rule_chosen, always, typed } = approval;
  const confirms = typed === "3" ? CONFIRMS_DENIAL : CONFIRMS;
  const row = (number: string, letter: string, decision: string, words: string): Line => {
    const here = picked?.decision === decision ||
      (decision === "allow_always" && rule_chosen !== undefined);
    const keys = approval.armed ? `${number} ${letter}` : "…";
    const style: Style = approval.armed ? "bold" : "dim";
    return [
      { text: `${here ? "▸" : " "} ${keys}`, style },
      {
        text: ` ${here && picked !== undefined ? picked.words : words}`,
        style: here ? "bold" : "plain",
      },
      { text: here && picked !== undefined ? confirms : "", style: "plain" },
    ];
  };
  const deny = row("3", "n", "deny", "deny, and say what to do instead");
  if (!mayAllow(approval)) {
    const [how, what] = unread(model, approval);
    return [[{ text: `  ${how}`, style: "bold" }, { text: ` ${what}`, style: "plain" }], deny];
  }
  return [
    row("1", "y", "allow", "allow"),
    row("2", "a", "allow_always", `always allow ${always}`),
    ...ruleLines(approval),
    deny,
  ];
}

/** The rules to keep, once `always` is picked. */
function ruleLines({ question, picked, rule_chosen }: ApprovalView): Line[] {
  const { choices = [] } = question;
  const is_open = rule_chosen !== undefined ||
    (picked?.decision === "allow_always" && picked.always === undefined);
  if (!is_open || choices.length === 0) return [];
  const where = RULE_SCOPES.map(({ key, words }) => `${key} ${words}`).join("  ");
  const how = rule_chosen === undefined
    ? `or a rule (1-${choices.length}), then where: `
    : "where? ";
  return [
    ...choices.map((choice, n): Line => {
      const here = choice === rule_chosen;
      const text = `    ${here ? "▸" : " "} ${n + 1} ${choiceText(question, choice)}`;
      return line(text, here ? "bold" : "plain");
    }),
    [{ text: `      ${how}`, style: "plain" }, { text: where, style: "bold" }],
  ];
}

/** Breaks a line that is too long; its other rows stand further right, if there is room. */
function indented(spans: Line, cols: number): Line[] {
  const indent = cols < INDENTED_COLS ? "" : "      ";
  const [first, ...more] = wrapLine(spans, cols - indent.length);
  return [first, ...more.map((row): Line => [{ text: indent, style: "plain" }, ...row])];
}
