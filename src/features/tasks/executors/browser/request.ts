/** The options of a browser task in `extra`. */
import { RE2JS } from "re2js";
import * as z from "zod";
import { messageOf, SvcError } from "../../../../protocol/errors.ts";
import { parseAddress, Refusal } from "../../../../net/http_get.ts";
import type { TaskRequest } from "../../task.ts";

const ACTIONS_MAX = 50;
const WAIT_MAX_MS = 60_000;
const PATTERN_MAX = 1_000;

const selector = z.string().min(1).max(1_000);

const action = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("click"), selector }),
  z.strictObject({ type: z.literal("fill"), selector, value: z.string().max(100_000) }),
  z.strictObject({
    type: z.literal("wait"),
    selector: selector.optional(),
    text: z.string().min(1).optional(),
    ms: z.int().min(0).max(WAIT_MAX_MS).optional(),
  }),
]);
export type BrowserAction = z.output<typeof action>;

export const BrowserExtra = z.object({
  url: z.string().min(1),
  expected_text: z.string().min(1).optional(),
  expected_regex: z.string().min(1).max(PATTERN_MAX).optional(),
  screenshot: z.boolean().default(false),
  pdf: z.boolean().default(false),
  actions: z.array(action).max(ACTIONS_MAX).default([]),
});

export interface BrowserRequest extends z.output<typeof BrowserExtra> {
  pattern?: RE2JS;
}

/** Parses a request. @throws {SvcError} validation, naming the field. */
export function readBrowserRequest({ extra = {} }: TaskRequest): BrowserRequest {
  const parsed = BrowserExtra.safeParse(extra);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues;
    throw new SvcError("validation", `extra.${path.join(".")}: ${message}`, {
      hint: "a browser task takes url, expected_text, expected_regex, screenshot, pdf and actions",
    });
  }
  try {
    parseAddress(parsed.data.url);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new SvcError("validation", `extra.url: ${error.message}`);
  }
  const { expected_regex } = parsed.data;
  if (expected_regex === undefined) return parsed.data;
  try {
    return { ...parsed.data, pattern: RE2JS.compile(expected_regex, RE2JS.MULTILINE) };
  } catch (error) {
    throw new SvcError("validation", `extra.expected_regex: ${messageOf(error)}`, {
      hint: "use RE2 syntax, without lookaround and backreferences",
    });
  }
}
