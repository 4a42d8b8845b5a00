/** A session at the top of a repository starts its states from the repository's index and objects. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { gitInstalled } from "../support/repository.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

const ignore = !can_run_svc || !gitInstalled() || Deno.build.os === "windows";

type Tree = Record<string, string>;

/** All files and links of a directory, below `.git` too, but not `.svc`. */
function treeOf(dir: string, prefix = ""): Tree {
  const tree: Tree = {};
  for (const { name } of Deno.readDirSync(join(dir, prefix))) {
    const path = prefix + name;
    if (path === ".svc") continue;
    const info = Deno.lstatSync(join(dir, path));
    if (info.isSymlink) tree[path] = `-> ${Deno.readLinkSync(join(dir, path))}`;
    else if (info.isDirectory) Object.assign(tree, treeOf(dir, `${path}/`));
    else {
      const text = new TextDecoder("latin1").decode(Deno.readFileSync(join(dir, path)));
      tree[path] = `${(info.mode! & 0o777).toString(8)} ${info.mtime?.getTime()} ${text}`;
    }
  }
  return Object.fromEntries(Object.entries(tree).sort());
}

/** Content and mode without times. */
function contentOf(tree: Tree): Tree {
  return Object.fromEntries(
    Object.entries(tree).filter(([path]) => !path.startsWith(".git/"))
      .map(([path, text]) => [path, text.replace(/^(\d+) \d+ /, "$1 ")]),
  );
}

/** Whether objects of the repository have another name in a store. */
function areLinked(workdir: string): boolean {
  const objects = join(workdir, ".git", "objects");
  return [...Deno.readDirSync(objects)].filter(({ name }) => /^[0-9a-f]{2}$/.test(name))
    .flatMap(({ name }) => [...Deno.readDirSync(join(objects, name))].map((it) => [name, it.name]))
    .some(([directory, name]) => (Deno.statSync(join(objects, directory, name)).nlink ?? 1) > 1);
}

const FILES = ["clean", "edited", "staged", "assumed", "skipped", "private", "deep/in", "gone"];
const PREPARE = `git init -q -b main . && git config core.fileMode false
git config filter.turn.clean 'tr a-m n-z' && git config filter.turn.smudge 'tr n-z a-m'
for f in ${FILES.join(" ")}; do mkdir -p $(dirname $f); echo base $f >$f; done
ln -s clean link; ln -s nowhere loose; printf 'one\\r\\ntwo\\r\\n' >dos; echo abc >turned; echo k >kept.o
echo '$Id$' >ident; : >empty; : >later; echo run >tool; chmod 755 tool
echo '*.o' >.gitignore
git init -q sub && git -C sub -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m s
git add -f . 2>/dev/null && git -c user.name=a -c user.email=a@b.invalid commit -qm base || exit 1
git add -N later; sleep 1.1; git update-index -q --refresh
git update-index --assume-unchanged assumed && git update-index --skip-worktree skipped
echo mine >edited; echo mine >staged; git add staged; echo mine >assumed; echo mine >skipped
echo mine >later; echo mine >untracked; chmod 600 private; chmod 755 clean; rm gone
ln -sf edited loose`;
const CHANGE = `for f in ${FILES.join(" ")} dos turned ident empty later tool untracked; do
rm -f $f; echo model >$f; done
rm link loose; echo model >loose; mkdir link; echo model >link/f; rm -r deep`;

/** `linked`: whether objects must have names in the store. */
const CASES: Record<string, { before: string; linked?: boolean }> = {
  "a repository": { before: "true", linked: true },
  "converted line ends": {
    before: "git config core.autocrlf input; printf '* text\\nident ident\\n' >.gitattributes",
    linked: true,
  },
  "a filter": { before: "echo 'turned filter=turn' >.gitattributes" },
  "a filter of the machine's own": {
    before: "echo 'turned filter=turn' >.git/info/attributes",
    linked: false,
  },
  "packs": { before: "true", linked: true },
};

for (const [name, { before, linked }] of Object.entries(CASES)) {
  Deno.test({
    name: `${name}: files come back as they were, and the repository stays as it is`,
    ignore,
    async fn() {
      await using it = await Scenario.begin([
        { calls: [{ name: "run_command", args: { command: CHANGE } }] },
        { text: "Done." },
      ]);
      const { workdir } = it;
      const [first, ...rest] = PREPARE.split("\n");
      const lines = [first, before, ...rest, name === "packs" ? "git gc -q" : "true"];
      const sh = new Deno.Command("sh", { args: ["-c", lines.join("\n")], cwd: workdir });
      assert(sh.outputSync().success);
      const old = treeOf(workdir);
      await it.turn("go");
      if (name === "packs") {
        const packs = [...Deno.readDirSync(join(workdir, ".git/objects/pack"))];
        const pack = packs.find(({ name }) => name.endsWith(".pack"))!.name;
        assertEquals(Deno.statSync(join(workdir, ".git/objects/pack", pack)).nlink, 2);
      } else if (linked !== undefined) assertEquals(areLinked(workdir), linked);
      assert(treeOf(workdir).clean !== old.clean);
      await it.call("session.rewind");
      const now = treeOf(workdir);
      assertEquals(contentOf(now), contentOf(old));
      const repository = (tree: Tree) =>
        Object.fromEntries(Object.entries(tree).filter(([path]) => path.startsWith(".git/")));
      assertEquals(repository(now), repository(old));
      // What is ignored is in no state, tracked or not.
      const { files } = await it.call("session.changes");
      assertEquals(files, []);
    },
  });
}
