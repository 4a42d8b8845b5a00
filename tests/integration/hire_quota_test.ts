/** `[hire]` limits what each token may use. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { eventually, exists } from "../contract/shared.ts";
import { type Hire, type HireAnswer, shellTarget, TOKENS, writePolicy } from "../support/hire.ts";
import { type HireYard, type HireYardOptions, testEngines } from "../support/hire_engines.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { heronPage, Site } from "../support/site.ts";
import type { Place } from "../support/svc.ts";

const PATIENCE_MS = 60_000;
const ASYNC = { prefer: "respond-async" };
const SENT = {
  task_type: "research",
  query: "heron",
  effort: "minimal",
  extra: { urls: ["http://127.0.0.1:9/"] },
};

/** Starts a daemon with limits. */
function serve(yard: HireYard, limits: string, options: HireYardOptions = {}): Promise<Hire> {
  const more = `[hire]\n${limits}\n${options.more ?? ""}`;
  return yard.serve({ args: ["--allow-private"], tokens: TOKENS, ...options, more });
}

/** Requires a refusal by a limit. */
function requireRefused({ status, headers, json }: HireAnswer, limit: string, value: number) {
  assertEquals([status, json.error.code], [429, "budget_exceeded"]);
  assertStringIncludes(json.error.message, `[hire] ${limit} is ${value}`);
  assertStringIncludes(json.error.hint, `the operator can raise ${limit} in daemon.toml`);
  const { retry_after_s } = json.error.details;
  assertEquals(json.error.details, { limit, value, retry_after_s });
  assertEquals(headers.get("retry-after"), `${retry_after_s}`);
  assert(Number.isInteger(retry_after_s) && retry_after_s > 0);
}

async function tasks(place: Place): Promise<number> {
  const { stdout } = await place.svc(["ctl", "tasks", "--json"]);
  return JSON.parse(stdout).tasks.length;
}

testEngines("max_queued: of twenty requests at once as many are accepted as fit", async (yard) => {
  const { place } = yard;
  await using hire = await serve(yard, "max_queued = 5", { workers: 0 });
  const queue = (more = {}, key?: string) =>
    hire.request("POST", "/api/task", {
      body: SENT,
      headers: { ...ASYNC, ...(key === undefined ? {} : { "idempotency-key": key }) },
      ...more,
    });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => queue({}, `k-${n}`)));
  const accepted = answers.filter(({ status }) => status === 202);
  assertEquals(accepted.length, 5);
  const refused = answers.filter(({ status }) => status !== 202);
  for (const answer of refused) requireRefused(answer, "max_queued", 5);
  assertEquals(await tasks(place), 5);

  // Controls: a repeated request, another token, and a task that is not queued.
  const n = answers.indexOf(accepted[0]);
  assertEquals((await queue({}, `k-${n}`)).json.id, accepted[0].json.id);
  assertEquals((await queue({ token: TOKENS[1] })).status, 202);
  await using site = new Site(heronPage);
  const urls = [`${site.origin}/`];
  assertEquals((await hire.task({ ...SENT, extra: { urls } })).status, "completed");

  // A2A gets the same status and the same details; the message may come again.
  const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ data: SENT }] };
  const call = {
    jsonrpc: "2.0",
    id: 7,
    method: "SendMessage",
    params: { message, configuration: { returnImmediately: true } },
  };
  const said = await hire.request("POST", "/a2a", { body: call });
  assertEquals([said.status, said.json.id, said.headers.get("retry-after")], [429, 7, "10"]);
  assertStringIncludes(said.json.error.message, "[hire] max_queued is 5");
  const details = { limit: "max_queued", value: 5, retry_after_s: 10 };
  assertEquals(said.json.error.data, [{ svc_code: "budget_exceeded", ...details }]);
  assertEquals(await tasks(place), 7);
  await hire.request("POST", `/api/task/${accepted[0].json.id}/cancel`);
  const again = await hire.request("POST", "/a2a", { body: call });
  assertEquals([again.status, again.json.error], [200, undefined]);
  assertEquals(await tasks(place), 8);
  // A refused key is still free.
  await hire.request("POST", `/api/task/${accepted[1].json.id}/cancel`);
  assertEquals((await queue({}, `k-${answers.indexOf(refused[0])}`)).status, 202);
});

