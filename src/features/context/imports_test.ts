import { assertEquals } from "@std/assert";
import { importsIn } from "./imports.ts";

const paths = (text: string) => importsIn(text).map(({ path }) => path);

Deno.test("an import is a path after @ at the beginning of a word, once, in order", () => {
  assertEquals(
    paths(
      "@AGENTS.md\nSee @docs/style.md, @./a.md and (@../b.txt). **@c.md** @docs/style.md\n- @/x/y",
    ),
    ["AGENTS.md", "docs/style.md", "./a.md", "../b.txt", "c.md", "/x/y"],
  );
});

Deno.test("addresses, names, decorators and code import nothing", () => {
  assertEquals(
    paths("me@example.org a@b/c.md @Injectable() @someone `@docs/a.md` ``x ` @b.md``"),
    [],
  );
  assertEquals(
    paths(
      "@before.md\n```sh\n@inside.md\n~~~\n```\n@after.md\n  ~~~~\n@in.md\n```\n~~~\n@in2.md\n~~~~",
    ),
    ["before.md", "after.md"],
  );
  assertEquals(paths("```\n@never.md"), [], "a block without an end goes to the end");
});

Deno.test("only what names a text file is missed where it is not there", () => {
  assertEquals(importsIn("@angular/core @README @notes.MD @package.json"), [
    { path: "angular/core", meant: false },
    { path: "notes.MD", meant: true },
    { path: "package.json", meant: false },
  ]);
});

Deno.test("a text made to be slow is read at once", () => {
  assertEquals(paths("`".repeat(60_000)).length, 0);
  assertEquals(paths("@".repeat(60_000)).length, 0);
  assertEquals(paths(`@a${".".repeat(60_000)}`).length, 0);
  assertEquals(paths(`${"`` ` ".repeat(15_000)}`).length, 0);
});
