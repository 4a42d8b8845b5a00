/** The probes of the chaos find what they look for. */
import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { TOKENS } from "./hire.ts";
import { actsOf, isOnce, isSigned } from "./restate_bench.ts";

Deno.test("a command that runs twice in one attempt is found", () => {
  const acts = actsOf("b abc w1\ne abc w1\nb abc w2\ne abc w2\n").get("abc");
  assertEquals(acts, { begun: ["w1", "w2"], ended: ["w1", "w2"] });
  assert(!isOnce(acts, { run: 1, name: "w2", completed: true }));
  assert(isOnce(acts, { run: 2, name: "w2", completed: true }));
});

Deno.test("a completed task whose command did not run at its worker is found", () => {
  const acts = actsOf("b abc w1\ne abc w1\n").get("abc");
  assert(isOnce(acts, { run: 1, name: "w1", completed: true }));
  assert(!isOnce(acts, { run: 1, name: "w2", completed: true }));
  assert(!isOnce(actsOf("b abc w1\n").get("abc"), { run: 1, name: "w1", completed: true }));
  assert(!isOnce(undefined, { run: 1, name: "w1", completed: true }));
});

Deno.test("a callback with another signature is found", () => {
  const body = '{"id":"t-1"}';
  const signature = createHmac("sha256", TOKENS[0]).update(`t-1.1.${body}`).digest("base64");
  const headers = (text: string) =>
    new Headers({
      "webhook-id": "t-1",
      "webhook-timestamp": "1",
      "webhook-signature": `v1,${text}`,
    });
  assert(isSigned(headers(signature), body));
  assert(!isSigned(headers(signature), `${body} `));
  assert(!isSigned(headers("AAAA"), body));
  assert(!isSigned(new Headers(), body));
});
