import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { granted } from "../../../tests/support/permissions.ts";
import { unitEntry, UnitPool, type UnitPoolOptions, type UnitScope } from "./pool.ts";

const ignore = !granted("read", "write");
const never = new AbortController().signal;

interface World {
  pool: UnitPool;
  /** A session of that name in the one workdir. */
  scope(session_id: string): UnitScope;
  workdir: string;
}

function test(
  name: string,
  options: Partial<UnitPoolOptions>,
  run: (world: World) => Promise<void>,
  skip = false,
): void {
  Deno.test({
    name,
    ignore: ignore || skip,
    async fn() {
      const workdir = await Deno.realPath(await Deno.makeTempDir({ prefix: "pool-" }));
      const pool = new UnitPool({ max: 2, idle_ms: 60_000, ...options });
      const scope = (session_id: string) => ({ session_id, workdir, hidden: [`${workdir}/.svc`] });
      try {
        await run({ pool, scope, workdir });
      } finally {
        pool.close();
        await Deno.remove(workdir, { recursive: true });
      }
    },
  });
}

/** A stand-in for the unit: what it does with a call is this script, with `id`, `op` and `args`. */
function fake(onCall: string, roams = true): URL {
  const script = `self.onmessage = ({ data }) => {
    if (data.type === "rest") self.postMessage({ type: "rested" });
    if (data.type === "start") {
      self.workdir = data.workdir;
      self.postMessage({ type: "ready", roams: ${roams} });
    }
    if (data.type !== "call") return;
    const { id, op, args } = data;
    const answer = (output) => self.postMessage({ type: "result", id, ok: true, output });
    ${onCall}
  };`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}

test("runs all operations in a jailed unit", {}, async ({ pool, scope }) => {
  const run = async (op: Parameters<UnitPool["call"]>[0], args: unknown) => {
    const { ok, output } = await pool.call(op, args, scope("a"), never);
    assert(ok, output);
    return output;
  };
  assertEquals(await run("write_file", { path: "d/f", content: "one\n" }), "created d/f (4 bytes)");
  await run("edit_file", { path: "d/f", old_text: "one", new_text: "two" });
  assertEquals(await run("read_file", { path: "d/f" }), "two\n");
  assertEquals(await run("list_dir", {}), "d/");
  assertEquals(await run("glob", { pattern: "**/f" }), "d/f");
  assertEquals(await run("grep", { pattern: "t.o" }), "d/f:1: two");
  assertEquals(pool.size, 1);
});

test("tells what was read, and what changed since", {}, async ({ pool, scope, workdir }) => {
  await Deno.writeTextFile(`${workdir}/f`, "one\n");
  const { files } = await pool.call("read_file", { path: "f" }, scope("a"), never);
  assertEquals(files?.map(({ path, text }) => [path, text]), [["f", "one\n"]]);
  await Deno.writeTextFile(`${workdir}/f`, "by a person\n");
  const args = { path: "f", content: "two\n", seen: files };
  const { ok, changed } = await pool.call("write_file", args, scope("a"), never);
  assertEquals([ok, changed?.before, changed?.now?.text], [false, "one\n", "by a person\n"]);
  assertEquals(await Deno.readTextFile(`${workdir}/f`), "by a person\n");
});

test("refuses every way out through a unit", {}, async ({ pool, scope, workdir }) => {
  await Deno.symlink("/etc", `${workdir}/etc`);
  await Deno.mkdir(`${workdir}/.svc`);
  await Deno.writeTextFile(`${workdir}/.svc/f`, "");
  for (const path of ["../x", "/etc/passwd", "etc/passwd", "/proc/self/environ", ".svc/f"]) {
    const { ok, output } = await pool.call("read_file", { path }, scope("a"), never);
    assert(!ok && output.startsWith(path), output);
  }
}, Deno.build.os === "windows");

