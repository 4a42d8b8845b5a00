import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { gitInstalled, Repository } from "../../../tests/support/repository.ts";
import { MemoryLog } from "../../../tests/support/sessions.ts";
import { withoutHome } from "../../../tests/support/surroundings.ts";
import { detectSandbox } from "../../jail/sandbox.ts";
import { GitWorkspace, missionBranch } from "./git_workspace.ts";

const ID = "m-01ARZ3NDEKTSV4RRFFQ69G5FAV";
const BRANCH = `svc/${ID}`;
const ignore = !granted("read", "write", "run", "env", "sys") || Deno.build.os === "windows" ||
  !gitInstalled();
const { signal } = new AbortController();

interface Bench {
  repo: Repository;
  workspace: GitWorkspace;
  /** Another one of the same mission, as a later daemon has it. */
  again(): GitWorkspace;
}

function test(name: string, run: (bench: Bench) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      using repo = new Repository({ "f.txt": "one\n" });
      using sandbox = await detectSandbox("auto", withoutHome());
      const branch = await missionBranch(repo.root, ID, sandbox, signal);
      assertEquals(branch, { name: BRANCH, base: repo.git("rev-parse", "HEAD") });
      const { base } = branch!;
      const options = { workdir: repo.root, mission_id: ID, base, sandbox, log: new MemoryLog() };
      const again = () => new GitWorkspace(options);
      const workspace = again();
      await workspace.prepare(signal, []);
      await run({ repo, workspace, again });
    },
  });
}

const change = { message: "change", signal };

test("what is done in a place becomes part of the result and then of the workdir", async ({ repo, workspace }) => {
  const place = await workspace.open("1", signal);
  repo.write({ "new.txt": "new\n" }, place.path);
  let ready = "";
  const done = await place.integrate({ ...change, ready: (commit) => ready = commit });
  assert(done.merged);
  assertEquals(done.commit, ready);
  assertEquals(await workspace.contains(ready, signal), true);
  await place.close();
  assertEquals(repo.git("status", "--porcelain"), "", "the workdir is untouched so far");
  const delivery = await workspace.deliver(signal);
  assertEquals(delivery, { delivered: true, commit: ready });
  assertEquals(Deno.readTextFileSync(join(repo.root, "new.txt")), "new\n");
  assertEquals((await workspace.deliver(signal)).delivered, true, "once more is the same");
  assertEquals(await workspace.close(), undefined);
  assertEquals(repo.git("branch", "--list", "svc/*"), "");
});

test("a place without changes adds nothing", async ({ workspace }) => {
  const place = await workspace.open("1", signal);
  assertEquals(await place.integrate(change), { merged: true });
  await place.close();
  assertEquals(await workspace.close(), undefined);
});

test("what is put into .svc of a place never reaches the workdir's own", async ({ repo, workspace }) => {
  const place = await workspace.open("1", signal);
  const planted = { ".svc/sessions/x/journal.ndjson": "{}\n", ".SVC/y": "y\n", "a": "a\n" };
  repo.write(planted, place.path);
  await place.integrate(change);
  assertEquals(repo.git("ls-tree", "-r", "--name-only", BRANCH), "a\nf.txt");
  await place.close();
  await workspace.close();
});

test("places that change different files come together by themselves", async ({ repo, workspace }) => {
  const places = await Promise.all(["1", "2", "3"].map((name) => workspace.open(name, signal)));
  places.forEach(({ path }, n) => repo.write({ [`${n}.txt`]: "x\n" }, path));
  const done = await Promise.all(places.map((place) => place.integrate(change)));
  assert(done.every(({ merged }) => merged));
  for (const place of places) await place.close();
  await workspace.deliver(signal);
  for (const n of [0, 1, 2]) assertEquals(repo.git("show", `HEAD:${n}.txt`), "x");
  await workspace.close();
});

