/**
 * A hirer, or a web page, attacks the listener of surface B: requests that read in two ways, names
 * that are not its own, the tasks of others. Tokens are configured, and the attacker has one of them
 * or none.
 */
import { TaskNotFoundError } from "@a2a-js/sdk/errors";
import { deadline } from "@std/async";
import { join } from "@std/path";
import { a2aClient, ask, toSend } from "../support/a2a.ts";
import { freePort } from "../support/free_port.ts";
import { rawExchange } from "../support/raw.ts";
import { attacksBy, type Json, type Loot, lootOf, sharedStage, type Stage } from "./kit.ts";

const OWNER = "token-of-the-owner";
const OTHER = "token-of-another-hirer";
const SECRET = "The heron of the owner waits where nobody looks for it, and it eats fish.";

/** A stage with surface B at a port of its own. */
function hiring(toml = "") {
  const port = freePort();
  const set = sharedStage({
    env: { SVC_SERVE_TOKENS: `${OWNER},${OTHER}` },
    args: ["--enable-agent-routes", "--addr", `127.0.0.1:${port}`],
    prepare(stage: Stage) {
      const offer = stage.workdir("offer");
      stage.configure(
        `[cortex]\ncurator = false\n[tasks]\nworkdirs = ["${offer}"]\n` +
          `[http]\nallowed_origins = ["https://pages.example"]\n${toml}`,
      );
      stage.victim.write(join(offer, "notes.txt"), `${SECRET}\n`, 0o644);
    },
  });
  return { port, url: `http://127.0.0.1:${port}`, set };
}

const closed = hiring();
const shared = hiring("[hire]\nshared = true\n");
type Place = typeof closed;

// ── framing ──────────────────────────────────────────────────────────────────────────────────────

const hirer = attacksBy("hirer");
const page = attacksBy("web page");
const SMUGGLED = "GET /api/capabilities HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";

/** How many answers come for bytes that a proxy would take for one request. */
async function answers(...lines: string[]): Promise<Loot> {
  const request = ["POST /api/task HTTP/1.1", `x-svc-bearer: ${OWNER}`, ...lines].join("\r\n");
  const text = await deadline(rawExchange(closed.port, request), 60_000);
  return (text.match(/HTTP\/1\.1 \d/g)?.length ?? 0) > 1 ? text : undefined;
}

const HOST = () => `host: 127.0.0.1:${closed.port}`;
const FRAMINGS: Record<string, string[]> = {
  "a coding before a length": ["transfer-encoding: chunked", "content-length: 60"],
  "a length before a coding": ["content-length: 60", "transfer-encoding: chunked"],
  "a coding with a tab before a length": ["transfer-encoding:\tchunked", "content-length: 60"],
  "two codings and a length": [
    "transfer-encoding: identity",
    "transfer-encoding: chunked",
    "content-length: 60",
  ],
  "a coding in capitals before a length": ["TRANSFER-ENCODING: Chunked", "CONTENT-LENGTH: 60"],
  "a coding behind a blank": ["transfer-encoding : chunked", "content-length: 60"],
  "two lengths": ["content-length: 5", "content-length: 60"],
};
for (const [name, lines] of Object.entries(FRAMINGS)) {
  hirer(`smuggles a second request behind ${name}`, {
    // Two requests that are two for everyone.
    control: () =>
      answers(HOST(), "content-type: application/json", "content-length: 2", "", `{}${SMUGGLED}`),
    attempt: () => answers(HOST(), ...lines, "", `0\r\n\r\n${SMUGGLED}`),
  });
}

// ── names ────────────────────────────────────────────────────────────────────────────────────────

async function card(target: string, host: string): Promise<Loot> {
  const request = `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
  const text = await deadline(rawExchange(closed.port, request), 60_000);
  return text.startsWith("HTTP/1.1 200") ? text : undefined;
}

const CARD = "/.well-known/agent-card.json";
const NAMES: Record<string, [target: string, host: string]> = {
  "another name in Host": [CARD, "evil.example"],
  "another name and the right port in Host": [CARD, "evil.example:<port>"],
  "a public address in Host": [CARD, "203.0.113.7:<port>"],
  "another port in Host": [CARD, "127.0.0.1:1"],
  "a name with a user in Host": [CARD, "127.0.0.1:<port>@evil.example"],
  "a path in Host": [CARD, "evil.example/x?"],
  "two hosts": [CARD, "127.0.0.1:<port>\r\nhost: evil.example"],
  "another name in the target": [`http://evil.example${CARD}`, "127.0.0.1:<port>"],
  "another name in target and Host": [`http://evil.example${CARD}`, "evil.example"],
};
for (const [name, [target, host]] of Object.entries(NAMES)) {
  hirer(`poisons the agent card by ${name}`, {
    // The address that a hirer of this network used is in the card.
    control: async () => lootOf(await card(CARD, `localhost:${closed.port}`) ?? "", "localhost:"),
    attempt: async () =>
      lootOf(
        await card(target, host.replace("<port>", String(closed.port))) ?? "",
        ...["evil.example", "203.0.113.7", "127.0.0.1:1/"],
      ),
  });
}

