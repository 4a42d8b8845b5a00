/**
 * Tools with schemas as servers publish them, which one provider or another refuses: each costs at
 * most itself. The reports stand beside the tools.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Provider, Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";
import { pingTool, startOddTools } from "../support/odd_tools.ts";
import { httpEntry, policyOf } from "../support/tool_servers.ts";

const ignore = !can_run_svc;

// deno-lint-ignore no-explicit-any -- bodies as they are sent
type Json = any;

/** The parameters of a tool, and what it is called with. */
const ODD: Record<string, { schema: Json; args?: Json }> = {
  // NousResearch/hermes-agent#101669, anomalyco/opencode#49464
  booleans: { schema: { type: "object", properties: { value: true } }, args: { value: [1] } },
  // mastra-ai/mastra#21859
  nothing: { schema: undefined },
  // zereight/gitlab-mcp#286
  empty: { schema: {} },
  null_required: { schema: { type: "object", properties: {}, required: null } },
  // mastra-ai/mastra#23731
  required_inside: {
    schema: { type: "object", properties: { coin: { type: "string" }, required: ["coin"] } },
    args: { coin: "x" },
  },
  // makenotion/notion-mcp-server#340
  root_any_of: {
    schema: {
      type: "object",
      anyOf: [
        { properties: { file: { type: "string" } }, required: ["file"] },
        { properties: { text: { type: "string" } }, required: ["text"] },
      ],
    },
    args: { text: "x" },
  },
  // github/copilot-cli#4623
  lists_of_types: {
    schema: {
      type: "object",
      properties: { rows: { type: ["array", "null"], items: { type: ["object", "null"] } } },
    },
    args: { rows: null },
  },
  // router-for-me/CLIProxyAPI#5292
  no_items: { schema: { type: "object", properties: { values: { type: "array" } } } },
  // agent-infra/sandbox#83
  references: {
    schema: {
      type: "object",
      properties: { language: { $ref: "#/$defs/L" }, tree: { $ref: "#/$defs/T" } },
      $defs: {
        L: { enum: ["js", "py"] },
        T: {
          type: "object",
          properties: { below: { type: "array", items: { $ref: "#/$defs/T" } } },
        },
      },
    },
    args: { language: "js" },
  },
  // google-gemini/gemini-cli#4920
  old_limits: {
    schema: { type: "object", properties: { n: { type: "integer", exclusiveMinimum: true } } },
  },
  // anthropics/claude-code#34771, twilio-labs/mcp#58
  odd_names: {
    schema: { type: "object", properties: { $filter: { type: "string" } }, required: ["$filter"] },
    args: { $filter: "a eq b" },
  },
  // anomalyco/opencode#3523, openai/codex#1289
  ["long_name_".repeat(9)]: { schema: { type: "object", properties: {} } },
};

/** Tools that cannot be offered, and why. */
const LEFT_OUT: [tool: Json, why: string][] = [
  // sandialabs/atlas-ui-3#727
  [{ name: "lookup", inputSchema: { type: "string" } }, "its schema is for string"],
  [{ name: "", inputSchema: {} }, "it has no name"],
  [pingTool("booleans"), "it is listed twice"],
  [{ ...pingTool("wordy"), description: "x".repeat(70_000) }, "too long for a model"],
];

/** What providers say about the tools of a request; only rules that were reported. */
function refused(tools: { name: string; schema: Json }[]): string[] {
  const found: string[] = [];
  const names = tools.map(({ name }) => name);
  if (new Set(names).size < names.length) found.push("names repeat");
  for (const { name, schema } of tools) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name)) found.push(`${name}: its name`);
    if (schema?.type !== "object" || schema.properties === undefined) found.push(`${name}: root`);
    for (const key of ["anyOf", "oneOf", "allOf", "enum", "not"]) {
      if (schema?.[key] !== undefined) found.push(`${name}: ${key} at the top`);
    }
    for (const wrong of wrongIn(schema)) found.push(`${name}: ${wrong}`);
  }
  return found;
}

function* wrongIn(schema: Json): Generator<string> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    return yield "a schema that is no object";
  }
  const { type, properties = {}, required = [], items, anyOf = [] } = schema;
  if (Array.isArray(type)) yield "a list of types";
  if (type === "array" && items === undefined) yield "array schema missing items";
  if (schema.$ref !== undefined) yield "reference to undefined schema";
  if (!Array.isArray(required)) return yield "required is not an array";
  for (const key of ["exclusiveMinimum", "exclusiveMaximum"]) {
    if (schema[key] !== undefined && typeof schema[key] !== "number") {
      yield `${key} must be a number`;
    }
  }
  for (const name of required) {
    if (!Object.hasOwn(properties, name)) yield `required ${name} is not defined`;
  }
  for (const [name, each] of Object.entries(properties)) {
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) yield "property keys should match pattern";
    yield* wrongIn(each);
  }
  for (const each of [...anyOf, ...items === undefined ? [] : [items]]) yield* wrongIn(each);
}

