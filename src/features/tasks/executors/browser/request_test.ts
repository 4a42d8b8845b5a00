import { assert, assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../../../protocol/errors.ts";
import { readBrowserRequest } from "./request.ts";

const read = (extra: Record<string, unknown>) =>
  readBrowserRequest({ task_type: "browser", query: "x", extra });
const url = "https://example.com/";

Deno.test("a request is read with its defaults", () => {
  const { pattern, ...rest } = read({ url, unknown: 1 });
  assertEquals(rest, { url, screenshot: false, pdf: false, actions: [] });
  assertEquals(pattern, undefined);
});

Deno.test("what will not do is named", () => {
  const cases: [Record<string, unknown>, string][] = [
    [{}, "extra.url"],
    [{ url: "file:///etc/passwd" }, "only http and https"],
    [{ url: "data:text/html,x" }, "only http and https"],
    [{ url: "https://a:b@example.com/" }, "credentials"],
    [{ url, expected_text: "" }, "extra.expected_text"],
    [{ url, expected_regex: "(" }, "extra.expected_regex"],
    [{ url, expected_regex: "(?=x)" }, "extra.expected_regex"],
    [{ url, actions: [{ type: "fly" }] }, "extra.actions.0"],
    [{ url, actions: [{ type: "click" }] }, "extra.actions.0.selector"],
    [{ url, actions: [{ type: "wait", ms: 1e9 }] }, "extra.actions.0.ms"],
    [{ url, actions: Array(51).fill({ type: "wait", ms: 1 }) }, "extra.actions"],
  ];
  for (const [extra, named] of cases) assertThrows(() => read(extra), SvcError, named);
});

Deno.test("a pattern that would take a backtracking engine for ever is matched at once", () => {
  const { pattern } = read({ url, expected_regex: "^(a+)+$" });
  assert(!pattern!.matcher(`${"a".repeat(10_000)}b`).find());
  assert(pattern!.matcher("b\naaa\nc").find(), "each line counts");
});
