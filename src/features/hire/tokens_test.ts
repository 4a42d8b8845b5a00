import { assert, assertEquals } from "@std/assert";
import { HireTokens } from "./tokens.ts";

Deno.test("each token is told from the others, and from what is none", () => {
  const tokens = new HireTokens(["first", "second"]);
  assert(tokens.required);
  const [first, second] = ["first", "second"].map((token) => tokens.identify(token));
  assert(first !== undefined && second !== undefined && first !== second);
  for (const wrong of [null, "", "First", "first ", "firstsecond"]) {
    assertEquals(tokens.identify(wrong), undefined, JSON.stringify(wrong));
  }
  assert(!new HireTokens([]).required);
  assertEquals(new HireTokens([]).identify(""), undefined);
});

Deno.test("a signature is that of the token of the key id, while that is accepted", () => {
  const tokens = new HireTokens(["first", "second"]);
  const key_id = tokens.identify("second")!;
  // HMAC-SHA256 under the key "second".
  assertEquals(tokens.sign(key_id, "text"), new HireTokens(["second"]).sign(key_id, "text"));
  assert(tokens.sign(key_id, "text") !== tokens.sign(tokens.identify("first")!, "text"));
  assertEquals(new HireTokens(["first"]).sign(key_id, "text"), undefined);
});
