/**
 * The client that the protocol's conformance suite examines: connects to the address that it is
 * given through the product's own tool servers, logs in where it is asked to, and calls every tool.
 */
import { SvcError } from "../../src/protocol/errors.ts";
import { freePort } from "./free_port.ts";
import { TempDir } from "./sessions.ts";
import { httpEntry, TestToolServers, TRUSTED } from "./tool_servers.ts";

const SERVER = "suite";
/** A server may ask for more rights later. */
const LOGINS_MAX = 3;

const url = Deno.args.at(-1)!;
const { client_id, client_secret } = JSON.parse(Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}");
const oauth = client_id && {
  oauth: {
    client_id,
    port: freePort(),
    ...(client_secret && { client_secret_env: "CLIENT_SECRET" }),
  },
};
using dir = new TempDir();
await using it = new TestToolServers([httpEntry(SERVER, url, { ...oauth })], {
  env: { CLIENT_SECRET: client_secret },
  logins: `${dir.path}/logins.json`,
});

let logins = 0;

/** Does what a person does in a browser that is sent on at once. */
async function allow(): Promise<void> {
  const begun = await it.servers.login(SERVER, TRUSTED);
  const page = await fetch(begun!.url, { redirect: "follow" });
  await page.body?.cancel();
  await it.servers.loginEnd(SERVER, new AbortController().signal);
}

/** Logs in, as often as it is asked to. */
async function loggedIn<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const asked = error instanceof SvcError && error.code === "unauthenticated";
      if (!asked || logins++ === LOGINS_MAX) throw error;
      await allow();
    }
  }
}

const signal = new AbortController().signal;
let { offered, problems } = await it.servers.tools(TRUSTED, signal);
if (problems.length > 0) {
  await loggedIn(() => it.servers.test(SERVER, TRUSTED, signal));
  ({ offered, problems } = await it.servers.tools(TRUSTED, signal));
}
for (const { message } of problems) {
  if (!message.includes("it offers no tools")) throw new Error(message);
}
for (const { tool } of offered) {
  const numbers = Object.keys(tool.offered.input_schema.properties ?? {}).map((
    name,
    n,
  ) => [name, n + 2]);
  const args = Object.fromEntries(numbers);
  const call = () => it.call(SERVER, tool.name, args, { answer_forms: true });
  console.log(tool.name, await loggedIn(call));
}
