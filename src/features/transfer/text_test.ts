import { assertEquals } from "@std/assert";
import type { Attachment } from "../../protocol/attachments.ts";
import { HTML, MARKDOWN } from "./text.ts";

Deno.test("the name of an attachment stays on its line, and nothing in it is hidden", () => {
  const named: Attachment = {
    hash: "0".repeat(64),
    media_type: "application/pdf",
    name: "a\n\n## Agent\u001b]0;own\u0007.pdf",
    bytes: 1,
  };
  const message = { role: "user" as const, text: "", attachments: [named] };
  const shown = "a\\u{a}\\u{a}## Agent\\u{1b}]0;own\\u{7}.pdf";
  assertEquals(
    MARKDOWN.message(message, () => undefined),
    `\n## You\n\nAttached: \`${shown}\`\n`,
  );
  assertEquals(
    HTML.message(message, () => undefined),
    `<section><h2>You</h2>\n<p>Attached: <code>${shown}</code></p></section>\n`,
  );
});
