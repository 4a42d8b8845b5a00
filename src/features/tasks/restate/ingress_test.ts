import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { freePort } from "../../../../tests/support/free_port.ts";
import { granted } from "../../../../tests/support/permissions.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { Ingress, type IngressOptions } from "./ingress.ts";

const ignore = !granted("net");

/** A server in Restate's place, and what it was asked. */
async function withServer(
  answer: (request: Request) => Response | Promise<Response>,
  fn: (ingress: Ingress, requests: Request[]) => Promise<void>,
  options: Partial<IngressOptions> = {},
): Promise<void> {
  const requests: Request[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    requests.push(request.clone() as Request);
    return answer(request);
  });
  try {
    const url = `http://127.0.0.1:${server.addr.port}/`;
    await fn(new Ingress({ url, ...options }), requests);
  } finally {
    await server.shutdown();
  }
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore, fn });
}

async function failure(ingress: Ingress): Promise<SvcError> {
  return await assertRejects(() => ingress.call("svc-task", "t-1", "get"), SvcError);
}

function requireUnavailable(error: SvcError, message: string, hint: string): void {
  assertEquals([error.code, error.details], ["unavailable", { retry_after_s: 5 }]);
  assertStringIncludes(error.message, message);
  assertStringIncludes(error.hint!, hint);
}

test("a handler is called with its key, its input and the bearer token", async () => {
  await withServer(() => Response.json({ beats: 1 }), async (ingress) => {
    assertEquals(await ingress.call("svc-orphan", "a/b c", "beat", {}), { beats: 1 });
  });
  const answer = async (request: Request) => {
    const { method, url, headers } = request;
    const [path, token] = [new URL(url).pathname, headers.get("authorization")];
    return Response.json([method, path, token, await request.text()]);
  };
  await withServer(answer, async (ingress) => {
    const got: unknown = await ingress.call("svc-orphan", "a/b c", "beat", {});
    assertEquals(got, ["POST", "/svc-orphan/a%2Fb%20c/beat", "Bearer secret", "{}"]);
    const without: unknown = await ingress.call("svc-task", "t-1", "get");
    assertEquals((without as string[])[3], "null");
  }, { key: "secret" });
  await withServer(() => new Response(""), async (ingress) => {
    assertEquals(await ingress.call("svc-task", "t-1", "forget"), undefined);
  });
});

test("a server that is not there is unavailable, and its address stays unknown to hirers", async () => {
  const port = freePort();
  const error = await failure(new Ingress({ url: `http://127.0.0.1:${port}` }));
  requireUnavailable(error, "Restate cannot be reached", "restate_url under [tasks]");
  assertEquals(`${error.message} ${error.hint}`.includes(String(port)), false);
});

test("a refused key is told apart, and which setting names it", async () => {
  for (const status of [401, 403]) {
    await withServer(() => new Response("no", { status }), async (ingress) => {
      const error = await failure(ingress);
      assertEquals(error.code, "permission_denied");
      assertStringIncludes(error.message, `${status} no`);
      assertStringIncludes(error.hint!, "restate_key_env");
    }, { key: "wrong" });
  }
});

test("without a registered worker the hint says how to start one", async () => {
  const message = "service 'svc-task' not found, make sure to register the service before";
  await withServer(() => Response.json({ message }, { status: 404 }), async (ingress) => {
    requireUnavailable(await failure(ingress), "no worker is registered", "--register");
  });
});

test("what a proxy sends is shown in part, and is no answer", async () => {
  const page = `<html>${"x".repeat(10_000)}</html>`;
  const html = { "content-type": "text/html" };
  await withServer(() => new Response(page, { status: 502, headers: html }), async (ingress) => {
    const error = await failure(ingress);
    requireUnavailable(error, "502 <html>xx", "logs of restate-server");
    assertEquals(error.message.length < 300, true);
  });
  await withServer(() => new Response(page, { headers: html }), async (ingress) => {
    requireUnavailable(await failure(ingress), "Restate sent no JSON", "its ingress?");
  });
  await withServer(() => new Response("", { status: 302, headers: { location: "/login" } }), async (
    ingress,
    requests,
  ) => {
    requireUnavailable(await failure(ingress), "302", "logs of restate-server");
    assertEquals(requests.length, 1, "a redirect is not followed with the key");
  });
});

test("waiting for an attempt outlasts failures, and ends with its signal", async () => {
  let asked = 0;
  const answer = () => {
    asked++;
    if (asked === 1) return Response.json({ message: "not found" }, { status: 404 });
    if (asked === 2) return new Response("busy", { status: 503 });
    return Response.json({ ended: true, run: 1 });
  };
  const run = { id: "t-1", run: 1 };
  await withServer(answer, async (ingress, requests) => {
    const settled = await ingress.ended(run, "echo", new AbortController().signal);
    assertEquals(settled, { ended: true, run: 1 });
    const [{ method, url }] = requests;
    const path = "/restate/workflow/svc-run-echo/t-1.1/attach";
    assertEquals([method, new URL(url).pathname], ["GET", path]);
  });
  await withServer(() => new Response("no", { status: 401 }), async (ingress) => {
    const { signal } = new AbortController();
    const error = await assertRejects(() => ingress.ended(run, "echo", signal), SvcError);
    assertEquals(error.code, "permission_denied");
  });
  const stop = new AbortController();
  const ended = new Ingress({ url: `http://127.0.0.1:${freePort()}` })
    .ended(run, "echo", stop.signal);
  stop.abort(new Error("enough"));
  await assertRejects(() => ended, Error, "enough");
});

test("a worker that does not answer in time is named", async () => {
  const silent = Promise.withResolvers<Response>();
  await withServer(() => silent.promise, async (ingress) => {
    requireUnavailable(await failure(ingress), "no worker answered Restate", "svc task worker");
    silent.resolve(Response.json(null));
  }, { answer_ms: 50 });
});