/** The tools of a request in one of the four wire formats. */
function toolsOf(body: Json): { name: string; schema: Json }[] {
  const declared = body.tools.flatMap((tool: Json) => tool.functionDeclarations ?? [tool]);
  return declared.map((tool: Json) => {
    const { name, parameters, parametersJsonSchema, input_schema } = tool.function ?? tool;
    return { name, schema: parameters ?? parametersJsonSchema ?? input_schema };
  });
}

Deno.test("the judge of these tests finds what providers refuse", () => {
  for (const [name, { schema }] of Object.entries(ODD)) {
    assert(refused([{ name: `mcp_odd_${name}`, schema }]).length > 0, name);
  }
});

for (
  const provider of ["openai-compatible", "openai-responses", "anthropic", "google"] as Provider[]
) {
  Deno.test({
    name: `${provider} is offered tools with odd schemas as it takes them, also after a restart`,
    ignore,
    async fn() {
      const odd = Object.entries(ODD).map(([name, { schema }]) => ({ name, inputSchema: schema }));
      await using server = startOddTools({
        "tools/list": () => ({ tools: [...odd, ...LEFT_OUT.map(([tool]) => tool), pingTool()] }),
      });
      await using it = await Scenario.begin(({ messages, tools }) => {
        const last = messages.at(-1)!;
        if (last.role !== "user") return { text: "Done." };
        const name = tools.find((each) => each.startsWith(`mcp_odd_${last.text}`.slice(0, 50)))!;
        const args = Object.entries(ODD[last.text]?.args ?? {})
          .map(([key, value]) => [key.replace("$", "_"), value]);
        return { calls: [{ name, args: Object.fromEntries(args) }] };
      }, { provider, policy: policyOf(httpEntry("odd", server.url)) });
      const called = async (name: string) => {
        await it.turn(name);
        const { ok, output } = it.client.of("session.tool_completed").at(-1)!.data;
        assertEquals(ok, true, output);
        return output;
      };
      for (const [name, { args = {} }] of Object.entries(ODD)) {
        assertStringIncludes(await called(name), `called ${name} ${JSON.stringify(args)}`);
      }
      await it.restart();
      assertStringIncludes(await called("ping"), "called ping {}");

      for (const { status, body } of it.server.requests) {
        assertEquals(status, 200);
        assertEquals(refused(toolsOf(body)), []);
      }
      const notes = it.client.of("lane.note").filter(({ data }) =>
        data.reason_code === "tools_missing"
      ).map(({ data }) => data.text);
      assertEquals(notes.length, 2, "once for each daemon");
      for (const [{ name }, why] of LEFT_OUT) {
        assertStringIncludes(notes[0], name === "" ? "its tool" : `its tool ${name} is left out`);
        assertStringIncludes(notes[0], why);
      }
    },
  });
}

Deno.test({
  name: "a list with a schema that is nested twenty thousand times costs that tool alone",
  ignore,
  async fn() {
    const depth = 20_000;
    const deep = `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${"}}".repeat(depth)}`;
    await using server = startOddTools({
      "tools/list": ({ id }) =>
        new Response(
          `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"deep","inputSchema":${
            deep.replaceAll('"type":"object",', "")
          }},${JSON.stringify(pingTool())}]}}`,
          { headers: { "content-type": "application/json" } },
        ),
    });
    await using it = await Scenario.begin([{ calls: [{ name: "mcp_odd_ping", args: {} }] }, {
      text: "Done.",
    }], { policy: policyOf(httpEntry("odd", server.url)) });
    await it.turn("go");
    assertEquals((await it.event("session.tool_completed")).data.ok, true);
    assertStringIncludes((await it.event("lane.note")).data.text, "its tool deep is left out");
  },
});

Deno.test({
  name: "no more tools than the provider takes; the person learns how many are left out",
  ignore,
  async fn() {
    // FerroxLabs/wayland#344, obot-platform/mcp-catalog#516
    const many = Array.from({ length: 100 }, (_, n) => pingTool(`tool_${n}`));
    await using one = startOddTools({ "tools/list": () => ({ tools: many }) });
    await using two = startOddTools({ "tools/list": () => ({ tools: many }) });
    const policy = policyOf(httpEntry("one", one.url), httpEntry("two", two.url));
    for (const [provider, all] of [["openai-compatible", false], ["anthropic", true]] as const) {
      await using it = await Scenario.begin([{ text: "Done." }, { text: "Done." }], {
        provider,
        policy,
      });
      await it.turn("go");
      const offered = toolsOf(it.server.requests.at(-1)!.body).map(({ name }) => name);
      const foreign = offered.filter((name) => name.startsWith("mcp_"));
      assertEquals(offered.length <= 128, !all);
      assertEquals(foreign.length, all ? 200 : 96);
      assertEquals(new Set(offered).size, offered.length);
      const notes = it.client.of("lane.note").map(({ data }) => data.text).join();
      if (all) assertEquals(notes, "");
      else {
        assertStringIncludes(
          notes,
          "takes 96 tools of tool servers; 104 of one, two are left out",
        );
      }
    }
  },
});
