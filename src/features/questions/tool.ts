/** The tool with which a model asks the person. */
import { personQuestionSchema } from "../../protocol/schemas/question.ts";
import { defineTool, type Tool } from "../../agent/tool.ts";
import { answerText, type PersonQuestion, unansweredText } from "../../protocol/person_question.ts";

/** Makes the tool. Sessions that work for others do not have it. */
export function askUserTool(): Tool {
  return defineTool({
    name: "ask_user",
    description:
      "Asks the person a question and waits for the answer. Use it when the answer decides what you do " +
      "next and neither the project nor the conversation has it. Offer options where you can; the " +
      "person may also answer in their own words, unless free_text is false.",
    access: "read",
    waits: true,
    offered: ({ trust }) => trust === "trusted",
    input: personQuestionSchema().refine(
      ({ options = [], free_text = true }) => free_text || options.length > 0,
      {
        error: "a question without options needs free_text",
      },
    ).refine(
      ({ options = [] }) =>
        new Set(options.map(({ label }) => folded(label))).size === options.length,
      { error: "two options have the same label" },
    ),
    prepare({ question, options = [], multiple = false, free_text = true }) {
      return Promise.resolve<PersonQuestion>({ question, options, multiple, free_text });
    },
    describe: ({ question }: PersonQuestion) => `ask the person: ${question}`,
    async run(question, { askPerson }) {
      const outcome = await askPerson(question);
      if (typeof outcome === "string") return { ok: false, output: unansweredText(outcome) };
      return { ok: true, output: answerText(outcome, question) };
    },
  });
}

/** Labels that a person could not tell apart when typing them are the same. */
function folded(label: string): string {
  return label.normalize().toLowerCase();
}
