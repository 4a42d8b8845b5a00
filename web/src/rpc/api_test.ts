import { assertEquals } from "@std/assert";
import type { Params, Result, VerbName } from "./api.ts";

type IsAny<T> = 0 extends 1 & T ? true : false;

Deno.test("the verbs' types come through: no name is any string, no parameter is any value", () => {
  // @ts-expect-error -- there is no such verb
  const name: VerbName = "session.none";
  // @ts-expect-error -- it takes a session_id
  const params: Params<"session.kill"> = {};
  const any: IsAny<Params<"session.start"> | Result<"session.list"> | Result<"task.list">> = false;
  assertEquals([name, params, any], ["session.none", {}, false]);
});
