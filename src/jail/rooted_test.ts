import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { chooseRooted, RootedError, type RootedFs, type RootedReason } from "./rooted.ts";
import { openPortable } from "./rooted_portable.ts";

const files = granted("read", "write");
const linux = Deno.build.os === "linux" && granted("ffi");
const posix = Deno.build.os !== "windows";
const SECRET = "secret of the outside";

/** A workdir beside an outside directory, seen through one implementation. */
interface World {
  fs: RootedFs;
  workdir: string;
  outside: string;
}

const MECHANISMS = ["openat2", "realpath"] as const;

/** Runs a test on each implementation that this system has. */
function each(name: string, run: (world: World) => void | Promise<void>, ignore = false): void {
  for (const mechanism of MECHANISMS) {
    Deno.test({
      name: `${mechanism}: ${name}`,
      ignore: ignore || !files || !posix || (mechanism === "openat2" && !linux),
      fn: () => inWorld(mechanism, run),
    });
  }
}

async function inWorld(
  mechanism: typeof MECHANISMS[number],
  run: (world: World) => void | Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir({ prefix: "rooted-" }));
  try {
    const workdir = `${base}/work`;
    const outside = `${base}/outside`;
    Deno.mkdirSync(workdir);
    Deno.mkdirSync(outside);
    Deno.writeTextFileSync(`${outside}/file`, SECRET);
    const hidden = [`${workdir}/.svc`, `${workdir}/other`];
    using rooted = mechanism === "openat2" ? chooseRooted(workdir) : openPortable(workdir);
    const fs = rooted.view(hidden);
    assertEquals(fs.mechanism, mechanism);
    await run({ fs, workdir, outside });
  } finally {
    await Deno.remove(base, { recursive: true });
  }
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function read(fs: RootedFs, path: string): string {
  const buffer = new Uint8Array(4096);
  return new TextDecoder().decode(buffer.subarray(0, fs.read(path, 0, buffer).bytes));
}

/** Asserts that reading, listing, asking and writing are all refused with this reason. */
function refuses(fs: RootedFs, path: string, reason: RootedReason): void {
  const attempts = [
    () => fs.stat(path),
    () => read(fs, path),
    () => fs.list(path),
    () => fs.write(path, bytes("overwritten")),
  ];
  for (const attempt of attempts) {
    const error = assertThrows(attempt, RootedError) as RootedError;
    assertEquals(error.reason, reason, `${error.message}, by ${attempt}`);
  }
}

each("refuses .., absolute paths, /proc and NUL bytes", ({ fs, outside }) => {
  for (const path of ["../outside/file", `${outside}/file`, "/proc/self/environ", "a/../../x"]) {
    refuses(fs, path, "outside");
  }
  refuses(fs, "a\0b", "invalid");
  assertEquals(Deno.readTextFileSync(`${outside}/file`), SECRET);
});

each("refuses symlinks to a file or directory outside", ({ fs, workdir, outside }) => {
  Deno.symlinkSync(`${outside}/file`, `${workdir}/absolute`);
  Deno.symlinkSync("../outside/file", `${workdir}/relative`);
  Deno.symlinkSync(outside, `${workdir}/directory`);
  Deno.symlinkSync("relative", `${workdir}/chain`);
  for (const path of ["absolute", "relative", "directory/file", "chain"]) {
    refuses(fs, path, "outside");
  }
  assertThrows(() => fs.write("directory/new", bytes("x")), RootedError);
  assertThrows(() => fs.write("directory/deep/new", bytes("x")), RootedError);
  assertEquals([...Deno.readDirSync(outside)].map(({ name }) => name), ["file"]);
  assertEquals(Deno.readTextFileSync(`${outside}/file`), SECRET);
});

each("refuses to write through a dangling symlink to outside", ({ fs, workdir, outside }) => {
  Deno.symlinkSync(`${outside}/made`, `${workdir}/dangling`);
  const error = assertThrows(() => fs.write("dangling", bytes("x")), RootedError);
  assertStringIncludes(error.message, "leads outside the working directory");
  assertThrows(() => Deno.lstatSync(`${outside}/made`), Deno.errors.NotFound);
});

each("refuses /proc reached through a symlink", ({ fs, workdir }) => {
  Deno.symlinkSync("/proc/self", `${workdir}/self`);
  for (const path of ["self/root/etc/passwd", "self/environ", "self/cwd"]) {
    const error = assertThrows(() => read(fs, path), RootedError) as RootedError;
    assertEquals(error.reason, "outside");
  }
}, Deno.build.os !== "linux");

