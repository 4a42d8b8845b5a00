/** Answers and failures of S3 and its kin, from a server of our own that gives them as told. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { artifactOf, HastyClock, readAll } from "../../../../tests/support/artifact_stores.ts";
import { granted } from "../../../../tests/support/permissions.ts";
import { has_s3_server, S3Server } from "../../../../tests/support/s3_server.ts";
import { TempDir } from "../../../../tests/support/sessions.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { newTaskId } from "../common.ts";
import { RetryableError } from "../task.ts";
import { openSharedArtifacts } from "./open.ts";

const SECRET = "the-secret-of-this-test";

interface Asked {
  method: string;
  url: URL;
  headers: Headers;
  bytes: Uint8Array<ArrayBuffer>;
}

type Answer = (request: Asked) => Response | Promise<Response>;

/** Gives one answer after the other, and the last one from then on. */
class ToldServer implements AsyncDisposable {
  readonly requests: Asked[] = [];
  readonly #answers: Answer[];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #stop = new AbortController();

  constructor(...answers: Answer[]) {
    this.#answers = answers;
    const { signal } = this.#stop;
    const at = { hostname: "127.0.0.1", port: 0, onListen() {}, onError: lost, signal };
    this.#server = Deno.serve(at, async (request) => {
      const { method, headers } = request;
      const asked = { method, headers, url: new URL(request.url), bytes: await request.bytes() };
      const answer = this.#answers[Math.min(this.requests.push(asked), this.#answers.length) - 1];
      return await answer(asked);
    });
  }

  async store(query = "") {
    const env: Record<string, string> = {
      AWS_ACCESS_KEY_ID: "KEY",
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_SESSION_TOKEN: "a-session",
      AWS_ENDPOINT_URL: `http://127.0.0.1:${this.#server.addr.port}/base/`,
      AWS_REGION: "eu-west-1",
    };
    const url = `s3://things/svc${query}`;
    return await openSharedArtifacts(url, { env: (name) => env[name], clock: new HastyClock() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#server.finished;
  }
}

/** The answer to a request that a handler could not answer: the connection ends without one. */
function lost(): Response {
  return new Response(new ReadableStream({ start: (it) => it.error("lost") }));
}

const stored: Answer = () => new Response(null, { headers: { etag: "odd-etag-without-quotes" } });

function refused(status: number, code: string, message = "", headers = {}): Answer {
  return () =>
    new Response(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, {
      status,
      headers,
    });
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore: !granted("net"), fn });
}

const artifact = await artifactOf("a report", "report.md");
const task_id = newTaskId();

/** What storing the artifact throws, and how often it was tried. */
async function failureOf(...answers: Answer[]) {
  await using server = new ToldServer(...answers);
  const store = await server.store();
  const error = await assertRejects(() => store.put(task_id, artifact, artifact.bytes), Error);
  assertStringIncludes(error.message, "cannot store artifact report.md in s3://things/svc/: ");
  assert(!error.message.includes(SECRET) && !error.message.includes("a-session"));
  return { error, message: error.message, tries: server.requests.length };
}

test("an artifact is sent in one piece that the oldest servers understand", async () => {
  await using server = new ToldServer(stored);
  await (await server.store()).put(task_id, artifact, artifact.bytes);
  const [{ method, url, headers, bytes }] = server.requests;
  assertEquals(method, "PUT");
  assertEquals(url.pathname, `/base/things/svc/${task_id}/${artifact.sha256}`);
  assertEquals(url.search, "");
  assertEquals(bytes, artifact.bytes);
  assertEquals(headers.get("content-length"), "8");
  assertEquals(headers.get("x-amz-content-sha256"), artifact.sha256);
  assertEquals(headers.get("x-amz-security-token"), "a-session");
  const signed = "host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token";
  const authorization = headers.get("authorization")!;
  assertStringIncludes(authorization, `/eu-west-1/s3/aws4_request, SignedHeaders=${signed}, `);
  for (const name of ["expect", "transfer-encoding", "x-amz-trailer", "content-encoding"]) {
    assertEquals(headers.get(name), null, name);
  }
  assertEquals([...headers.keys()].filter((name) => name.startsWith("x-amz-checksum")), []);
});

test("an empty artifact says that it has no bytes", async () => {
  await using server = new ToldServer(stored);
  const empty = await artifactOf("");
  await (await server.store()).put(task_id, empty, empty.bytes);
  assertEquals(server.requests[0].headers.get("content-length"), "0");
});

for (const status of [412, 304]) {
  test(`an artifact that exists already is stored: ${status}`, async () => {
    await using server = new ToldServer(() =>
      new Response(status === 304 ? null : "<Error><Code>PreconditionFailed</Code></Error>", {
        status,
      })
    );
    await (await server.store()).put(task_id, artifact, artifact.bytes);
    assertEquals(server.requests.length, 1);
  });
}

