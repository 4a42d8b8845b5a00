/**
 * The client that the protocol's conformance suite examines: connects to the address that it is
 * given through the product's own tool servers, and calls every tool that is there.
 */
import { httpEntry, TestToolServers, TRUSTED } from "./tool_servers.ts";

const url = Deno.args.at(-1)!;
await using it = new TestToolServers([httpEntry("suite", url)]);
const { offered, problems } = await it.servers.tools(TRUSTED, new AbortController().signal);
for (const { message } of problems) throw new Error(message);
for (const { tool } of offered) {
  const numbers = Object.keys(tool.inputSchema.properties ?? {}).map((name, n) => [name, n + 2]);
  const args = Object.fromEntries(numbers);
  console.log(tool.name, await it.call("suite", tool.name, args, { answer_forms: true }));
}
