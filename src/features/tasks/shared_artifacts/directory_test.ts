/** Failures of a shared disk. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { TextLineStream } from "@std/streams";
import { artifactOf, HastyClock, readAll } from "../../../../tests/support/artifact_stores.ts";
import { granted } from "../../../../tests/support/permissions.ts";
import { TempDir } from "../../../../tests/support/sessions.ts";
import { canMount, SmallDisk } from "../../../../tests/support/small_disk.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { newTaskId } from "../common.ts";
import { RetryableError } from "../task.ts";
import { openSharedArtifacts } from "./open.ts";

const KIB = 1024;
const DAY_MS = 24 * 3_600_000;

const clock = new HastyClock();

function openAt(dir: string) {
  return openSharedArtifacts(dir, { env: () => undefined, clock });
}

Deno.test({
  name: "a full disk fails the task with what to do, and loses nothing",
  ignore: !canMount(),
  async fn() {
    using dir = new TempDir();
    using disk = new SmallDisk(dir.mkdir("disk"), 512);
    const store = await openAt(disk.path);
    const task_id = newTaskId();
    const first = await artifactOf("first");
    await store.put(task_id, first, first.bytes);
    const large = await artifactOf("x".repeat(100 * KIB), "large.md");

    disk.fill(40);
    const error = await assertRejects(() => store.put(task_id, large, large.bytes), SvcError);
    assertStringIncludes(error.message, `cannot store artifact large.md in ${disk.path}: No space`);
    assertStringIncludes(error.message, "; free space there or raise its quota");
    assertEquals(await store.open(task_id, large), undefined);
    assertEquals((await readAll(await store.open(task_id, first))).bytes, first.bytes);
    assertEquals([...Deno.readDirSync(join(disk.path, task_id))].length, 1, "no leftovers");

    disk.free();
    await store.put(task_id, large, large.bytes);
    assertEquals((await readAll(await store.open(task_id, large))).bytes, large.bytes);
  },
});

Deno.test({
  name: "a disk that is mounted to read only serves artifacts and refuses new ones",
  ignore: !canMount(),
  async fn() {
    using dir = new TempDir();
    using disk = new SmallDisk(dir.mkdir("disk"), 512);
    const store = await openAt(disk.path);
    const [task_id, artifact, another] = [
      newTaskId(),
      await artifactOf("a"),
      await artifactOf("b"),
    ];
    await store.put(task_id, artifact, artifact.bytes);
    assert(disk.remount("ro"));
    const error = await assertRejects(() => store.put(task_id, another, another.bytes), SvcError);
    assertStringIncludes(error.message, "mount it for writing");
    assertEquals((await readAll(await store.open(task_id, artifact))).bytes, artifact.bytes);
    assert(disk.remount("rw"));
    await store.put(task_id, another, another.bytes);
  },
});

function test(name: string, fn: (dir: TempDir) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !granted("read", "write", "sys"),
    async fn() {
      using dir = new TempDir();
      await fn(dir);
    },
  });
}

test("what is in the way of a task's directory is not removed", async (dir) => {
  const store = await openAt(dir.path);
  const task_id = newTaskId();
  const artifact = await artifactOf("a");
  Deno.writeTextFileSync(dir.join(task_id), "something else");
  const error = await assertRejects(() => store.put(task_id, artifact, artifact.bytes), Error);
  assert(error instanceof SvcError || error instanceof RetryableError);
  assertEquals(Deno.readTextFileSync(dir.join(task_id)), "something else");
});

test("a killed write is not visible, and a sweep removes it a day later", async (dir) => {
  const store = await openAt(dir.path);
  const task_id = newTaskId();
  const [whole, partial] = [await artifactOf("whole"), await artifactOf("never finished")];
  await store.put(task_id, whole, whole.bytes);
  const left = dir.join(task_id, `${partial.sha256}.${crypto.randomUUID()}.tmp`);
  Deno.writeTextFileSync(left, "never fin");
  const sweep = () => store.sweep(() => Promise.resolve(true));

  assertEquals(await store.open(task_id, partial), undefined);
  await sweep();
  assert(Deno.statSync(left).isFile, "the control: its writer may still live");
  const long_ago = new Date(Date.now() - 2 * DAY_MS);
  Deno.utimeSync(left, long_ago, long_ago);
  Deno.utimeSync(dir.join(task_id, whole.sha256), long_ago, long_ago);
  await sweep();
  assertEquals([...Deno.readDirSync(dir.join(task_id))].map(({ name }) => name), [whole.sha256]);
});

Deno.test({
  name: "what a killed process has acknowledged is whole, and so is all that is visible",
  ignore: !granted("read", "write", "sys", "run", "env"),
  async fn() {
    using dir = new TempDir();
    const store = await openAt(dir.path);
    const task_id = newTaskId();
    const main = fromFileUrl(import.meta.resolve("./testdata/writer_main.ts"));
    const writer = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "--no-check", main, dir.path, task_id],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const acknowledged: { name: string; sha256: string; size: number }[] = [];
    const lines = writer.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      acknowledged.push(JSON.parse(line));
      if (acknowledged.length === 12) writer.kill("SIGKILL");
    }
    await writer.status;

    assert(acknowledged.length >= 12);
    for (const artifact of acknowledged) {
      assertEquals((await readAll(await store.open(task_id, artifact))).error, undefined);
    }
    const visible = [...Deno.readDirSync(dir.join(task_id))].map(({ name }) => name)
      .filter((name) => !name.endsWith(".tmp"));
    for (const name of visible) {
      assertEquals((await artifactOf(Deno.readFileSync(dir.join(task_id, name)))).sha256, name);
    }
  },
});

test("content that a crash cut off is replaced by the next write", async (dir) => {
  const store = await openAt(dir.path);
  const task_id = newTaskId();
  const artifact = await artifactOf("in full");
  await store.put(task_id, artifact, artifact.bytes);
  Deno.writeTextFileSync(dir.join(task_id, artifact.sha256), "in");
  await store.put(task_id, artifact, artifact.bytes);
  assertEquals((await readAll(await store.open(task_id, artifact))).bytes, artifact.bytes);
});

test("artifacts are for the user that svc runs as", async (dir) => {
  if (Deno.build.os === "windows") return;
  const store = await openAt(dir.path);
  const task_id = newTaskId();
  const artifact = await artifactOf("private");
  await store.put(task_id, artifact, artifact.bytes);
  assertEquals(Deno.statSync(dir.join(task_id)).mode! & 0o777, 0o700);
  assertEquals(Deno.statSync(dir.join(task_id, artifact.sha256)).mode! & 0o777, 0o600);
});