// Its message tells the mechanism: the other one says where the symlink really ends.
test("a unit uses openat2 on Linux after it gave up ffi", {}, async ({ pool, scope, workdir }) => {
  await Deno.symlink("/etc", `${workdir}/etc`);
  const { output } = await pool.call("read_file", { path: "etc/passwd" }, scope("a"), never);
  assertStringIncludes(output, "(through a symlink to /etc)");
}, Deno.build.os !== "linux" || !granted("ffi"));

test("one unit serves many sessions in many directories", {}, async ({ pool, workdir }) => {
  const started = counting();
  try {
    for (let n = 0; n < 20; n++) {
      const own = `${workdir}/${n}`;
      await Deno.mkdir(own);
      const scope = { session_id: `s${n}`, workdir: own, hidden: [] };
      const { ok, output } = await pool.call(
        "write_file",
        { path: "f", content: `${n}` },
        scope,
        never,
      );
      assert(ok, output);
      const read = await pool.call("read_file", { path: "f" }, scope, never);
      assertEquals(read.output, `${n}`);
      const outside = await pool.call("read_file", { path: `${workdir}/0/f` }, scope, never);
      assertEquals(outside.ok, n === 0);
    }
  } finally {
    assertEquals(started.stop(), 1);
  }
}, Deno.build.os !== "linux" || !granted("ffi"));

// `roams: false` is what a unit answers on a kernel without openat2.
test("where the kernel cannot jail, each directory gets a unit", {
  entry: fake("answer(self.workdir + ' ' + data.workdir)", false),
}, async ({ pool }) => {
  const at = (workdir: string) =>
    pool.call("list_dir", {}, { session_id: "a", workdir, hidden: [] }, never);
  for (const workdir of ["/a", "/b", "/a", "/c", "/c"]) {
    assertEquals((await at(workdir)).output, `${workdir} ${workdir}`);
    assert(pool.size <= 2);
  }
});

const long_call = fake("if (!args.long) answer(op); else setTimeout(() => answer(op), 400)");

test("no unit is started for each call that waits", {
  max: 3,
  patience_ms: 60_000,
  entry: long_call,
}, async ({ pool, scope }) => {
  const calls = Array.from({ length: 10 }, (_, n) => n);
  await Promise.all(calls.map((n) => pool.call("list_dir", {}, scope(`s${n}`), never)));
  assertEquals(pool.size, 1);
});

test("a unit is started when the others are at one call for long", {
  max: 3,
  patience_ms: 50,
  entry: long_call,
}, async ({ pool, scope }) => {
  const calls = Array.from({ length: 10 }, (_, n) => n);
  await Promise.all(
    calls.map((n) => pool.call("list_dir", { long: true }, scope(`s${n}`), never)),
  );
  assertEquals(pool.size, 3);
});

/** Counts the workers that are started. */
function counting(): { stop(): number } {
  const original = globalThis.Worker;
  let count = 0;
  globalThis.Worker = class extends original {
    constructor(...args: ConstructorParameters<typeof original>) {
      super(...args);
      count++;
    }
  };
  return {
    stop() {
      globalThis.Worker = original;
      return count;
    },
  };
}

test("callers wait while all units are busy, and can be aborted", {
  max: 1,
  entry: fake("setTimeout(() => answer(op), 150)"),
}, async ({ pool, scope }) => {
  const first = pool.call("list_dir", {}, scope("a"), never);
  const controller = new AbortController();
  const second = pool.call("glob", {}, scope("b"), controller.signal);
  const third = pool.call("grep", {}, scope("c"), never);
  controller.abort();
  await assertRejects(() => second, DOMException, "aborted");
  assertEquals((await first).output, "list_dir");
  assertEquals((await third).output, "grep");
  assertEquals(pool.size, 1);
});

test("idle units end but for one, which gives back what it holds", {}, async ({ scope }) => {
  const rested = Promise.withResolvers<void>();
  const pool = new UnitPool({
    max: 2,
    idle_ms: 50,
    patience_ms: 0,
    onRest: rested.resolve,
    entry: fake("setTimeout(() => answer(op), 100)"),
  });
  const started = counting();
  const calls = ["a", "b", "c"].map((id) => pool.call("list_dir", {}, scope(id), never));
  await Promise.all(calls);
  assertEquals(started.stop(), 2);
  await rested.promise;
  assertEquals(pool.size, 1);
  assert(pool.at_rest);
  assertEquals((await pool.call("glob", {}, scope("a"), never)).output, "glob");
  pool.close();
});