hirer("is answered at a target with a foreign authority", {
  control: () => card(`http://127.0.0.1:${closed.port}${CARD}`, `127.0.0.1:${closed.port}`),
  attempt: () => card(`http://evil.example${CARD}`, `127.0.0.1:${closed.port}`),
});

// ── pages ────────────────────────────────────────────────────────────────────────────────────────

async function fromPage(origin: string): Promise<Loot> {
  const response = await fetch(`${closed.url}/api/capabilities`, { headers: { origin } });
  const text = await response.text();
  return response.ok ? text : undefined;
}

page("hires from a sandboxed frame", {
  control: () => fromPage("https://pages.example"),
  attempt: () => fromPage("null"),
});

// ── the tasks of others ──────────────────────────────────────────────────────────────────────────

async function call(place: Place, token: string, method: string, path: string, body?: Json) {
  const response = await fetch(`${place.url}${path}`, {
    method,
    headers: { "x-svc-bearer": token, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const request = (place: Place) => ({
  task_type: "research",
  query: "What does the heron eat?",
  extra: { workdir: join(place.set.stage.victim.home, "offer"), files: ["notes.txt"] },
});

/** A task that the owner had done over HTTP. */
async function overHttp(place: Place): Promise<string> {
  const { text } = await call(place, OWNER, "POST", "/api/task", request(place));
  return JSON.parse(text).id;
}

/** One that the owner had done by A2A, with the SDK's own client. */
async function byA2a(place: Place): Promise<string> {
  const client = await a2aClient(place.url, { token: OWNER });
  return (await ask(client, toSend(request(place)))).id;
}

const LOOKS: Record<string, (place: Place, id: string, token: string) => Promise<Loot>> = {
  async "reads its record"(place, id, token) {
    return lootOf((await call(place, token, "GET", `/api/task/${id}`)).text, SECRET);
  },
  async "follows its events"(place, id, token) {
    return lootOf((await call(place, token, "GET", `/api/task/${id}/events`)).text, SECRET);
  },
  async "fetches its artifact"(place, id, token) {
    const path = `/api/task/${id}/artifacts/report.md`;
    return lootOf((await call(place, token, "GET", path)).text, SECRET);
  },
  async "learns from a cancellation that it is there"(place, id, token) {
    const { status } = await call(place, token, "POST", `/api/task/${id}/cancel`);
    return status === 404 ? undefined : String(status);
  },
  async "gets it by A2A"(place, id, token) {
    const client = await a2aClient(place.url, { token });
    return lootOf(await orError(client.getTask({ id, tenant: "" })), SECRET);
  },
  async "cancels it by A2A"(place, id, token) {
    const client = await a2aClient(place.url, { token });
    return known(client.cancelTask({ id, tenant: "", metadata: undefined }));
  },
  async "subscribes to it by A2A"(place, id, token) {
    const client = await a2aClient(place.url, { token });
    return known(Array.fromAsync(client.resubscribeTask({ id, tenant: "" })));
  },
  async "asks about it in a message by A2A"(place, id, token) {
    const client = await a2aClient(place.url, { token });
    return known(client.sendMessage(toSend(request(place), { taskId: id })));
  },
};

async function orError(work: Promise<unknown>): Promise<string> {
  return await work.then((value) => JSON.stringify(value), (error) => String(error));
}

/** Whether a call was answered otherwise than for a task that is not there. */
async function known(work: Promise<unknown>): Promise<Loot> {
  return await work.then(
    (value) => JSON.stringify(value) ?? "done",
    (error) => error instanceof TaskNotFoundError ? undefined : String(error),
  );
}

for (const [made, make] of Object.entries({ "over HTTP": overHttp, "by A2A": byA2a })) {
  for (const [what, look] of Object.entries(LOOKS)) {
    hirer(`knows the id of another's task, asked for ${made}, and ${what}`, {
      control: async () => await look(closed, await make(closed), OWNER),
      attempt: async () => await look(closed, await make(closed), OTHER),
    });
  }
}

hirer("sees a task of another although the operator shares none", {
  // With `shared` every hirer sees it.
  control: async () => await LOOKS["reads its record"](shared, await overHttp(shared), OTHER),
  attempt: async () => await LOOKS["reads its record"](closed, await overHttp(closed), OTHER),
});
