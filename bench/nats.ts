/** Tasks on NATS: how many a second one front door has done by 1, 2 and 3 workers. */
import { fromFileUrl, join } from "@std/path";
import { toText } from "@std/streams";
import { has_nats, NatsServer } from "../tests/support/nats.ts";
import type { Figure } from "./figures.ts";

const WORKERS = [1, 2, 3];
const TASKS = 2_000;
const AT_ONCE = 64;

/** Rates by workers; none where no nats-server is installed. */
export async function nats(): Promise<Figure[]> {
  if (!has_nats) {
    console.error("no nats-server is installed: its figures are left out");
    return [];
  }
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-nats-" });
  try {
    await using server = await NatsServer.start(join(dir, "js"));
    const figures: Figure[] = [];
    const workers: Deno.ChildProcess[] = [];
    for (const count of WORKERS) {
      workers.push(await startWorker(server.url));
      figures.push({
        id: `nats_${count}`,
        name: `tasks on NATS, ${count} ${count === 1 ? "worker" : "workers"}`,
        unit: "/s",
        value: await rate(server.url),
        note: `${AT_ONCE} at once; server, front door and workers on one machine`,
      });
    }
    for (const worker of workers) {
      await worker.stdin.close();
      await worker.status;
    }
    return figures;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function spawn(...args: string[]): Deno.ChildProcess {
  const [main, config] = ["nats_main.ts", "../deno.json"]
    .map((name) => fromFileUrl(new URL(name, import.meta.url)));
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--permission-set", `--config=${config}`, main, ...args],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
}

/** Starts a worker and waits until it works. */
async function startWorker(url: string): Promise<Deno.ChildProcess> {
  const worker = spawn(url, "worker");
  const reader = worker.stdout.getReader();
  await reader.read();
  await reader.cancel();
  return worker;
}

async function rate(url: string): Promise<number> {
  const front = spawn(url, "front", String(TASKS), String(AT_ONCE));
  await front.stdin.close();
  const said = await toText(front.stdout);
  await front.status;
  return Number(said);
}
