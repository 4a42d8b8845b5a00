import { assertEquals } from "@std/assert";
import { dirname, join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import { branchIn, findRepository } from "./repository.ts";

const ignore = !granted("read", "write", "ffi") || Deno.build.os === "windows";

interface Scratch extends Disposable {
  path: string;
  untrusted: UntrustedReader;
  file(name: string, text: string): string;
}

function scratch(): Scratch {
  const path = Deno.realPathSync(Deno.makeTempDirSync());
  const untrusted = new UntrustedReader();
  return {
    path,
    untrusted,
    file(name, text) {
      const at = join(path, name);
      Deno.mkdirSync(dirname(at), { recursive: true });
      Deno.writeTextFileSync(at, text);
      return at;
    },
    [Symbol.dispose]() {
      untrusted[Symbol.dispose]();
      Deno.removeSync(path, { recursive: true });
    },
  };
}

Deno.test({
  name: "a repository is found from any directory in it, with its branch or its commit",
  ignore,
  fn() {
    using dir = scratch();
    const uid = Deno.uid()!;
    dir.file("p/.git/HEAD", "ref: refs/heads/feature/one\n");
    dir.file("p/a/b/c.txt", "");
    const root = join(dir.path, "p");
    for (const workdir of [root, join(root, "a/b")]) {
      assertEquals(findRepository(workdir, uid), { root, kind: "main" });
    }
    assertEquals(branchIn({ root, kind: "main" }, dir.untrusted), "feature/one");
    const said: [head: string, branch: string][] = [
      [`${"0123456789".repeat(4)}\n`, "none, detached at 012345678901"],
      ["ref: refs/heads/.invalid\n", "unknown"],
      ["ref: refs/heads/a\nb\n", "unknown"],
      ["ref: refs/heads/a\u202eb\n", "unknown"],
      ["x".repeat(5000), "unknown"],
      ["", "unknown"],
    ];
    for (const [head, branch] of said) {
      dir.file("p/.git/HEAD", head);
      assertEquals(branchIn({ root, kind: "main" }, dir.untrusted), branch);
    }
  },
});

Deno.test({
  name: "a HEAD that is a link to another file, or a pipe, is not read",
  ignore,
  fn() {
    using dir = scratch();
    const secret = dir.file("secret", "ref: refs/heads/secret\n");
    dir.file("p/.git/config", "");
    const root = join(dir.path, "p");
    Deno.symlinkSync(secret, join(root, ".git/HEAD"));
    assertEquals(branchIn({ root, kind: "main" }, dir.untrusted), "unknown");
    Deno.removeSync(join(root, ".git/HEAD"));
    new Deno.Command("mkfifo", { args: [join(root, ".git/HEAD")] }).outputSync();
    assertEquals(branchIn({ root, kind: "main" }, dir.untrusted), "unknown");
  },
});

Deno.test({
  name: "a file in the place of .git is not asked where its git directory is",
  ignore,
  fn() {
    using dir = scratch();
    dir.file("other/HEAD", "ref: refs/heads/secret\n");
    dir.file("p/.git", `gitdir: ${join(dir.path, "other")}\n`);
    const linked = findRepository(join(dir.path, "p"), 0)!;
    assertEquals([linked.kind, branchIn(linked, dir.untrusted)], ["other", "unknown"]);
    dir.file("p/.svc/worktrees/fix/.git", `gitdir: ${join(dir.path, "other")}\n`);
    const own = findRepository(join(dir.path, "p/.svc/worktrees/fix"), 0)!;
    assertEquals([own.kind, branchIn(own, dir.untrusted)], ["worktree", "svc/fix"]);
  },
});

Deno.test({
  name: "a repository of another user above the directory does not count",
  ignore: ignore || Deno.uid() !== 0,
  fn() {
    using dir = scratch();
    dir.file("p/.git/HEAD", "ref: refs/heads/main\n");
    dir.file("p/a/b.txt", "");
    const root = join(dir.path, "p");
    assertEquals(findRepository(join(root, "a"), 0)?.root, root);
    Deno.chownSync(join(root, ".git"), 12345, 12345);
    assertEquals(findRepository(join(root, "a"), 0), undefined);
    assertEquals(findRepository(join(root, "a"), 12345)?.root, root);
    assertEquals(findRepository(root, 0)?.root, root, "the person chose that directory");
  },
});
