import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { toolNamer } from "./names.ts";

Deno.test("a tool is mcp_<server>_<tool>", () => {
  const name = toolNamer(["github", "my-files"]);
  assertEquals(name("github", "create_issue"), "mcp_github_create_issue");
  assertEquals(name("my-files", "read"), "mcp_my-files_read");
});

Deno.test("names are legal for every provider, whatever the server calls its tools", () => {
  const name = toolNamer(["a.b", "s"]);
  const tools = ["", "x y", "ünï", "a/b", "a.b", "x".repeat(200), "x".repeat(201), "\n", "x\0"];
  const names = tools.flatMap((tool) => [name("a.b", tool), name("s", tool)]);
  for (const it of names) assertMatch(it, /^mcp_[A-Za-z0-9_-]{1,60}$/);
  assertEquals(new Set(names).size, names.length);
});

Deno.test("tools of servers whose names differ in capitals alone are told apart", () => {
  const nameOf = toolNamer(["Files", "files"]);
  const names = ["Files", "files"].map((server) => nameOf(server, "read").toLowerCase());
  assertEquals(names.every((it) => /^mcp_files_read_[0-9a-f]{8}$/.test(it)), true);
  assertEquals(new Set(names).size, 2);
});

Deno.test("tools that would get the same name are told apart", () => {
  const name = toolNamer(["a", "a_b"]);
  assertNotEquals(name("a", "b_c"), name("a_b", "c"));
  const dots = toolNamer(["a.b", "a-b", "a_b"]);
  assertEquals(new Set(["a.b", "a-b", "a_b"].map((it) => dots(it, "t"))).size, 3);
  const tools = toolNamer(["s"]);
  assertNotEquals(tools("s", "a.b"), tools("s", "a_b"));
  assertEquals(tools("s", "a_b"), "mcp_s_a_b");
});

Deno.test("a name depends on the servers there are, not on their order", () => {
  assertEquals(toolNamer(["a", "a_b"])("a", "t"), toolNamer(["a_b", "a"])("a", "t"));
  assert(toolNamer(["a", "b"])("a", "t") === "mcp_a_t");
});
