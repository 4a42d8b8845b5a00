import { assert, assertEquals } from "@std/assert";
import { NatsServer, natsTests } from "../../../../tests/support/nats.ts";
import { TempDir } from "../../../../tests/support/sessions.ts";
import type { Log } from "../../../os/log.ts";
import { Bucket, keyOf, NONE } from "./bucket.ts";
import { type Jet, NatsLink } from "./link.ts";

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };
/** More than are asked for at once. */
const MANY = 600;
const PATIENCE_MS = 60_000;

/** A bucket on a nats-server of its own. */
class Bench implements AsyncDisposable {
  readonly link: NatsLink;
  readonly bucket: Bucket;
  readonly #dir: TempDir;
  readonly #server: NatsServer;

  private constructor(dir: TempDir, server: NatsServer) {
    this.#dir = dir;
    this.#server = server;
    const config = { nats_url: server.url };
    const parts = { config, env: () => undefined, log: quiet, name: "test", onConnected() {} };
    this.link = new NatsLink(parts);
    this.bucket = new Bucket(this.link);
  }

  static async start(): Promise<Bench> {
    const dir = new TempDir();
    const bench = new Bench(dir, await NatsServer.start(dir.join("js")));
    bench.link.open();
    await bench.link.ready(new AbortController().signal);
    return bench;
  }

  /** Writes keys `<name>.<n>`, each with its number. */
  async fill(name: string, count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, n) => n);
    await Promise.all(numbers.map((n) => this.bucket.write(`${name}.${n}`, n, NONE)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.link.close();
    await this.#server.kill();
    this.#dir[Symbol.dispose]();
  }
}

/** A bucket that has something done when it is known what there is to read, before it is read. */
function withRace(link: NatsLink, race: () => Promise<void>): Bucket {
  let done = false;
  const use = <T>(op: (jet: Jet) => Promise<T>): Promise<T> =>
    link.use(async (jet) => {
      const result = await op(jet);
      if (!done) await race();
      done = true;
      return result;
    });
  return new Bucket({ use } as NatsLink);
}

const test = natsTests(() => Bench.start(), PATIENCE_MS);

test("all that is there is read in its order, then what comes", async (bench) => {
  const { bucket } = bench;
  await bench.fill("a", MANY);
  const seqs: number[] = [];
  for await (const { seq } of bucket.read("a.*", { from: 1, live: false })) seqs.push(seq);
  assertEquals(seqs, Array.from({ length: MANY }, (_, n) => n + 1));
  const told: string[] = [];
  const onCaughtUp = () => told.push("caught up");
  for await (const message of bucket.read("*.1", { live: true, onCaughtUp })) {
    told.push(keyOf(message).join("."));
    if (told.length === 1) await bench.fill("b", 2);
    if (told.at(-1) === "b.1") break;
  }
  assertEquals(told, ["a.1", "caught up", "b.1"]);
});

test("a purge of what is still to be read ends the reading of it", async (bench) => {
  const { bucket } = bench;
  await bench.fill("a", MANY);
  let seen = 0;
  for await (const _ of bucket.read("a.*", { from: 1, live: false })) {
    if (++seen === 1) await bucket.purge("a.*");
  }
  assert(seen > 0 && seen < MANY, `${seen} were read`);
});

test("a purge of all that was to be read leaves nothing to wait for", async (bench) => {
  const { bucket, link } = bench;
  const racy = () => withRace(link, () => bucket.purge("a.*"));
  await bench.fill("a", 3);
  assertEquals(await Array.fromAsync(racy().read("a.*", { from: 1, live: false })), []);
  await bench.fill("a", 3);
  const told: string[] = [];
  const onCaughtUp = () => {
    told.push("caught up");
    void bench.fill("b", 1);
  };
  for await (const message of racy().read("*.*", { live: true, onCaughtUp })) {
    told.push(keyOf(message).join("."));
    break;
  }
  assertEquals(told, ["caught up", "b.0"]);
});
