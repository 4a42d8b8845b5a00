import { assertEquals } from "@std/assert";
import { isWithin, pipeName } from "./paths.ts";

Deno.test("a pipe has the user's name, and another one for each home that was chosen", () => {
  const name = (variables: Record<string, string>) => pipeName((it) => variables[it]);
  assertEquals(name({ USERNAME: "me" }), "\\\\.\\pipe\\svc-me");
  // A name has no backslash in it.
  assertEquals(
    name({ USERNAME: "me", SVC_HOME: "D:\\a home\\x" }),
    "\\\\.\\pipe\\svc-me-D-a home-x",
  );
});

Deno.test({
  name: "a path is within a directory, not within one whose name merely begins the same",
  ignore: Deno.build.os === "windows",
  fn() {
    const found = ["/a/b", "/a/b/c", "/a/bc", "/a"].map((path) => isWithin(path, "/a/b"));
    assertEquals(found, [true, true, false, false]);
    assertEquals(isWithin("/a", "/"), true);
  },
});