test("a conflict is left in the place until it is resolved there", async ({ repo, workspace }) => {
  const [one, two] = [await workspace.open("1", signal), await workspace.open("2", signal)];
  repo.write({ "f.txt": "left\n" }, one.path);
  repo.write({ "f.txt": "right\n" }, two.path);
  await one.integrate(change);
  const conflict = { merged: false, conflicts: ["f.txt"] };
  assertEquals(await two.integrate(change), conflict);
  assertStringIncludes(Deno.readTextFileSync(join(two.path, "f.txt")), "<<<<<<<");
  assertEquals(await two.integrate(change), conflict, "it still has its markers");
  repo.write({ "f.txt": "left\n" }, two.path);
  // The merge is concluded though the file is as the other side has it.
  assert((await two.integrate(change)).merged);
  for (const place of [one, two]) await place.close();
  assertEquals(repo.git("show", `${BRANCH}:f.txt`), "left");
  assertEquals(await workspace.close(), BRANCH, "what was not delivered is kept");
});

test("commits made in the workdir meanwhile are merged into the result first", async ({ repo, workspace }) => {
  const place = await workspace.open("1", signal);
  repo.write({ "new.txt": "new\n" }, place.path);
  await place.integrate(change);
  await place.close();
  repo.write({ "person.txt": "mine\n" });
  repo.commit("the person's own");
  assertEquals(await workspace.deliver(signal), { delivered: false, behind: true });
  const merged = await workspace.open("d1", signal);
  assertEquals(await workspace.update(merged, signal), []);
  assert((await merged.integrate(change)).merged);
  await merged.close();
  assertEquals((await workspace.deliver(signal)).delivered, true);
  for (const path of ["new.txt", "person.txt"]) repo.git("cat-file", "-e", `HEAD:${path}`);
  await workspace.close();
});

test("uncommitted files in the way keep the result where it is", async ({ repo, workspace }) => {
  const place = await workspace.open("1", signal);
  repo.write({ "f.txt": "theirs\n" }, place.path);
  await place.integrate(change);
  await place.close();
  repo.write({ "f.txt": "mine\n" });
  const delivery = await workspace.deliver(signal);
  assert(!delivery.delivered && !delivery.behind);
  assertStringIncludes(delivery.reason, "f.txt");
  assertEquals(Deno.readTextFileSync(join(repo.root, "f.txt")), "mine\n");
  assertEquals(await workspace.close(), BRANCH);
});

test("a later daemon finds the result and removes what was left over", async ({ repo, workspace, again }) => {
  const [one, two] = [await workspace.open("1", signal), await workspace.open("2", signal)];
  repo.write({ "1.txt": "x\n" }, one.path);
  repo.write({ "2.txt": "x\n" }, two.path);
  const { commit } = await one.integrate(change) as { commit: string };
  // The machine went down while git held its locks, and one made only the branch of its worktree.
  const refs = join(repo.root, ".git", "refs", "heads", "svc");
  for (const name of [ID, `${ID}-2`]) Deno.writeTextFileSync(join(refs, `${name}.lock`), "");
  repo.git("branch", `${BRANCH}-3`);
  const later = again();
  await later.prepare(signal, []);
  assertEquals(await later.contains(commit, signal), true);
  assertEquals([...Deno.readDirSync(join(repo.root, ".svc", "worktrees"))], []);
  assertEquals(repo.git("branch", "--list", "svc/*").trim(), BRANCH);
  const place = await later.open("2", signal);
  assertEquals(Deno.readTextFileSync(join(place.path, "1.txt")), "x\n");
  await place.close();
  await later.deliver(signal);
  await later.close();
});

test("what a git that was cut off has locked is removed all the same", async ({ repo, workspace }) => {
  await workspace.open("1", signal);
  const refs = join(repo.root, ".git", "refs", "heads", "svc");
  for (const name of [ID, `${ID}-1`, `${ID}-2`]) {
    Deno.writeTextFileSync(join(refs, `${name}.lock`), "");
  }
  assertEquals(await workspace.close(), undefined);
  assertEquals(repo.git("branch", "--list", "svc/*"), "");
  assertEquals([...Deno.readDirSync(join(repo.root, ".svc", "worktrees"))], []);
});

Deno.test({
  name: "a directory without a repository, or without a commit, has no branch for a mission",
  ignore,
  async fn() {
    using repo = new Repository();
    using sandbox = await detectSandbox("auto", withoutHome());
    const below = join(repo.root, "below");
    const empty = join(repo.root, "empty");
    for (const path of [below, empty]) Deno.mkdirSync(path);
    repo.gitAt(empty, "init", "--quiet");
    for (const path of [below, empty]) {
      assertEquals(await missionBranch(path, ID, sandbox, signal), undefined, path);
    }
  },
});