test("a server that knows no conditions is asked without, from then on", async () => {
  await using server = new ToldServer(refused(501, "NotImplemented"), stored);
  const store = await server.store();
  await store.put(task_id, artifact, artifact.bytes);
  await store.put(task_id, artifact, artifact.bytes);
  const conditions = server.requests.map(({ headers }) => headers.get("if-none-match"));
  assertEquals(conditions, ["*", null, null]);
});

for (
  const [answer, expected] of [
    [refused(507, "XMinioStorageFull", "No space."), "free space there or raise its quota"],
    [refused(403, "QuotaExceeded"), "free space there or raise its quota"],
    [refused(400, "XMinioAdminBucketQuotaExceeded"), "free space there or raise its quota"],
    [refused(403, "AccessDenied", "Cannot upload, storage cap exceeded"), "free space there"],
    [
      refused(403, "AccessDenied", "Access Denied."),
      "(Access Denied); allow these credentials s3:PutObject",
    ],
    [refused(403, "InvalidAccessKeyId"), "check AWS_ACCESS_KEY_ID"],
    [refused(403, "SignatureDoesNotMatch"), "check AWS_SECRET_ACCESS_KEY"],
    [refused(400, "ExpiredToken"), "renew AWS_SESSION_TOKEN"],
    [refused(404, "NoSuchBucket"), "404 NoSuchBucket; create the bucket"],
    [refused(400, "InvalidRequest", "no"), "400 InvalidRequest (no); check the URL"],
    [
      refused(301, "PermanentRedirect", "", { "x-amz-bucket-region": "us-west-2" }),
      "set AWS_REGION=us-west-2, or ?region=us-west-2 in the URL, instead of eu-west-1",
    ],
    [
      () =>
        new Response(
          "<Error><Code>AuthorizationHeaderMalformed</Code><Region>garage</Region></Error>",
          { status: 400 },
        ),
      "set AWS_REGION=garage",
    ],
    [
      refused(403, "RequestTimeTooSkewed", "", {
        date: new Date(Date.now() - 7.2e6).toUTCString(),
      }),
      "set this machine's clock; it is 72",
    ],
    [
      () => new Response("<html>a console</html>", { status: 200 }),
      "answered 200 but not like S3; set the endpoint to the S3 API",
    ],
  ] satisfies [Answer, string][]
) {
  test(`a task fails at once, with what to do: ${expected}`, async () => {
    const { error, message, tries } = await failureOf(answer);
    assert(error instanceof SvcError && error.code === "internal", message);
    assertStringIncludes(message, expected);
    assertEquals(tries, 1);
  });
}

const LOST = "connection closed before message completed";

const PASSING: [string, Answer][] = [
  ["503 SlowDown", refused(503, "SlowDown")],
  ["429", refused(429, "")],
  ["500 InternalError", refused(500, "InternalError")],
  ["409 ConditionalRequestConflict", refused(409, "ConditionalRequestConflict")],
  ["400 RequestTimeout", refused(400, "RequestTimeout")],
  [LOST, () => Promise.reject(new Error("lost"))],
];

for (const [expected, answer] of PASSING) {
  test(`what lasts too long is retryable: ${expected}`, async () => {
    const { error, message, tries } = await failureOf(answer);
    assert(error instanceof RetryableError, message);
    assertStringIncludes(message, expected);
    // Deno itself repeats a request once whose connection is lost.
    assertEquals(tries, expected === LOST ? 8 : 4);
  });

  test(`what passes is not noticed: ${expected}`, async () => {
    await using server = new ToldServer(answer, answer, stored);
    await (await server.store()).put(task_id, artifact, artifact.bytes);
    assertEquals(server.requests.length, 3);
    assertEquals(server.requests.at(-1)?.bytes, artifact.bytes);
  });
}

test("nobody answers: the error names the endpoint", async () => {
  const server = new ToldServer(stored);
  const store = await server.store();
  await server[Symbol.asyncDispose]();
  const error = await assertRejects(
    () => store.put(task_id, artifact, artifact.bytes),
    RetryableError,
  );
  assertStringIncludes(error.message, "http://127.0.0.1:");
  assertStringIncludes(error.message, "check the connection and the endpoint");
});

test("a redirect is not followed with the credentials", async () => {
  await using other = new ToldServer(stored);
  const { origin } = new URL((await askedAt(other)).url);
  await using server = new ToldServer(() => Response.redirect(`${origin}/elsewhere`, 307));
  const store = await server.store();
  await assertRejects(() => store.put(task_id, artifact, artifact.bytes), SvcError, "307");
  assertEquals(other.requests.length, 1, "only the request that asked for its address");
});

