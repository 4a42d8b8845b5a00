/** Every verb: an MCP tool, a JSON-RPC method and a schema; what they answer (contract.md section 4). */
import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import { toolName } from "../../src/doors/mcp/catalog.ts";
import type { Verb } from "../../src/verbs/define.ts";
import { VERBS } from "../../src/features/registry.ts";
import { McpClient } from "../support/mcp.ts";
import { takeServiceManager } from "../support/service_manager.ts";
import { can_run_svc, Place } from "../support/svc.ts";
import { SocketClient } from "../contract/client.ts";
import { SAMPLES, type VerbSample, World } from "../support/verb_samples.ts";

// deno-lint-ignore no-explicit-any -- schemas and answers are looked into
type Json = any;

const INVALID_PARAMS = -32602;
const ENVELOPE = ["data", "error_code", "error_message", "links", "ok"];

Deno.test("every verb has a sample of valid parameters", () => {
  const names = VERBS.map(({ name }) => name);
  assertEquals(names.filter((name) => !(name in SAMPLES)), [], "verbs without a sample");
  assertEquals(Object.keys(SAMPLES).filter((name) => !names.includes(name)), [], "not verbs");
});

Deno.test({
  name: "every verb is a tool and a method that answer valid and invalid parameters",
  ignore: !can_run_svc,
  async fn(t) {
    await using place = new Place();
    takeServiceManager(place);
    const daemon = await place.serve();
    await using socket = await daemon.rpc();
    await using asking = await SocketClient.connect(daemon.sock);
    using world = new World(place, socket.rpc);
    await using mcp = await McpClient.http(daemon);
    const { tools } = await mcp.client.listTools();
    const offered = new Map<string, Json>(tools.map((tool) => [tool.name, tool]));
    const last = (verb: Verb) => Number(SAMPLES[verb.name]?.ends_daemon ?? false);
    const public_verbs = VERBS.filter(({ internal }) => !internal);
    assertEquals(
      tools.map(({ name }) => name).sort(),
      public_verbs.map((verb) => toolName(verb, false)).sort(),
    );
    for (const verb of VERBS.toSorted((a, b) => last(a) - last(b))) {
      const sample = SAMPLES[verb.name];
      if (sample === undefined) continue;
      await t.step(verb.name, async () => {
        const tool = offered.get(toolName(verb, false));
        if (tool !== undefined) await checkTool(verb, sample, tool, mcp, world);
        // What ends the daemon has done so: there is no second call.
        if (!sample.ends_daemon) await checkMethod(verb, sample, asking, world);
      });
    }
  },
});

async function checkTool(
  verb: Verb,
  sample: VerbSample,
  tool: Json,
  mcp: McpClient,
  world: World,
): Promise<void> {
  assertEquals([tool.inputSchema.type, tool.outputSchema.type], ["object", "object"]);
  assertEquals(tool.annotations.readOnlyHint, verb.access === "read");
  assertEquals(tool.annotations.destructiveHint ?? false, verb.destructive ?? false);

  const invalid = invalidParams(tool.inputSchema);
  if (invalid !== undefined) {
    const refused = await mcp.call(tool.name, invalid);
    assertEquals(refused.isError, true, "invalid parameters are refused");
    if (!verb.legacy) assertFailure(refused.structuredContent, "validation");
  }

  // The client holds the answer against the schema and throws where it does not fit.
  const answer = await mcp.call(tool.name, await sample.params?.(world, "mcp") ?? {});
  const { structuredContent } = answer;
  const said = JSON.stringify(structuredContent);
  const fails_with = sample.person_only ? "permission_denied" : sample.fails_with;
  if (fails_with !== undefined) {
    assertEquals(answer.isError, true, said);
    return assertFailure(structuredContent, fails_with);
  }
  assertEquals(answer.isError ?? false, false, answer.content[0].text);
  assertEquals(JSON.parse(answer.content[0].text), structuredContent, "the text says the same");
  if (verb.legacy) return assert(!("ok" in structuredContent), said);
  assertEquals(structuredContent.ok, true, said);
  assertEquals(Object.keys(structuredContent).filter((key) => !ENVELOPE.includes(key)), [], said);
  const deprecations = verb.replaces === undefined ? [] : [verb.replaces];
  assertEquals(structuredContent.links?.deprecations ?? [], deprecations, said);
}

function assertFailure(structured: Json, code: string): void {
  const said = JSON.stringify(structured);
  assertEquals([structured.ok, structured.error_code], [false, code], said);
  assertEquals(typeof structured.error_message, "string", said);
  assert(!("data" in structured), said);
}

async function checkMethod(
  verb: Verb,
  sample: VerbSample,
  client: SocketClient,
  world: World,
): Promise<void> {
  const method = verb.name;
  const params = invalidParams(z.toJSONSchema(verb.input, { io: "input", unrepresentable: "any" }));
  if (params !== undefined) {
    assertEquals((await client.ask({ method, params })).error?.code, INVALID_PARAMS);
  }
  const valid = await sample.params?.(world, "rpc") ?? {};
  const { result, error } = await client.ask({ method, params: valid });
  if (sample.fails_with !== undefined) {
    return assertEquals(error?.data?.svc_code, sample.fails_with, JSON.stringify(result));
  }
  assertEquals(error, undefined);
  const fits = verb.output().safeParse(result);
  assert(fits.success, `${JSON.stringify(result)}: ${fits.error?.message}`);
}

/** Parameters with one of the wrong type; undefined where the verb takes none. */
function invalidParams(schema: Json): Json | undefined {
  const [name] = Object.entries<Json>(schema.properties ?? {})
    .find(([, { type }]) => typeof type === "string" && type !== "object") ?? [];
  return name === undefined ? undefined : { [name]: { of: "the wrong type" } };
}
