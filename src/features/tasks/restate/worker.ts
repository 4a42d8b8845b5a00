/** A worker: serves the tasks' services to Restate on a port, and runs attempts. */
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Deliver } from "../callbacks.ts";
import { QUEUE_KEY } from "./api.ts";
import type { Ingress } from "./ingress.ts";
import { Runs, type RunsParts } from "./runs.ts";
import { restateHandler } from "./services.ts";

export interface RestateWorkerParts extends RunsParts {
  ingress: Ingress;
  hostname: string;
  port: number;
  /** How many queued tasks run here at once. */
  slots: number;
  task_types: readonly string[];
  /** Public keys of the Restate servers that may call; without any, everyone may. */
  identity_keys: readonly string[];
  deliver?: Deliver;
  log: Log;
}

export interface RestateWorker {
  port: number;
  /**
   * Refuses new attempts, lets running ones end for `grace_ms`, and hands the rest over to other
   * workers.
   */
  close(grace_ms?: number): Promise<void>;
}

const ANNOUNCE_MS = 30_000;
const ANNOUNCE_AGAIN_MS = 1_000;

/** Starts a worker. @throws {SvcError} conflict when the port is taken. */
export function openRestateWorker(parts: RestateWorkerParts): RestateWorker {
  const { ingress, hostname, port, slots, log } = parts;
  const runs = new Runs(parts);
  const handler = restateHandler({ ...parts, runs });
  let stopping = false;
  const server = listen({ hostname, port }, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/health" || pathname === "/livez") {
      const state = stopping ? "stopping" : "ok";
      return Response.json({ status: state, busy: runs.busy }, { status: stopping ? 503 : 200 });
    }
    if (stopping && pathname.startsWith("/invoke/")) {
      // Restate asks again, and a balancer passes it on to another worker.
      return new Response("this worker is stopping", { status: 503 });
    }
    return handler(request);
  });

  let timer: number | undefined;
  let announcing: Promise<void> = Promise.resolve();
  const announce = async (slots: number): Promise<void> => {
    const input = { now: Date.now(), process: runs.holder.process, slots };
    const reached = await ingress.call("svc-queue", QUEUE_KEY, "announce", input)
      .then(() => true, (error) => {
        log.debug("cannot announce this worker", { error: messageOf(error) });
        return false;
      });
    if (stopping) return;
    timer = setTimeout(next, reached ? ANNOUNCE_MS : ANNOUNCE_AGAIN_MS);
    Deno.unrefTimer(timer);
  };
  const next = () => void (announcing = announce(slots));
  next();

  return {
    port: server.addr.port,
    async close(grace_ms = 0) {
      stopping = true;
      clearTimeout(timer);
      await announcing;
      await Promise.all([announce(0), runs.close(grace_ms)]);
      await Promise.race([server.shutdown(), wait(2_000)]);
    },
  };
}

function listen(
  { hostname, port }: { hostname: string; port: number },
  handler: (request: Request) => Response | Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname, port, onListen() {} }, handler);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new SvcError("conflict", `another program already listens on ${hostname}:${port}`, {
      hint: "choose another port with --listen",
    });
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => Deno.unrefTimer(setTimeout(resolve, ms)));
}
