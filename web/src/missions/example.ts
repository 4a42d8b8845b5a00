import type { Spec } from "./spec_form.ts";

/** A statement of work to begin with: two tasks side by side, one after them, and how it is checked. */
export const EXAMPLE: Spec = {
  id: "greet",
  name: "A greeting in two languages",
  sessions: [{
    id: "words",
    title: "The words",
    tasks: [
      {
        id: "english",
        description: 'Write hello.txt with the one line "Hello".',
        files: ["hello.txt"],
      },
      {
        id: "french",
        description: 'Write bonjour.txt with the one line "Bonjour".',
        files: ["bonjour.txt"],
      },
      {
        id: "both",
        description: "Write greet.sh, which prints hello.txt and then bonjour.txt.",
        dependencies: ["english", "french"],
        files: ["greet.sh"],
      },
    ],
    acceptance_criteria: [
      {
        id: "prints",
        description: "greet.sh prints both lines",
        command: 'test "$(sh greet.sh)" = "$(cat hello.txt bonjour.txt)"',
      },
      {
        id: "word",
        description: "hello.txt has the word",
        content_match: { file: "hello.txt", pattern: "^Hello$" },
      },
    ],
  }],
};
