import { assertEquals } from "@std/assert";
import { testUnit } from "../../../tests/support/rooted.ts";
import { find } from "./find.ts";
import { UnitArgs } from "./protocol.ts";

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