each("follows symlinks that stay inside, relative and absolute", ({ fs, workdir }) => {
  Deno.mkdirSync(`${workdir}/a/b`, { recursive: true });
  Deno.writeTextFileSync(`${workdir}/a/b/f`, "inside");
  Deno.symlinkSync("a/b", `${workdir}/relative`);
  Deno.symlinkSync(`${workdir}/a`, `${workdir}/absolute`);
  Deno.symlinkSync("../absolute/b/f", `${workdir}/a/twice`);
  for (const path of ["relative/f", "absolute/b/f", "a/twice"]) {
    assertEquals(read(fs, path), "inside");
  }
  assertEquals(fs.write("a/twice", bytes("written")), "replaced");
  assert(Deno.lstatSync(`${workdir}/a/twice`).isSymlink);
  assertEquals(Deno.readTextFileSync(`${workdir}/a/b/f`), "written");
  assertEquals(fs.write("absolute/new/f", bytes("n")), "created");
  assertEquals(Deno.readTextFileSync(`${workdir}/a/new/f`), "n");
});

each("tells a symlink loop", ({ fs, workdir }) => {
  Deno.symlinkSync("two", `${workdir}/one`);
  Deno.symlinkSync("one", `${workdir}/two`);
  assertStringIncludes(assertThrows(() => read(fs, "one"), RootedError).message, "symlinks");
  assertThrows(() => fs.write("one", bytes("x")), RootedError);
});

each("keeps hidden paths from every operation, also through a symlink", ({ fs, workdir }) => {
  Deno.mkdirSync(`${workdir}/.svc`);
  Deno.writeTextFileSync(`${workdir}/.svc/journal`, SECRET);
  Deno.symlinkSync(".svc", `${workdir}/link`);
  for (const path of [".svc/journal", "link/journal", "./a/../.svc/journal"]) {
    refuses(fs, path, "hidden");
  }
  refuses(fs, ".svc", "hidden");
  for (const path of [".svc/new", "link/new", ".svc/deep/new", "other", "other/new"]) {
    const error = assertThrows(() => fs.write(path, bytes("x")), RootedError) as RootedError;
    assertEquals(error.reason, "hidden");
  }
  assertEquals(fs.list(".").map(({ name }) => name), ["link"]);
});

each("does not hang on a pipe and refuses it", async ({ fs, workdir }) => {
  await new Deno.Command("mkfifo", { args: [`${workdir}/pipe`] }).output();
  for (const attempt of [() => read(fs, "pipe"), () => fs.write("pipe", bytes("x"))]) {
    const error = assertThrows(attempt, RootedError) as RootedError;
    assertEquals(error.reason, "not_regular");
  }
  assertEquals(fs.list(".").map(({ kind }) => kind), ["other"]);
}, !granted("run"));

each("writes whole files, makes directories and keeps the mode", ({ fs, workdir }) => {
  assertEquals(fs.write("x/y/f.sh", bytes("one")), "created");
  Deno.chmodSync(`${workdir}/x/y/f.sh`, 0o750);
  assertEquals(fs.write("x/y/f.sh", bytes("")), "replaced");
  assertEquals(Deno.readTextFileSync(`${workdir}/x/y/f.sh`), "");
  assertEquals((Deno.statSync(`${workdir}/x/y/f.sh`).mode ?? 0) & 0o777, 0o750);
  assertEquals([...Deno.readDirSync(`${workdir}/x/y`)].length, 1);
});

each("leaves nothing behind when a write fails", ({ fs, workdir }) => {
  Deno.mkdirSync(`${workdir}/d`);
  const error = assertThrows(() => fs.write("d", bytes("x")), RootedError) as RootedError;
  assertEquals(error.reason, "is_directory");
  assertThrows(() => fs.write("f".repeat(300), bytes("x")), RootedError);
  assertEquals([...Deno.readDirSync(workdir)].map(({ name }) => name), ["d"]);
});

each("reads from a position, lists with details and says what is wrong", ({ fs, workdir }) => {
  Deno.writeTextFileSync(`${workdir}/f`, "0123456789");
  Deno.symlinkSync("f", `${workdir}/l`);
  const buffer = new Uint8Array(4);
  assertEquals(fs.read("f", 8, buffer).bytes, 2);
  assertEquals(new TextDecoder().decode(buffer.subarray(0, 2)), "89");
  const entries = fs.list(".", { details: true }).sort((a, b) => a.name < b.name ? -1 : 1);
  assertEquals(entries.map(({ name, kind }) => [name, kind]), [["f", "file"], ["l", "symlink"]]);
  assertEquals(entries[0].size, 10);
  assertEquals(entries[1].target, "f");
  const reason = (attempt: () => unknown) =>
    (assertThrows(attempt, RootedError) as RootedError).reason;
  assertEquals(reason(() => read(fs, "none")), "not_found");
  assertEquals(reason(() => read(fs, ".")), "is_directory");
  assertEquals(reason(() => fs.list("f")), "not_directory");
  assertEquals(reason(() => read(fs, "f/g")), "not_directory");
});

