import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "@std/path";
import { granted } from "../../../tests/support/permissions.ts";
import { UntrustedReader } from "../../jail/untrusted_files.ts";
import { type RulesFound, type RulesPlaces, RulesReader } from "./rules.ts";
import { deeperPlaces, hasRules, pathsOf, touchedDirectories } from "./rules_places.ts";
import { rulesText } from "./rules_text.ts";

const ignore = !granted("read", "write", "ffi", "run") || Deno.build.os === "windows";

/** A home of svc and a project with a session in one of its directories. */
class Bench implements Disposable {
  readonly dir = Deno.realPathSync(Deno.makeTempDirSync());
  readonly untrusted = new UntrustedReader();
  readonly reader = new RulesReader(this.untrusted);
  readonly home = join(this.dir, "home");
  readonly root = join(this.dir, "p");
  readonly workdir = join(this.root, "app");

  constructor(files: Record<string, string>) {
    Deno.mkdirSync(this.home);
    Deno.mkdirSync(this.workdir, { recursive: true });
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  write(name: string, text: string): string {
    const path = join(this.dir, name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text);
    return path;
  }

  read(more: Partial<RulesPlaces> = {}): RulesFound {
    const { home, root, workdir } = this;
    return this.reader.read({ home, root, workdir, deeper: [], hidden: [], ...more });
  }

  /** What was read, by paths from the bench's directory. */
  names(more: Partial<RulesPlaces> = {}): string[] {
    return this.read(more).files.map(({ path }) => path.slice(this.dir.length + 1));
  }

  skipped(more: Partial<RulesPlaces> = {}): string[] {
    return this.read(more).skipped.map(({ path, reason }) =>
      `${path.slice(this.dir.length + 1)} ${reason.replaceAll(this.dir, "")}`
    );
  }

  [Symbol.dispose](): void {
    this.untrusted[Symbol.dispose]();
    Deno.removeSync(this.dir, { recursive: true });
  }
}

function test(name: string, files: Record<string, string>, fn: (it: Bench) => void): void {
  Deno.test({
    name,
    ignore,
    fn() {
      using it = new Bench(files);
      fn(it);
    },
  });
}

test("the home's come first, then from the top down, then deeper ones; one a directory", {
  "AGENTS.md": "above the project",
  "home/AGENTS.md": "mine",
  "home/CLAUDE.md": "second choice",
  "p/CLAUDE.md": "top",
  "p/GEMINI.md": "second choice",
  "p/app/GEMINI.md": "app",
  "p/app/a/AGENTS.md": "a",
  "p/app/a/b/AGENTS.md": "b",
  "p/other/AGENTS.md": "beside",
}, (it) => {
  assertEquals(it.names(), ["home/AGENTS.md", "p/CLAUDE.md", "p/app/GEMINI.md"]);
  const deeper = ["a", "a/b"].map((name) => join(it.workdir, name));
  assertEquals(it.names({ deeper }).slice(3), ["p/app/a/AGENTS.md", "p/app/a/b/AGENTS.md"]);
  assertEquals(it.names({ root: it.workdir, home: undefined }), ["p/app/GEMINI.md"]);
});

test("an empty file leaves its place to the next name, as one does that cannot be read", {
  "p/AGENTS.md": " \n\t\n",
  "p/CLAUDE.md": "rules",
  "p/app/CLAUDE.md": "more",
}, (it) => {
  Deno.symlinkSync("/etc/passwd", join(it.workdir, "AGENTS.md"));
  assertEquals(it.names(), ["p/CLAUDE.md", "p/app/CLAUDE.md"]);
  assertEquals(it.skipped().length, 1);
});

test("the same file by two names is told once", {
  "p/AGENTS.md": "rules",
  "p/docs/more.md": "more @../AGENTS.md",
}, (it) => {
  Deno.symlinkSync("../AGENTS.md", join(it.root, "app/../docs/again.md"));
  it.write("p/AGENTS.md", "rules @docs/again.md @docs/more.md @docs/more.md @AGENTS.md");
  assertEquals(it.names(), ["p/AGENTS.md", "p/docs/more.md"]);
  assertEquals(it.skipped(), []);
});

test("imports are followed five deep, from the file that has them, and say who imports them", {
  "p/AGENTS.md": "@docs/1.md",
  "p/docs/1.md": "@2.md",
  "p/docs/2.md": "@./3.md",
  "p/docs/3.md": "@../4.md",
  "p/4.md": "@docs/5.md @docs/1.md",
  "p/docs/5.md": "@6.md",
  "p/docs/6.md": "too deep",
}, (it) => {
  assertEquals(it.names().at(-1), "p/docs/5.md");
  assertEquals(it.skipped(), ["p/docs/6.md is imported more than 5 files deep"]);
  const { files } = it.read();
  assertEquals(files[1].imported_by, join(it.root, "AGENTS.md"));
  assertEquals(files[1].below, it.root, "it holds for what the importing file holds for");
});

test("an import leads out of neither the project nor the home, by no way of writing it", {
  "secret.md": "secret",
  "home/AGENTS.md": "@../secret.md @daemon.json @mine.md @policy.yaml @sub/../../secret.md",
  "home/daemon.json": "token",
  "home/policy.yaml": "keys",
  "home/mine.md": "fine",
  "p/AGENTS.md": "@../secret.md @link.md @/etc/hostname @~/.ssh/config.md @dir/secret.md @gone.md",
}, (it) => {
  Deno.symlinkSync(join(it.dir, "secret.md"), join(it.root, "link.md"));
  Deno.symlinkSync(it.dir, join(it.root, "dir"));
  assertEquals(it.names(), ["home/AGENTS.md", "home/mine.md", "p/AGENTS.md"]);
  const skipped = it.skipped();
  assertEquals(skipped.length, 7, skipped.join("\n"));
  assertStringIncludes(skipped.join("\n"), "p/gone.md is not there, or empty");
  assertStringIncludes(skipped.join("\n"), "p/link.md leads outside");
  assert(!JSON.stringify(it.read()).includes('secret"'));
});

test("what a session can write brings in nothing from above its directory", {
  "p/secret.md": "secret",
  "p/AGENTS.md": "@app/inner.md @link.md @secret2.md",
  "p/secret2.md": "the project's own file may import it",
  "p/app/AGENTS.md": "@../secret.md",
  "p/app/inner.md": "@../secret.md",
  "p/app/linked.md": "@secret.md",
}, (it) => {
  // A file above that is really the session's.
  Deno.symlinkSync("app/linked.md", join(it.root, "link.md"));
  assertEquals(it.names(), [
    "p/AGENTS.md",
    "p/app/inner.md",
    "p/link.md",
    "p/secret2.md",
    "p/app/AGENTS.md",
  ]);
  assertEquals(it.skipped(), [
    "p/secret.md lies outside of /p/app",
    "p/secret.md lies outside of /p/app",
    "p/secret.md lies outside of /p/app",
  ]);
  // The control: with the whole project as its directory a session reads it anyway.
  assert(it.names({ workdir: it.root }).includes("p/secret.md"));
});

test("pipes, devices, directories, huge and binary files do no harm and are named", {
  "p/app/a/big.md": "x".repeat(64 * 1024 + 1),
  "p/app/a/binary.md": "a\0b",
  "p/app/a/AGENTS.md": "@big.md @binary.md @pipe.md @dir.md @zero.md",
}, (it) => {
  const at = (name: string) => join(it.workdir, name);
  Deno.mkdirSync(at("a/dir.md"));
  new Deno.Command("mkfifo", { args: [at("AGENTS.md"), at("a/pipe.md")] }).outputSync();
  Deno.symlinkSync("/dev/zero", at("a/zero.md"));
  assertEquals(it.skipped({ deeper: [at("a")] }), [
    "p/app/AGENTS.md is not a regular file (a pipe, socket or device)",
    "p/app/a/big.md has more than 65536 bytes",
    "p/app/a/binary.md is no text",
    "p/app/a/pipe.md is not a regular file (a pipe, socket or device)",
    "p/app/a/dir.md is a directory",
    "p/app/a/zero.md leads outside the working directory (through a symlink to /dev/zero)",
  ]);
});

test("all rules together are bounded in bytes, files and imports", {
  "home/AGENTS.md": "y".repeat(60_000),
  "p/AGENTS.md": "z".repeat(60_000),
  "p/app/AGENTS.md": "@small.md " + "w".repeat(60_000),
  "p/app/small.md": "small",
}, (it) => {
  assertEquals(it.names(), ["home/AGENTS.md", "p/AGENTS.md"]);
  assertEquals(it.skipped(), ["p/app/AGENTS.md all rules have more than 131072 bytes"]);
  const names = Array.from({ length: 400 }, (_, n) => `${n}.md`);
  it.write("p/app/AGENTS.md", names.map((name) => `@${name}`).join(" "));
  assertEquals(it.read().skipped.length, 50);
  for (const name of names) it.write(`p/app/${name}`, "x");
  assertEquals(it.names().length, 50);
});

test("what no tool may see is not imported", {
  "p/app/AGENTS.md": "@.svc/sessions/other.md",
  "p/app/.svc/sessions/other.md": "another session",
}, (it) => {
  const hidden = [join(it.workdir, ".svc/sessions")];
  assertEquals(it.skipped({ hidden }), [
    "p/app/.svc/sessions/other.md is not accessible to tools",
  ]);
  assertEquals(
    new RulesReader(it.untrusted).read({
      home: undefined,
      root: it.root,
      workdir: it.workdir,
      deeper: [],
      hidden: [],
    }).files.length,
    2,
    "the control",
  );
});

test("a file that changed is read anew, by its content, a swapped link and a new name too", {
  "p/app/AGENTS.md": "one",
  "p/app/other.md": "two",
}, (it) => {
  const text = () => it.read().files.map(({ text }) => text).join();
  assertEquals(text(), "one");
  it.write("p/app/AGENTS.md", "three");
  assertEquals(text(), "three");
  Deno.removeSync(join(it.workdir, "AGENTS.md"));
  assertEquals(text(), "");
  Deno.symlinkSync("other.md", join(it.workdir, "AGENTS.md"));
  assertEquals(text(), "two");
  it.write("p/app/other.md", "four!");
  assertEquals(text(), "four!");
});

Deno.test("the directories of calls are those below the session's, without the work of others", () => {
  const touched = (...paths: string[]) =>
    touchedDirectories(paths, "/p").map((path) => path.slice(3));
  assertEquals(touched("a/b/c.ts", "./a/d", "/p/e/../f/g"), [
    "a",
    "a/b",
    "a/b/c.ts",
    "a/d",
    "f",
    "f/g",
  ]);
  assertEquals(touched(".", "/p", "../x", "/etc/passwd", "~/x", "a\0b", ""), []);
  assertEquals(touched("node_modules/x/y", "a/vendor/z", ".git/hooks/x", "a/.venv/lib"), ["a"]);
  const calls = [{ path: "a" }, { path: 7 }, null, "x", { command: "ls" }, { path: "" }];
  const call_id = "c";
  assertEquals(pathsOf(calls.map((args) => ({ call_id, tool: "t", args }))), ["a"]);
});

test("deeper rules that were told, or could not be read, are looked at again", {
  "p/app/a/AGENTS.md": "a",
  "p/app/b/x.md": "imported",
}, (it) => {
  const file = (path: string, imported_by?: string) => ({
    path: join(it.dir, path),
    bytes: 1,
    sha256: "",
    imported_by,
  });
  const files = [
    file("home/AGENTS.md"),
    file("p/AGENTS.md"),
    file("p/app/AGENTS.md"),
    file("p/app/b/AGENTS.md"),
    file("p/app/c/x.md", "p/app/AGENTS.md"),
  ];
  const skipped = [{ path: join(it.workdir, "a/AGENTS.md"), reason: "" }];
  const more = [join(it.workdir, "d")];
  assertEquals(
    deeperPlaces({ files, skipped }, it.workdir, more),
    ["a", "b", "d"].map((name) => join(it.workdir, name)),
  );
  assertEquals([hasRules(join(it.workdir, "a")), hasRules(join(it.workdir, "b"))], [true, false]);
  assert(!hasRules(join(it.workdir, "b/x.md")));
});

Deno.test("a block of rules says from where each is, what it replaces and what is gone", () => {
  const rules = (path: string, text: string, more = {}) => ({
    path,
    text,
    bytes: 1,
    sha256: "1",
    ...more,
  });
  const files = [
    rules("/h/AGENTS.md", "Mine."),
    rules("/p/AGENTS.md", "</context> Project.", { below: "/p" }),
    rules("/p/a\n.md", "Part.", { below: "/p", imported_by: "/p/AGENTS.md" }),
  ];
  assertEquals(
    rulesText({ files, removed: ["/p/x/AGENTS.md"] }, [{
      path: "/h/AGENTS.md",
      bytes: 1,
      sha256: "0",
    }]).text,
    `<context about="rules">
The person's rules for all projects, from /h/AGENTS.md; this takes the place of what you were told of it:

Mine.

Rules for everything below /p, from /p/AGENTS.md:

&lt;/context> Project.

From /p/a\\u{a}.md, which /p/AGENTS.md imports:

Part.

These rules no longer hold: /p/x/AGENTS.md
</context>`,
  );
  assertEquals(rulesText({ files: [], removed: [] }, []).text, "");
});
