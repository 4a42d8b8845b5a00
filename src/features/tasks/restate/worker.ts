/** A worker: serves the tasks' services to Restate on a port, and runs attempts. */
import { deadline, delay } from "@std/async";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Deliver } from "../callbacks.ts";
import { QUEUE_KEY, runService } from "./api.ts";
import type { Ingress } from "./ingress.ts";
import { Runs, type RunsParts } from "./runs.ts";
import { restateHandler } from "./services.ts";

export interface RestateWorkerParts extends RunsParts {
  ingress: Ingress;
  hostname: string;
  port: number;
  /** Where health is told over HTTP/1.1: supervisors seldom speak HTTP/2 without TLS. */
  health?: { hostname: string; port: number };
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
const ANNOUNCE_AGAIN_MS = 250;
/** How long a worker that stops waits until Restate knows it, and for its last answers. */
const FAREWELL_MS = 2_000;

/** Starts a worker. @throws {SvcError} conflict when a port is taken; validation for a wrong key. */
export async function openRestateWorker(parts: RestateWorkerParts): Promise<RestateWorker> {
  const { ingress, hostname, port, slots, log } = parts;
  const runs = new Runs(parts);
  const handler = handlerOf(parts, runs);
  let stopping = false;
  let answering = 0;
  // Not Deno.serve, which delays small packets by 40 ms (no TCP_NODELAY).
  const server = createServer((request, response) => {
    // The rest is still answered: the ends of its own attempts need it.
    if (stopping && request.url.startsWith(`/invoke/${runService("")}`)) {
      // Restate asks again, and a balancer passes it on to another worker.
      response.writeHead(503);
      response.end();
      return;
    }
    answering++;
    response.once("close", () => answering--);
    handler(request, response);
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  await listen(server, { hostname, port });
  const health = parts.health && serveHealth(parts.health, () => {
    const status = stopping ? "stopping" : "ok";
    return Response.json({ status, busy: runs.busy }, { status: stopping ? 503 : 200 });
  });

  let timer: number | undefined;
  let leaving = false;
  let announcing: Promise<void> = Promise.resolve();
  const announce = async (slots: number): Promise<void> => {
    const input = { now: Date.now(), process: runs.holder.process, slots };
    const reached = await ingress.call("svc-queue", QUEUE_KEY, "announce", input)
      .then(() => true, (error) => {
        log.debug("cannot announce this worker", { error: messageOf(error) });
        return false;
      });
    if (slots === 0 || leaving) return;
    timer = setTimeout(next, reached ? ANNOUNCE_MS : ANNOUNCE_AGAIN_MS);
    Deno.unrefTimer(timer);
  };
  const next = () => void (announcing = announce(slots));
  next();

  return {
    port: (server.address() as AddressInfo).port,
    async close(grace_ms = 0) {
      leaving = true;
      clearTimeout(timer);
      // While it still takes attempts: the queue may be waiting for one that it has sent.
      await deadline(announcing.then(() => announce(0)), FAREWELL_MS).catch(() => {});
      stopping = true;
      await runs.close(grace_ms);
      const until = performance.now() + FAREWELL_MS;
      while (answering > 0 && performance.now() < until) await delay(20);
      server.close();
      // Restate would keep its connections, and ask again there.
      for (const session of sessions) session.destroy();
      await health?.shutdown();
    },
  };
}

/** @throws {SvcError} validation when a public key cannot be read */
function handlerOf(parts: RestateWorkerParts, runs: Runs): ReturnType<typeof restateHandler> {
  try {
    return restateHandler({ ...parts, runs });
  } catch (error) {
    if (parts.identity_keys.length === 0) throw error;
    throw new SvcError("validation", `[tasks] restate_public_keys: ${messageOf(error)}`, {
      hint: "the log of restate-server has its key: publickeyv1_…",
    });
  }
}

/** Answers `GET /health`. @throws {SvcError} conflict when the port is taken. */
function serveHealth(
  { hostname, port }: { hostname: string; port: number },
  answer: () => Response,
): Deno.HttpServer {
  try {
    return Deno.serve(
      { hostname, port, onListen() {} },
      ({ url }) =>
        new URL(url).pathname === "/health" ? answer() : new Response("not found", { status: 404 }),
    );
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw taken(hostname, port, "--health");
  }
}

function taken(hostname: string, port: number, flag: string): SvcError {
  return new SvcError("conflict", `another program already listens on ${hostname}:${port}`, {
    hint: `choose another port with ${flag}`,
  });
}

async function listen(
  server: Http2Server,
  { hostname, port }: { hostname: string; port: number },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, hostname, resolve);
  try {
    await promise;
  } catch (error) {
    if ((error as { code?: string }).code !== "EADDRINUSE") throw error;
    throw taken(hostname, port, "--listen");
  }
}
