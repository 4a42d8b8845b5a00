import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { branchOf } from "./branch.ts";
import { granted } from "../../tests/support/permissions.ts";

Deno.test({
  name: "the branch of a directory, also below it, in a worktree, and without any",
  ignore: !granted("read", "write"),
  async fn() {
    const dir = Deno.makeTempDirSync();
    try {
      const put = (path: string, text: string) => {
        Deno.mkdirSync(join(dir, path, ".."), { recursive: true });
        Deno.writeTextFileSync(join(dir, path), text);
      };
      put("repo/.git/HEAD", "ref: refs/heads/topic/one\n");
      put("repo/src/a.ts", "");
      put("repo/.git/worktrees/w/HEAD", "ref: refs/heads/other\n");
      put("tree/.git", `gitdir: ${join(dir, "repo/.git/worktrees/w")}\n`);
      put("detached/.git/HEAD", "0123456789abcdef\n");
      put("large/.git/HEAD", `ref: refs/heads/${"x".repeat(2_000)}\n`);
      const found = ["repo", "repo/src", "tree", "detached", "large/.git/none"]
        .map((path) => branchOf(join(dir, path)));
      assertEquals(await Promise.all(found), [
        ...["topic/one", "topic/one", "other", undefined, undefined],
      ]);
    } finally {
      Deno.removeSync(dir, { recursive: true });
    }
  },
});
