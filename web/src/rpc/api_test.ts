import { assertEquals } from "@std/assert";
import { explain, type Params, type Result, RpcError, type VerbName } from "./api.ts";

type IsAny<T> = 0 extends 1 & T ? true : false;

Deno.test("the verbs' types come through: no name is any string, no parameter is any value", () => {
  // @ts-expect-error -- there is no such verb
  const name: VerbName = "session.none";
  // @ts-expect-error -- it takes a session_id
  const params: Params<"session.kill"> = {};
  const any: IsAny<Params<"session.start"> | Result<"session.list"> | Result<"task.list">> = false;
  assertEquals([name, params, any], ["session.none", {}, false]);
});

Deno.test("a hint is a sentence after the message", () => {
  const explained = (message: string, hint?: string) =>
    explain(new RpcError("validation", message, hint));
  assertEquals(explained("it is not there"), "it is not there");
  assertEquals(
    explained("it is not there", "copy it again; nothing was saved"),
    "it is not there. Copy it again; nothing was saved.",
  );
  assertEquals(explained("none", "run `svc login`, or not."), "none. Run svc login, or not.");
  assertEquals(explained("none", "`svc serve` starts it"), "none. svc serve starts it.");
  assertEquals(explained("none", "base_url says where"), "none. base_url says where.");
});