async function askedAt(server: ToldServer) {
  await (await server.store()).put(task_id, artifact, artifact.bytes);
  return server.requests[0];
}

test("a read tells what is missing from what is denied", async () => {
  await using server = new ToldServer(refused(404, "NoSuchKey"), refused(403, "AccessDenied"));
  const store = await server.store();
  assertEquals(await store.open(task_id, artifact), undefined);
  await assertRejects(() => store.open(task_id, artifact), SvcError, "s3:ListBucket");
});

test("a connection lost during a read fails the stream", async () => {
  const { promise: opened, resolve: onOpened } = Promise.withResolvers<void>();
  await using server = new ToldServer(() => {
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("a rep"));
        await opened;
        controller.error("lost");
      },
    });
    return new Response(body);
  });
  const stream = await (await server.store()).open(task_id, artifact);
  onOpened();
  const { bytes, error } = await readAll(stream);
  assert(bytes.length < artifact.size);
  assert(error instanceof SvcError && error.code === "unavailable", `${error}`);
  assertStringIncludes(error.message, "its bytes stopped coming");
});

test("a body that a proxy has compressed is read as it was", async () => {
  await using server = new ToldServer(() => {
    const body = new Blob([artifact.bytes]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Response(body, { headers: { "content-encoding": "gzip" } });
  });
  const { bytes, error } = await readAll(await (await server.store()).open(task_id, artifact));
  assertEquals({ bytes, error }, { bytes: artifact.bytes, error: undefined });
});

test("a removal reads every page of a listing", async () => {
  const page = (key: string, rest: string) => () =>
    new Response(
      `<?xml version="1.0"?><ListBucketResult xmlns="http://s3/"><Prefix>svc/</Prefix>${rest}<Contents><Key>svc/${task_id}/${key}</Key></Contents></ListBucketResult>`,
    );
  const gone = () => new Response(null, { status: 204 });
  const more =
    "<IsTruncated>true</IsTruncated><NextContinuationToken>a+b/c=&amp;d e</NextContinuationToken>";
  await using server = new ToldServer(
    page("1", more),
    page("2", "<IsTruncated>false</IsTruncated>"),
    gone,
    refused(404, "NoSuchKey"),
  );
  await (await server.store()).remove(task_id);
  const [first, second, ...removed] = server.requests.map(({ method, url }) => ({ method, url }));
  assertEquals(first.url.searchParams.get("prefix"), `svc/${task_id}/`);
  assertEquals(second.url.searchParams.get("continuation-token"), "a+b/c=&d e");
  assertEquals(removed.map(({ method, url }) => `${method} ${url.pathname}`), [
    `DELETE /base/things/svc/${task_id}/1`,
    `DELETE /base/things/svc/${task_id}/2`,
  ]);
});

test("a server that ignores the prefix loses nothing else", async () => {
  const keys = ["others/1", `svc/${task_id}/1`, `svc/${newTaskId()}/1`, "svc"];
  const listing = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join("");
  await using server = new ToldServer(
    () => new Response(`<ListBucketResult>${listing}</ListBucketResult>`),
    () => new Response(null, { status: 204 }),
  );
  await (await server.store()).remove(task_id);
  const removed = server.requests.slice(1).map(({ url }) => url.pathname);
  assertEquals(removed, [`/base/things/svc/${task_id}/1`]);
});

test("a sweep of a web page removes nothing", async () => {
  await using server = new ToldServer(() => new Response("<html></html>"));
  const store = await server.store();
  await assertRejects(() => store.sweep(() => Promise.resolve(false)), SvcError, "not like S3");
  assertEquals(server.requests.length, 1);
});

Deno.test({
  name: "a foreign server refuses a wrong key, and takes the right one",
  ignore: !has_s3_server,
  async fn() {
    using dir = new TempDir();
    await using server = await S3Server.start(dir.path, "things");
    const open = (secret?: string) =>
      openSharedArtifacts("s3://things/svc", {
        env: (name) => name === "AWS_SECRET_ACCESS_KEY" && secret ? secret : server.env(name),
      });
    const wrong = await open("wrong");
    const error = await assertRejects(() => wrong.put(task_id, artifact, artifact.bytes), SvcError);
    assertStringIncludes(error.message, "403 SignatureDoesNotMatch");
    assertEquals(await (await open()).open(task_id, artifact), undefined);
    await (await open()).put(task_id, artifact, artifact.bytes);
    assertEquals(
      (await readAll(await (await open()).open(task_id, artifact))).bytes,
      artifact.bytes,
    );
  },
});
