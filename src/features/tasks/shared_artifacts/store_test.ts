/** What holds for each kind of store; the bucket is that of a foreign server. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { dirname } from "@std/path";
import { artifactOf, HastyClock, readAll } from "../../../../tests/support/artifact_stores.ts";
import { granted } from "../../../../tests/support/permissions.ts";
import { Random } from "../../../../tests/support/random.ts";
import { has_s3_server, S3Server } from "../../../../tests/support/s3_server.ts";
import { TempDir } from "../../../../tests/support/sessions.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { newTaskId } from "../common.ts";
import { RetryableError } from "../task.ts";
import { type Objects, StoreFault } from "./objects.ts";
import { openSharedArtifacts } from "./open.ts";
import { SharedArtifacts } from "./store.ts";

interface Bench {
  store: SharedArtifacts;
  /** A store of the same kind that does not exist. */
  missing: SharedArtifacts;
  /** The file behind an artifact. */
  pathOf(task_id: string, sha256: string): string;
}

/** Where stores of a kind are. */
interface Kind extends AsyncDisposable {
  open(name: string): Promise<Bench>;
}

const clock = new HastyClock();

function directories(): Promise<Kind> {
  const dir = new TempDir();
  const openAt = (url: string) => openSharedArtifacts(url, { env: () => undefined, clock });
  return Promise.resolve({
    async open(name) {
      return {
        store: await openAt(`file://${dir.mkdir(name)}`),
        missing: await openAt(dir.join("missing")),
        pathOf: (task_id, sha256) => dir.join(name, task_id, sha256),
      };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(dir[Symbol.dispose]()),
  });
}

async function buckets(): Promise<Kind> {
  const dir = new TempDir();
  const server = await S3Server.start(dir.path, "things");
  const openAt = (url: string) => openSharedArtifacts(url, { env: server.env, clock });
  return {
    async open(name) {
      return {
        store: await openAt(`s3://things/svc/${name}`),
        missing: await openAt("s3://nothing"),
        pathOf: (task_id, sha256) => server.pathOf("things", `svc/${name}/${task_id}/${sha256}`),
      };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      dir[Symbol.dispose]();
    },
  };
}

const conformance: [name: string, fn: (bench: Bench) => Promise<void>][] = [];

function test(name: string, fn: (bench: Bench) => Promise<void>): void {
  conformance.push([name, fn]);
}

function declare(name: string, start: () => Promise<Kind>, ignore: boolean): void {
  Deno.test({
    name,
    ignore,
    async fn(context) {
      await using kind = await start();
      for (const [number, [name, fn]] of conformance.entries()) {
        await context.step(name, async () => await fn(await kind.open(String(number))));
      }
    },
  });
}

test("an artifact is read as it was stored, whatever its size", async ({ store }) => {
  const random = new Random(7);
  const large = Uint8Array.from({ length: 3_000_000 }, () => random.below(256));
  const task_id = newTaskId();
  for (const content of ["a report", "", large]) {
    const artifact = await artifactOf(content);
    await store.put(task_id, artifact, artifact.bytes);
    assertEquals(await readAll(await store.open(task_id, artifact)), {
      bytes: artifact.bytes,
      error: undefined,
    });
  }
});

test("what was not stored is missing, not an error", async ({ store }) => {
  const artifact = await artifactOf("never stored");
  const task_id = newTaskId();
  assertEquals(await store.open(task_id, artifact), undefined);
  await store.put(task_id, await artifactOf("another"), (await artifactOf("another")).bytes);
  assertEquals(await store.open(task_id, artifact), undefined);
});

test("the same content can be stored many times at once", async ({ store }) => {
  const artifact = await artifactOf("x".repeat(200_000));
  const task_id = newTaskId();
  await Promise.all(
    Array.from({ length: 12 }, () => store.put(task_id, artifact, artifact.bytes)),
  );
  assertEquals((await readAll(await store.open(task_id, artifact))).bytes, artifact.bytes);
});

test("removing a task leaves the same content of another", async ({ store }) => {
  const artifact = await artifactOf("shared");
  const [kept, removed] = [newTaskId(), newTaskId()];
  await store.put(kept, artifact, artifact.bytes);
  await store.put(removed, artifact, artifact.bytes);
  await store.remove(removed);
  await store.remove(removed);
  assertEquals(await store.open(removed, artifact), undefined);
  assertEquals((await readAll(await store.open(kept, artifact))).bytes, artifact.bytes);
});

test("what is acknowledged stays while others remove the same content", async ({ store }) => {
  const artifact = await artifactOf("often the same");
  const random = new Random(1);
  await Promise.all(Array.from({ length: 24 }, async () => {
    const task_id = newTaskId();
    await store.put(task_id, artifact, artifact.bytes);
    if (random.chance(0.5)) return await store.remove(task_id);
    assertEquals((await readAll(await store.open(task_id, artifact))).bytes, artifact.bytes);
  }));
});

test("a task's removal takes none of a task whose id begins the same", async ({ store }) => {
  const artifact = await artifactOf("mine");
  const task_id = newTaskId();
  await store.put(task_id, artifact, artifact.bytes);
  await store.remove(task_id.slice(0, -1));
  assertEquals((await readAll(await store.open(task_id, artifact))).bytes, artifact.bytes);
});

test("changed, cut and longer content fails before its last bytes", async ({ store, pathOf }) => {
  const artifact = await artifactOf("the report, in full");
  const task_id = newTaskId();
  const path = pathOf(task_id, artifact.sha256);
  const readError = async () => {
    const { bytes, error } = await readAll(await store.open(task_id, artifact));
    assert(bytes.length < artifact.size, "a reader must not take it for whole");
    assert(error instanceof SvcError && error.code === "internal");
    return error.message;
  };
  await store.put(task_id, artifact, artifact.bytes);
  assertEquals(Deno.readFileSync(path), artifact.bytes, "the control: the file is the artifact's");

  Deno.writeTextFileSync(path, "the report, in FULL");
  assertStringIncludes(await readError(), `its SHA-256 is no longer ${artifact.sha256}`);
  Deno.writeTextFileSync(path, "the report");
  assertStringIncludes(await readError(), "it has only 10 of 19 bytes");
  Deno.writeTextFileSync(path, "the report, in full, and more");
  assertStringIncludes(await readError(), "of 19 bytes");
  Deno.writeTextFileSync(path, "");
  assertStringIncludes(await readError(), "it has only 0 of 19 bytes");
});

test("a sweep removes what tasks left that are gone, and nothing else", async (bench) => {
  const { store, pathOf } = bench;
  const artifact = await artifactOf("swept");
  const [known, gone] = [newTaskId(), newTaskId()];
  for (const id of [known, gone, "others"]) await store.put(id, artifact, artifact.bytes);
  const asked: string[] = [];
  const exists = (id: string) => {
    asked.push(id);
    return Promise.resolve(id === known);
  };
  assertEquals(await store.sweep(exists), [gone]);
  assertEquals(asked.sort(), [known, gone].sort());
  assertEquals(await store.open(gone, artifact), undefined);
  assert(Deno.statSync(pathOf(known, artifact.sha256)).isFile);
  assert(Deno.statSync(dirname(pathOf("others", artifact.sha256))).isDirectory);
});

test("a store that does not exist is an error with its name, not an empty one", async (bench) => {
  const artifact = await artifactOf("lost");
  const { missing } = bench;
  for (
    const call of [
      () => missing.put(newTaskId(), artifact, artifact.bytes),
      () => missing.open(newTaskId(), artifact),
      () => missing.remove(newTaskId()),
      () => missing.sweep(() => Promise.resolve(false)),
    ]
  ) {
    const { message, code } = await assertRejects(call, SvcError);
    assertEquals(code, "internal");
    assert(/(?:missing|s3:\/\/nothing\/): .*does not exist.*; .*create /.test(message), message);
  }
});

declare("a directory keeps artifacts", directories, !granted("read", "write", "sys"));
declare("a bucket of a foreign server keeps artifacts", buckets, !has_s3_server);

/** A store that fails as told. */
class Failing implements Objects {
  readonly url = "odd://store";
  tries = 0;
  readonly #fail: (tries: number) => Promise<undefined>;

  constructor(fail: (tries: number) => Promise<undefined>) {
    this.#fail = fail;
  }

  write = async () => void await this.#fail(++this.tries);
  read = () => this.#fail(++this.tries);
  tasks = async () => (await this.#fail(++this.tries)) ?? [];
  remove = this.write;
}

const busy = () => new StoreFault("it is busy", "wait", { passing: true });

Deno.test("what fails for a moment is tried again, each time after a longer wait", async () => {
  const clock = new HastyClock();
  const objects = new Failing((tries) =>
    tries < 4 ? Promise.reject(busy()) : Promise.resolve(undefined)
  );
  const artifact = await artifactOf("late");
  await new SharedArtifacts(objects, { clock }).put("t-1", artifact, artifact.bytes);
  assertEquals(objects.tries, 4);
  assert(clock.waits.every((ms, n) => ms >= 250 * 2 ** n && ms < 750 * 2 ** n), `${clock.waits}`);
});

Deno.test("what goes on failing is retryable for a task and unavailable for a reader", async () => {
  const objects = new Failing(() => Promise.reject(busy()));
  const store = new SharedArtifacts(objects, { clock });
  const artifact = await artifactOf("never", "report.md");
  const put = await assertRejects(
    () => store.put("t-1", artifact, artifact.bytes),
    RetryableError,
  );
  assertEquals(put.message, "cannot store artifact report.md in odd://store: it is busy; wait");
  assertEquals(objects.tries, 4);
  const read = await assertRejects(() => store.open("t-1", artifact), SvcError);
  assertEquals(read.code, "unavailable");
});

Deno.test("what does not pass is tried once and fails the task", async () => {
  const objects = new Failing(() => Promise.reject(new StoreFault("it is full", "free space")));
  const store = new SharedArtifacts(objects, { clock });
  const artifact = await artifactOf("big");
  const error = await assertRejects(() => store.put("t-1", artifact, artifact.bytes), SvcError);
  assertStringIncludes(error.message, "it is full; free space");
  assertEquals(objects.tries, 1);
});

Deno.test("a store that does not answer is given up", async () => {
  const objects = new Failing(() => new Promise(() => {}));
  const store = new SharedArtifacts(objects, { clock, patience_ms: 1 });
  const artifact = await artifactOf("hangs");
  const error = await assertRejects(
    () => store.put("t-1", artifact, artifact.bytes),
    RetryableError,
  );
  assertStringIncludes(error.message, "it did not answer in time");
  assertEquals(objects.tries, 4);
});