each("lists more names than one buffer of the kernel holds", ({ fs, workdir }) => {
  for (let index = 0; index < 3000; index++) {
    Deno.writeTextFileSync(`${workdir}/a-rather-long-file-name-${index}`, "");
  }
  assertEquals(new Set(fs.list(".").map(({ name }) => name)).size, 3000);
});

Deno.test({
  name: "openat2: a symlink swapped by another process never leads outside",
  ignore: !files || !linux || !granted("run"),
  fn: () => inWorld("openat2", race),
});

async function race({ fs, workdir, outside }: World): Promise<void> {
  Deno.mkdirSync(`${workdir}/real`);
  Deno.mkdirSync(`${workdir}/.svc`);
  Deno.writeTextFileSync(`${workdir}/real/file`, "inside");
  Deno.writeTextFileSync(`${workdir}/.svc/file`, SECRET);
  // Both are swapped: a link between inside, outside and hidden, and a directory with a link.
  const script = `cd "$1"; while :; do
    ln -sfn real link; ln -sfn "$2" link; ln -sfn .svc link; ln -sfn ../outside link
    mv real kept; ln -s "$2" real; rm real; mv kept real
  done`;
  const swapper = new Deno.Command("sh", {
    args: ["-c", script, "sh", workdir, outside],
    stderr: "null",
    detached: true,
  }).spawn();
  const counts = { inside: 0, refused: 0, written: 0 };
  try {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const began = performance.now();
    const lasted = () => performance.now() - began;
    const every_kind_seen = () => Object.values(counts).every((count) => count > 0);
    // On a machine that is busy the other process may hardly get to swap at first.
    while (lasted() < 3_000 || (!every_kind_seen() && lasted() < 60_000)) attempt(counts, fs);
  } finally {
    // With the `ln` or `mv` that it runs just now.
    Deno.kill(-swapper.pid, "SIGKILL");
    await swapper.status;
  }
  assert(counts.inside > 0 && counts.refused > 0 && counts.written > 0, JSON.stringify(counts));
  assertEquals([...Deno.readDirSync(outside)].map(({ name }) => name), ["file"]);
  assertEquals([...Deno.readDirSync(`${workdir}/.svc`)].map(({ name }) => name), ["file"]);
  assertEquals(Deno.readTextFileSync(`${outside}/file`), SECRET);
  assertEquals(Deno.readTextFileSync(`${workdir}/.svc/file`), SECRET);
}

function attempt(counts: { inside: number; refused: number; written: number }, fs: RootedFs) {
  for (const directory of ["link", "real"]) {
    try {
      assertEquals(read(fs, `${directory}/file`), "inside");
      counts.inside++;
    } catch (error) {
      if (!(error instanceof RootedError)) throw error;
      counts.refused++;
    }
    try {
      fs.write(`${directory}/file`, bytes("inside"));
      fs.write(`${directory}/made`, bytes("inside"));
      counts.written++;
    } catch (error) {
      if (!(error instanceof RootedError)) throw error;
      counts.refused++;
    }
  }
}

Deno.test({
  name: "openat2: no descriptor is left open, also after failures",
  ignore: !files || !linux || !granted("run"),
  fn: () =>
    inWorld("openat2", async ({ fs, workdir }) => {
      Deno.mkdirSync(`${workdir}/.svc`);
      Deno.symlinkSync("/etc", `${workdir}/etc`);
      // Other tests run in this process: only what leads into this world counts.
      const open = async () => {
        const args = ["-l", `/proc/${Deno.pid}/fd`];
        const { stdout } = await new Deno.Command("ls", { args }).output();
        const links = new TextDecoder().decode(stdout).split("\n");
        return links.filter((link) => link.includes(workdir)).length;
      };
      const before = await open();
      const file = Deno.openSync(`${workdir}/.svc`);
      assertEquals(await open(), before + 1);
      file.close();
      for (let index = 0; index < 200; index++) {
        fs.write("a/b", bytes("x"));
        read(fs, "a/b");
        fs.list(".", { details: true });
        for (const path of ["none", ".svc/x", "etc/passwd", "a", "a/b/c"]) {
          assertThrows(() => read(fs, path), RootedError);
          assertThrows(() => fs.write(path === "none" ? "a" : path, bytes("")), RootedError);
        }
      }
      assertEquals(await open(), before);
    }),
});
