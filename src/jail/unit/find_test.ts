import { assertEquals } from "@std/assert";
import { testUnit } from "../../../tests/support/rooted.ts";
import { find } from "./find.ts";
import { UnitArgs } from "./protocol.ts";
import { walk } from "./walk.ts";

const files = {
  "src/main.ts": "",
  "src/domain/x.ts": "",
  ".svc/main.key": "",
  ".git/main": "",
  ".gitignore": "dist/\n",
  "dist/main.js": "",
  "a name with spaces.md": "",
};

testUnit("find ranks files and directories, without ignored and hidden ones", async (c) => {
  const paths = async (query: string, limit?: number) =>
    JSON.parse(await find(c, new UnitArgs({ query, limit }))).paths;
  assertEquals(await paths("main"), ["src/main.ts", "src/domain/", "src/domain/x.ts"]);
  assertEquals(await paths("name w"), ["a name with spaces.md"]);
  assertEquals(await paths("nothing like it"), []);
  assertEquals(await paths("", 2), ["src/", ".gitignore"]);
  const { complete } = JSON.parse(await find(c, new UnitArgs({})));
  assertEquals(complete, true);
}, { files, hidden: [".svc"] });

testUnit("a walk reads no more than its budget, ignored files too", (c) => {
  const walked = (entries: number) => {
    const budget = { entries };
    return [[...walk(c.fs, "", budget)].length, budget.entries];
  };
  // The control: there is room for all of it, with what is not walked.
  assertEquals(walked(100), [6, 92]);
  const [shown, left] = walked(3);
  assertEquals([shown <= 3, left], [true, 0]);
  assertEquals(walked(8)[1], 0);
}, { files, hidden: [".svc"] });
