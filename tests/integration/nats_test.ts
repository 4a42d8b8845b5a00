/** Tasks on NATS, with real daemons, workers and servers. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { Hire, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { connected, has_nats, NatsServer, natsToml, TaskWorker } from "../support/nats.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, gone, Place } from "../support/svc.ts";

const ignore = !can_run_svc || !has_nats || Deno.build.os !== "linux";

/** Writes the pid of the command into `pid`, and waits. */
const WAIT = "echo $$ >pid; exec sleep 60";

const DRY_RUN = { task_type: "deploy", query: "x", extra: { target: "waits", dry_run: true } };
const WAITING = { task_type: "deploy", query: "x", extra: { target: "waits" } };

/** A home for a front door and workers on a server, with a target that waits. */
function home(server: NatsServer): Place {
  const place = new Place();
  place.configure(natsToml(server));
  writePolicy(place, { deploy_targets: [shellTarget("waits", place.dir, WAIT)] });
  return place;
}

/** The pid of the waiting command, once it runs. */
async function commandOf(place: Place): Promise<number> {
  for (let n = 0; n < 1_200; n++, await delay(25)) {
    try {
      const text = Deno.readTextFileSync(join(place.dir, "pid"));
      if (text.endsWith("\n")) return Number(text);
    } catch {
      // It has not begun.
    }
  }
  throw new Error("the command does not begin");
}

Deno.test({
  name: "a client that leaves one machine has its task stopped on the other",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await NatsServer.start(join(data.dir, "js"));
    await using place = home(server);
    await using front = await Hire.serve(place);
    await using worker = await TaskWorker.start(place);
    await connected(front);
    const client = new AbortController();
    const left = front.task(WAITING, { signal: client.signal }).catch((error) => error.name);
    const pid = await commandOf(place);
    client.abort();
    assertEquals(await left, "AbortError");
    assert(await gone(pid));
    const { id } = await front.task(DRY_RUN);
    const { json } = await front.request("GET", `/api/task/${id}`);
    assertEquals([json.status, json.hired], ["completed", true]);
    assertStringIncludes(json.worker, `/${worker.pid}`);
    // It says so once that is recorded, which may be after the answer.
    await until(() => worker.said.at(-1)!.includes('"task.completed"'), "the worker's word");
    const events = worker.said.map((line) => JSON.parse(line))
      .filter(({ event }) => event !== "task.started")
      .map(({ event }) => event);
    assertEquals(events, ["worker.started", "task.stopped", "task.completed"]);
  },
});

Deno.test({
  name: "a worker that is told to stop hands its task over; one of a wrong kind takes none",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await NatsServer.start(join(data.dir, "js"));
    await using place = home(server);
    await using front = await Hire.serve(place);
    await using other = await TaskWorker.start(place, "--caps", "research");
    await using worker = await TaskWorker.start(place);
    await connected(front);
    const id = await front.queue(DRY_RUN);
    const events = await front.events(id);
    assertEquals(events.map(({ type }) => type), [
      "task.enqueued",
      "task.started",
      "task.completed",
    ]);
    assertEquals(await worker.stop("SIGINT"), 0);
    assertEquals(JSON.parse(worker.said.at(-1)!).event, "worker.stopped");
    const waiting = await front.queue(DRY_RUN);
    await using next = await TaskWorker.start(place);
    assertEquals((await front.events(waiting)).at(-1).task.status, "completed");
    assertEquals(other.said.length, 1);
    await until(() => next.said.length > 1, "what the next worker does");
  },
});

Deno.test({
  name: "without its server a daemon starts, answers 503 and says why; with it, all goes on",
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await NatsServer.start(join(data.dir, "js"));
    await server.kill();
    await using place = home(server);
    await using front = await Hire.serve(place);
    const refused = await front.request("POST", "/api/task", { body: DRY_RUN });
    assertEquals([refused.status, refused.json.error.code], [503, "unavailable"]);
    assert(!refused.text.includes(new URL(server.url).port), "a hirer is told where the server is");
    assertEquals(refused.headers.get("retry-after"), "2");
    const { stdout } = await place.svc(["doctor", "--json"]);
    const { checks } = JSON.parse(stdout);
    const { status, message } = checks.find(({ name }: { name: string }) => name === "tasks");
    assertEquals(status, "fail");
    assertStringIncludes(message, `NATS at ${server.url}: `);
    await server.start();
    await using _worker = await TaskWorker.start(place);
    await connected(front);
    const answer = await front.request("POST", "/api/task", { body: DRY_RUN });
    assertEquals([answer.status, answer.json.status], [200, "completed"]);
  },
});

Deno.test({
  name: "the server's token and certificate are used, and stand in no log",
  ignore,
  async fn() {
    await using data = new Place();
    const { ca, cert, key } = certificates(data.dir);
    const tls = ["--auth", "a-token-of-nats", "--tls", "--tlscert", cert, "--tlskey", key];
    await using server = await NatsServer.start(join(data.dir, "js"), ...tls);
    await using place = home(server);
    place.configure(
      natsToml(server, 1).replace("nats://127.0.0.1", "tls://localhost") +
        `nats_token_env = "NATS_TOKEN"\nnats_ca_file = "${ca}"\n`,
    );
    const env = { NATS_TOKEN: "a-token-of-nats" };
    const front = await Hire.serve(place, { env });
    await connected(front);
    const { status } = await front.task(DRY_RUN);
    await front.stop();
    assertEquals(status, "completed");
    await using denied = await Hire.serve(place, { env: { NATS_TOKEN: "another-token" } });
    const answer = await denied.request("POST", "/api/task", { body: DRY_RUN });
    assertEquals(answer.status, 503);
    await denied.kill();
    const said = [await front.log, await denied.log].join("\n");
    for (const secret of [...TOKENS, "a-token-of-nats", "another-token"]) {
      assert(!said.includes(secret), secret);
    }
  },
});

/** Makes an authority and a certificate of localhost that it has signed. @returns their files. */
function certificates(dir: string): { ca: string; cert: string; key: string } {
  const [ca, ca_key, cert, key, request] = ["ca", "ca_key", "cert", "key", "request"]
    .map((name) => join(dir, `${name}.pem`));
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(...["req", "-x509", ...curve, "-subj", "/CN=authority", "-keyout", ca_key, "-out", ca]);
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  openssl(...["req", ...curve, ...name, "-keyout", key, "-out", request]);
  const signed = ["-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-copy_extensions", "copyall"];
  openssl(...["x509", "-req", "-in", request, ...signed, "-out", cert]);
  return { ca, cert, key };
}

function openssl(...args: string[]): void {
  const { success, stderr } = new Deno.Command("openssl", { args }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
}

Deno.test({
  name: "a worker says what it needs where tasks are kept by the daemon",
  ignore,
  async fn() {
    await using place = new Place();
    const { code, stderr } = await place.svc(["task", "worker"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, 'engine = "nats"');
  },
});
