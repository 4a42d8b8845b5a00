import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { TreeWatch } from "./tree_watch.ts";

const ignore = !granted("read", "write", "ffi", "sys") || Deno.build.os !== "linux";

/** The C library stays open. */
const sanitizeResources = false;

/** A directory with some of everything, and a name of one of its files outside. */
class Tree implements Disposable {
  readonly #dir = Deno.realPathSync(Deno.makeTempDirSync());
  readonly workdir = join(this.#dir, "work");
  readonly outside = join(this.#dir, "outside");

  constructor() {
    for (const dir of ["a/b/c", "skipped/deep", ".git", ".svc", "nested/.git", "nested/src"]) {
      Deno.mkdirSync(this.path(dir), { recursive: true });
    }
    for (const file of ["top", "a/one", "a/b/two", "a/b/c/three", "skipped/deep/f", "nested/f"]) {
      Deno.writeTextFileSync(this.path(file), "text");
    }
    Deno.symlinkSync("a", this.path("link"));
    Deno.linkSync(this.path("a/b/two"), this.outside);
  }

  path(name: string): string {
    return join(this.workdir, name);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#dir, { recursive: true });
  }
}

async function watched(tree: Tree): Promise<TreeWatch> {
  const watch = await TreeWatch.open(
    tree.workdir,
    new Set(["skipped"]),
    new AbortController().signal,
  );
  assert(watch !== undefined);
  assert(watch.restart());
  return watch;
}

interface Change {
  make(tree: Tree): void;
  /** Whether the same watch sees what comes after it. */
  goes_on: boolean;
}

function write(name: string): Change["make"] {
  return (tree) => Deno.writeTextFileSync(tree.path(name), "other");
}

const CHANGES: Record<string, Change> = {
  "a file is written": { make: write("a/b/c/three"), goes_on: true },
  "a file is written in the same size": {
    make: (tree) => Deno.writeTextFileSync(tree.path("top"), "TEXT"),
    goes_on: true,
  },
  "a file comes": { make: write("a/new"), goes_on: true },
  "a file goes": { make: (tree) => Deno.removeSync(tree.path("a/one")), goes_on: true },
  "a file gets another name": {
    make: (tree) => Deno.renameSync(tree.path("a/one"), tree.path("a/b/other")),
    goes_on: true,
  },
  "a file is replaced by another one": {
    make(tree) {
      Deno.writeTextFileSync(tree.outside + "2", "from outside");
      Deno.renameSync(tree.outside + "2", tree.path("a/one"));
    },
    goes_on: true,
  },
  "a mode changes": { make: (tree) => Deno.chmodSync(tree.path("a/one"), 0o755), goes_on: true },
  "a link is made": { make: (tree) => Deno.symlinkSync("x", tree.path("a/l")), goes_on: true },
  "a directory's mode changes": {
    make: (tree) => Deno.chmodSync(tree.path("a/b"), 0o700),
    goes_on: true,
  },
  "a file with two names is written through the one outside": {
    make: (tree) => Deno.writeTextFileSync(tree.outside, "through the other name"),
    goes_on: true,
  },
  "an empty directory goes": {
    make(tree) {
      Deno.removeSync(tree.path("a/b/c"), { recursive: true });
    },
    goes_on: true,
  },
  "a directory comes": { make: (tree) => Deno.mkdirSync(tree.path("a/d")), goes_on: false },
  "a directory gets another name": {
    make: (tree) => Deno.renameSync(tree.path("a/b"), tree.path("a/z")),
    goes_on: false,
  },
  "a directory with files comes from outside": {
    make(tree) {
      Deno.mkdirSync(tree.outside + "2");
      Deno.writeTextFileSync(join(tree.outside + "2", "f"), "text");
      Deno.renameSync(tree.outside + "2", tree.path("a/b/from"));
    },
    goes_on: false,
  },
  "patterns change": { make: write("a/.gitignore"), goes_on: false },
  "the directory itself gets another name": {
    make: (tree) => Deno.renameSync(tree.workdir, tree.workdir + "2"),
    goes_on: false,
  },
  "a directory becomes a repository": {
    make: (tree) => Deno.mkdirSync(tree.path("a/b/.git")),
    goes_on: false,
  },
  "another repository ends": {
    make: (tree) => Deno.removeSync(tree.path("nested/.git"), { recursive: true }),
    goes_on: false,
  },
  "more changes than the kernel keeps": {
    make(tree) {
      for (let n = 0; n < 20_000; n++) {
        const path = tree.path(n % 2 === 0 ? "a/one" : "top");
        Deno.chmodSync(path, n % 4 < 2 ? 0o600 : 0o644);
      }
    },
    goes_on: false,
  },
};

for (const [what, { make, goes_on }] of Object.entries(CHANGES)) {
  Deno.test({
    name: `not quiet: ${what}`,
    ignore,
    sanitizeResources,
    async fn() {
      using tree = new Tree();
      using watch = await watched(tree);
      assert(watch.isQuiet());
      make(tree);
      assert(!watch.isQuiet());
      assertEquals(watch.restart(), goes_on);
      if (!goes_on) return;
      assert(watch.isQuiet());
      Deno.writeTextFileSync(tree.path("a/b/after"), "text");
      assert(!watch.isQuiet());
    },
  });
}

Deno.test({
  name: "quiet: files are read, and what no state includes changes",
  ignore,
  sanitizeResources,
  async fn() {
    using tree = new Tree();
    using watch = await watched(tree);
    Deno.readTextFileSync(tree.path("a/one"));
    assertEquals([...Deno.readDirSync(tree.path("a"))].length, 2);
    for (const name of [".git/index", ".svc/journal", "skipped/deep/f", "nested/src/f"]) {
      write(name)(tree);
    }
    assert(watch.isQuiet());
    // A control: the same in a directory that is included.
    write("a/f")(tree);
    assert(!watch.isQuiet());
  },
});

Deno.test({
  name: "a file that gets another name later is looked at once that is known",
  ignore,
  sanitizeResources,
  async fn() {
    using tree = new Tree();
    using watch = await watched(tree);
    Deno.linkSync(tree.path("top"), tree.outside + "2");
    watch.alsoLookAt("top");
    watch.restart();
    assert(watch.isQuiet());
    Deno.writeTextFileSync(tree.outside + "2", "through it");
    assert(!watch.isQuiet());
  },
});

Deno.test({
  name: "a watch that is closed, or sees too much, leaves nothing open",
  ignore,
  sanitizeResources,
  async fn() {
    using tree = new Tree();
    const open = () =>
      [...Deno.readDirSync("/proc/self/fd")].filter(({ name }) => {
        try {
          return Deno.readLinkSync(`/proc/self/fd/${name}`).includes("inotify");
        } catch {
          // The listing's own.
          return false;
        }
      }).length;
    const before = open();
    const watch = await watched(tree);
    assertEquals(open(), before + 1);
    watch[Symbol.dispose]();
    for (let n = 0; n < 300; n++) Deno.linkSync(tree.outside, tree.path(`a/linked${n}`));
    const signal = new AbortController().signal;
    assertEquals(await TreeWatch.open(tree.workdir, new Set(), signal), undefined);
    assertEquals(open(), before);
  },
});
