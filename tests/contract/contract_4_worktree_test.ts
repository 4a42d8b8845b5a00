/** contract.md section 4: worktree and verify, on a real repository with a Makefile. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled, Repository } from "../support/repository.ts";
import type { Json, SocketClient } from "./client.ts";
import { assertRpcError, connect, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();
const ignore = !gitInstalled();

function section4(name: string, fn: (client: SocketClient, repo: Repository) => Promise<void>) {
  row("contract", "4 worktree, verify", name, async () => {
    using repo = new Repository({ "a.txt": "one\n", "Makefile": MAKEFILE });
    await using client = await connect(it);
    await fn(client, repo);
  }, { ignore });
}

const MAKEFILE = "build:\n\t@echo built\ntest:\n\t@echo tested; exit 3\nlint:\n\t@echo linted\n";

/** A worktree of that name, with one more line in a.txt. */
async function changed(client: SocketClient, repo: Repository, name: string): Promise<Json> {
  const made = await client.call("worktree.create", { workdir: repo.root, name });
  Deno.writeTextFileSync(join(made.path, "a.txt"), "one\ntwo\n");
  return made;
}

section4("worktree.list, create", async (client, repo) => {
  const workdir = repo.root;
  assertEquals(await client.call("worktree.list", { workdir }), { worktrees: [] });
  const made = await changed(client, repo, "w");
  assertEquals(made.base_commit, repo.git("rev-parse", "HEAD"));
  const { worktrees: [listed] } = await client.call("worktree.list", { workdir });
  assertEquals([listed.name, listed.path, listed.uncommitted], ["w", made.path, 1]);
  assertEquals(repo.git("status", "--porcelain"), "");
});

section4("worktree.diff {full?}: what a merge would bring, with a cap", async (client, repo) => {
  const { path } = await changed(client, repo, "w");
  Deno.writeTextFileSync(join(path, "long.txt"), "a line of text\n".repeat(20_000));
  const call = { workdir: repo.root, name: "w" };
  const short = await client.call("worktree.diff", call);
  assertEquals([short.files_changed, short.added, short.truncated], [2, 20_001, true]);
  assertStringIncludes(short.patch, "+two");
  const full = await client.call("worktree.diff", { ...call, full: true });
  assert(full.patch.length > short.patch.length);
  assertEquals(full.truncated, false);
});

for (const strategy of [undefined, "squash", "ours"]) {
  section4(
    `worktree.merge {strategy: ${strategy ?? "ff-only (default)"}}`,
    async (client, repo) => {
      await changed(client, repo, "w");
      const before = repo.git("rev-parse", "HEAD");
      const { merged } = await client.call("worktree.merge", {
        workdir: repo.root,
        name: "w",
        strategy,
      });
      assertEquals(merged, true);
      const text = Deno.readTextFileSync(join(repo.root, "a.txt"));
      assertEquals(text, strategy === "ours" ? "one\n" : "one\ntwo\n");
      assertEquals(repo.git("status", "--porcelain"), "");
      assert(repo.git("rev-parse", "HEAD") !== before);
    },
  );
}

section4("worktree.merge: a conflict leaves everything untouched", async (client, repo) => {
  const { path } = await changed(client, repo, "w");
  repo.write({ "a.txt": "other\n" });
  repo.commit("meanwhile");
  const head = repo.git("rev-parse", "HEAD");
  const result = await client.call("worktree.merge", {
    workdir: repo.root,
    name: "w",
    strategy: "squash",
  });
  assertEquals([result.merged, result.conflicts], [false, ["a.txt"]]);
  assertEquals([repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain")], [head, ""]);
  assertEquals(Deno.readTextFileSync(join(path, "a.txt")), "one\ntwo\n");
});

section4("worktree.clean", async (client, repo) => {
  const { path } = await changed(client, repo, "w");
  const call = { workdir: repo.root, name: "w" };
  const { error } = await client.ask({ method: "worktree.clean", params: call });
  assertRpcError(error, -32003, "conflict");
  await client.call("worktree.merge", call);
  await client.call("worktree.clean", call);
  assertEquals(await client.call("worktree.list", { workdir: repo.root }), { worktrees: [] });
  assertEquals([...Deno.readDirSync(join(path, ".."))], []);
});

section4("verify.build, lint: {exit_code, log_tail, duration_ms}", async (client, repo) => {
  for (const [verb, says] of [["build", "built"], ["lint", "linted"]]) {
    const result = await client.call(`verify.${verb}`, { workdir: repo.root });
    assertEquals([result.exit_code, result.log_tail.trim()], [0, says]);
    assertEquals(typeof result.duration_ms, "number");
  }
});

section4(
  "verify.test: {exit_code, passed?, failed?, failing?[], log_tail}",
  async (client, repo) => {
    const bare = await client.call("verify.test", { workdir: repo.root });
    assert(bare.exit_code !== 0);
    assertStringIncludes(bare.log_tail, "tested");
    const tap = "TAP version 13\nok 1 - adds\nnot ok 2 - divides\n1..2\n# pass 1\n# fail 1\n";
    repo.write({ "Makefile": "test:\n\t@cat report; exit 1\n", "report": tap });
    const told = await client.call("verify.test", { workdir: repo.root });
    assertEquals([told.passed, told.failed, told.failing], [1, 1, ["divides"]]);
  },
);