testEngines("max_running: a waiting client is refused while another task runs", async (yard) => {
  const { place } = yard;
  await using site = new Site(heronPage);
  const dir = place.mkdir("deploy");
  const line = "echo begun >>begun; while [ ! -f go ]; do sleep 0.05; done";
  const health_url = `${site.origin}/`;
  writePolicy(place, { deploy_targets: [shellTarget("held", dir, line, { health_url })] });
  await using hire = await serve(yard, "max_running = 1");
  const held = { task_type: "deploy", query: "go", effort: "minimal", extra: { target: "held" } };
  const running = hire.task(held);
  assert(await eventually(() => exists(join(dir, "begun")), PATIENCE_MS), "it does not begin");
  const body = { ...SENT, extra: { urls: [health_url] } };
  const refused = await hire.request("POST", "/api/task", { body });
  requireRefused(refused, "max_running", 1);
  assertStringIncludes(refused.json.error.hint, "respond-async");
  assertEquals(await tasks(place), 1);
  assertEquals((await hire.task(body, { token: TOKENS[1] })).status, "completed");
  Deno.writeTextFileSync(join(dir, "go"), "");
  assertEquals((await running).status, "completed");
  assertEquals((await hire.task(body)).status, "completed");
});

testEngines("max_bytes: requests and artifacts fill the space of a token", async (yard) => {
  const { place } = yard;
  await using site = new Site(heronPage);
  await using hire = await serve(yard, "max_bytes = 20_000", { workers: 0 });
  const first = { ...SENT, extra: { urls: [`${site.origin}/`] } };
  const { status, artifacts } = await hire.task(first);
  assertEquals(status, "completed");
  const kept = artifacts.reduce((sum: number, { size }: { size: number }) => sum + size, 0);
  assert(kept > 0);
  const bytes = (value: unknown) => JSON.stringify(value).length;
  const rest = 20_000 - kept - bytes(first) - bytes({ ...SENT, description: "" });
  const queue = (length: number, token = TOKENS[0]) =>
    hire.request("POST", "/api/task", {
      body: { ...SENT, description: "x".repeat(length) },
      headers: ASYNC,
      token,
    });
  requireRefused(await queue(rest + 1), "max_bytes", 20_000);
  assertEquals(await tasks(place), 1);
  assertEquals((await queue(rest + 1, TOKENS[1])).status, 202);
  assertEquals((await queue(rest)).status, 202);
  requireRefused(await queue(1), "max_bytes", 20_000);
});

testEngines("max_usd_day: a token that has spent its money waits until tomorrow", async (yard) => {
  const { place } = yard;
  await using site = new Site(heronPage);
  const server = startOpenAiServer(() => ({
    text: JSON.stringify({
      summary: "Herons eat fish.",
      claims: [{ claim: "They eat frogs too.", quote: "It eats fish, frogs", source: 1 }],
    }),
    usage: { input: 1_000_000, output: 10 },
  }), { open: true });
  await using _closed = { [Symbol.asyncDispose]: () => server.close() };
  const model = `[models.local]\nkind = "openai-compatible"\n` +
    `base_url = "${server.url}"\n[prices."local/model-1"]\ninput = 1\noutput = 1\n`;
  await using hire = await serve(yard, "max_usd_day = 0.5", { more: model });
  const body = { ...SENT, extra: { urls: [`${site.origin}/`], model: "local/model-1" } };
  const record = await hire.task(body);
  assertEquals(record.status, "completed", record.error);
  assert(record.usage.usd > 0.5);
  const refused = await hire.request("POST", "/api/task", { body });
  requireRefused(refused, "max_usd_day", 0.5);
  const wait_s = refused.json.error.details.retry_after_s;
  // Restate keeps what was spent by the hour.
  const early_s = yard.engine === "restate" ? 3_600 : 0;
  assert(wait_s > 86_000 - early_s && wait_s <= 86_400, `${wait_s}`);
  assertEquals((await hire.request("POST", "/api/task", { body, headers: ASYNC })).status, 429);
  assertEquals(await tasks(place), 1);
  assertEquals((await hire.task(body, { token: TOKENS[1] })).status, "completed");
});

testEngines("without tokens a limit holds for all hirers together, also in curl", async (yard) => {
  const { place } = yard;
  await using hire = await serve(yard, "max_queued = 1", { workers: 0, tokens: [] });
  const curl = async () => {
    const { stdout } = await new Deno.Command("curl", {
      args: [
        ...["-sS", "-o", "/dev/null", "-w", "%{http_code} %header{retry-after}"],
        ...["-H", "Content-Type: application/json", "-H", "Prefer: respond-async"],
        ...["-d", JSON.stringify(SENT), `${hire.url}/api/task`],
      ],
    }).output();
    return new TextDecoder().decode(stdout);
  };
  assertEquals(await curl(), "202 ");
  assertEquals(await curl(), "429 10");
  assertEquals(await tasks(place), 1);
});
