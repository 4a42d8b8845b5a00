import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { delay } from "@std/async";
import { dirname, join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { Listings } from "./later_listings.ts";
import { laterFiles } from "./later_scan.ts";

const ignore = !granted("write") || Deno.build.os !== "linux";

function search(workdir: string, listings?: Listings) {
  const places = { home: undefined, hidden: new Set<string>() };
  const steps = laterFiles(workdir, { ...places, max_entries: 10_000, states: true, listings });
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function write(...parts: string[]): void {
  const path = join(...parts);
  Deno.mkdirSync(dirname(path), { recursive: true });
  Deno.writeTextFileSync(path, "text");
}

/** Longer than a directory may be changed without a sign of it. */
const SETTLED_MS = 1_100;

/** What a program may do between two searches. */
const CHANGES: Record<string, (at: string) => void> = {
  "adds a file that runs later": (at) => write(at, "a/b/.npmrc"),
  "adds one, and sets the directory's times back"(at) {
    const { atime, mtime } = Deno.statSync(join(at, "a/c"));
    write(at, "a/c/.envrc");
    Deno.utimeSync(join(at, "a/c"), atime!, mtime!);
  },
  "removes one": (at) => Deno.removeSync(join(at, "old/.npmrc")),
  "adds directories": (at) => write(at, "a/new/deep/mise.toml"),
  "exchanges a directory for a link"(at) {
    Deno.removeSync(join(at, "three"), { recursive: true });
    Deno.symlinkSync("old", join(at, "three"));
  },
  "makes a directory a repository"(at) {
    for (const name of ["objects", "refs"]) Deno.mkdirSync(join(at, "old", name));
    write(at, "old/HEAD");
  },
  "makes a repository": (at) => write(at, "a/b/.git/hooks/pre-commit"),
  "makes a directory unreadable, and readable again"(at) {
    Deno.chmodSync(join(at, "two/x"), 0);
    Deno.chmodSync(join(at, "two/x"), 0o755);
  },
  "changes one in place": (at) => Deno.writeTextFileSync(join(at, "top/.envrc"), "more"),
  "exchanges a directory for another of its name"(at) {
    Deno.renameSync(join(at, "one"), join(at, "old_one"));
    Deno.renameSync(join(at, "two"), join(at, "one"));
  },
};

Deno.test({
  name: "a search with listings finds what one without them finds, whatever programs do",
  ignore,
  async fn() {
    const workdir = Deno.realPathSync(Deno.makeTempDirSync());
    try {
      for (const path of ["a/b/x", "a/c/x", "old/.npmrc", "one/x", "three/.envrc"]) {
        write(workdir, path);
      }
      write(workdir, "two/x/.envrc");
      write(workdir, "top/.envrc");
      const listings = new Listings(workdir);
      const holds = (what: string) => {
        const found = search(workdir);
        assertEquals(search(workdir, listings), found, what);
        return found.files.map(({ path, state }) => `${path} ${state}`).join();
      };
      await delay(SETTLED_MS);
      let before = holds("at first");
      for (const [name, change] of Object.entries(CHANGES)) {
        change(workdir);
        const after = holds(`a program ${name}`);
        if (!name.includes("unreadable")) assertNotEquals(after, before, name);
        before = after;
      }
      await delay(SETTLED_MS);
      holds("at last");
      holds("again");
    } finally {
      Deno.removeSync(workdir, { recursive: true });
    }
  },
});

Deno.test({
  name: "a directory that has not changed is not read again",
  ignore,
  async fn() {
    const workdir = Deno.realPathSync(Deno.makeTempDirSync());
    try {
      write(workdir, ".envrc");
      write(workdir, "plain");
      const asked: string[] = [];
      const list = (listings: Listings) =>
        listings.of(workdir, ({ name }) => {
          asked.push(name);
          return name === ".envrc";
        });
      const listings = new Listings(workdir);
      list(listings);
      // It may change within the same tick.
      list(listings);
      assertEquals(asked.length, 4);
      await delay(SETTLED_MS);
      const { entries, count } = list(listings);
      assertEquals([entries.map(({ name }) => name), count], [[".envrc"], 2]);
      assertEquals(asked.length, 6);
      assert(list(listings) === list(listings));
      assertEquals(asked.length, 6);
    } finally {
      Deno.removeSync(workdir, { recursive: true });
    }
  },
});