test("a pattern that backtracks without end is stopped and the unit goes on", {
  max: 1,
}, async (world) => {
  const { pool, scope, workdir } = world;
  await Deno.writeTextFile(`${workdir}/f`, "a".repeat(60) + "!");
  const slow = pool.call("grep", { pattern: "^(a+)+$" }, scope("a"), never);
  const other = pool.call("read_file", { path: "f" }, scope("a"), never);
  const { ok, output } = await slow;
  assert(!ok);
  assertStringIncludes(output, "takes too long");
  assert((await other).ok);
  assertEquals(pool.size, 1);
});

test("a unit that does not stop a call is replaced", {
  max: 1,
  entry: fake(`if (args.hang) self.stuck = true;
    else if (!self.stuck) answer("fresh");`),
}, async ({ pool, scope }) => {
  const hanging = pool.call("grep", { hang: true }, scope("a"), AbortSignal.timeout(100));
  const waiting = pool.call("write_file", {}, scope("a"), never);
  await assertRejects(() => hanging, DOMException, "aborted");
  assertEquals(await waiting, { ok: true, output: "fresh" });
});

test("a call past its deadline is answered", {
  deadline_ms: 300,
  entry: fake(""),
}, async ({ pool, scope }) => {
  const late = await pool.call("grep", {}, scope("a"), never);
  assertEquals(late, { ok: false, output: "grep took longer than 0.3 s and was stopped" });
});

test("an aborted call rejects at once and its unit serves on", {}, async (world) => {
  const { pool, scope, workdir } = world;
  await Deno.writeTextFile(`${workdir}/f`, "a".repeat(60) + "!");
  const controller = new AbortController();
  const slow = pool.call("grep", { pattern: "^(a+)+$" }, scope("a"), controller.signal);
  await delay(100);
  controller.abort();
  const error = await assertRejects(() => slow, DOMException);
  assertEquals((error as DOMException).name, "AbortError");
  assert((await pool.call("read_file", { path: "f" }, scope("a"), never)).ok);
  const aborted = pool.call("list_dir", {}, scope("a"), AbortSignal.abort());
  await assertRejects(() => aborted, DOMException);
});

test("a unit that crashes answers its call and is replaced", {
  max: 1,
  entry: fake(`if (op === "grep") throw new Error("boom"); answer(op);`),
}, async ({ pool, scope }) => {
  const waiting = [
    pool.call("grep", {}, scope("a"), never),
    pool.call("read_file", {}, scope("b"), never),
  ];
  const [crashed, beside] = await Promise.all(waiting);
  assert(!crashed.ok);
  assertStringIncludes(crashed.output, "boom");
  assertEquals(beside, { ok: true, output: "read_file" });
});

test(
  "ending a session or the pool answers its calls",
  { max: 1, entry: fake("") },
  async (world) => {
    const { pool, scope } = world;
    const first = pool.call("grep", {}, scope("a"), never);
    const second = pool.call("grep", {}, scope("b"), never);
    pool.closeSession("a");
    assertEquals(await first, { ok: false, output: "the session has ended" });
    const third = pool.call("grep", {}, scope("c"), never);
    pool.close();
    assert(!(await second).ok && !(await third).ok);
    assertEquals(pool.size, 0);
    assert(!(await pool.call("grep", {}, scope("a"), never)).ok);
  },
);

Deno.test("unitEntry finds the unit from source and in a bundle", () => {
  const source = unitEntry("file:///p/src/jail/unit/pool.ts").href;
  assertEquals(source, "file:///p/src/jail/unit/main.ts");
  for (const file of ["main.js", "serve-ABC.js", "chunk-XYZ.js"]) {
    assertEquals(unitEntry(`file:///t/dist/${file}`).href, "file:///t/dist/src/jail/unit/main.js");
  }
});
