import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { SvcError } from "../platform/errors.ts";
import { DEFAULTS } from "./config.ts";
import { parseConfig } from "./config_file.ts";

Deno.test("an empty file means the same as none", () => {
  assertEquals(parseConfig("", "/daemon.toml"), DEFAULTS);
});

Deno.test("every section is read", () => {
  const config = parseConfig(
    `
default_model = "local/big"
[http]
allowed_origins = ["http://localhost:5173"]
[journal]
retention_hours = 1
[agent]
approval = "auto"
budget_usd = 5.0
[sandbox]
shell = "none"
[models.local]
kind = "openai-compatible"
base_url = "http://127.0.0.1:8080/v1"
api_key_env = "LOCAL_KEY"
[prices."local/big"]
input = 1
output = 2
[policy]
allow_project = true
project_env = ["PROJECT_KEY"]
[log]
level = "debug"
`,
    "/daemon.toml",
  );
  assertEquals(config.default_model, "local/big");
  assertEquals(config.http.allowed_origins, ["http://localhost:5173"]);
  assertEquals(config.journal, { retention_hours: 1, retention_mb: 100 });
  assertEquals(config.agent, { approval: "auto", max_steps: 50, budget_usd: 5 });
  assertEquals(config.sandbox, { shell: "none", network: false, units: 16 });
  assertEquals(config.models.local.api_key_env, "LOCAL_KEY");
  assertEquals(config.prices["local/big"], { input: 1, output: 2, cache_read: 1, cache_write: 1 });
  assertEquals(config.policy, { allow_project: true, project_env: ["PROJECT_KEY"] });
  assertEquals(config.log.level, "debug");
});

Deno.test("one key that signs releases, or a list of them", () => {
  const of = (value: string) =>
    parseConfig(`[update]\npublic_key = ${value}\n`, "/daemon.toml").update.public_key;
  assertEquals(of('"one"'), ["one"]);
  assertEquals(of('["one", "two"]'), ["one", "two"]);
});

const WRONG: [string, string, string?][] = [
  ["[agent]\nmax_step = 3", "/daemon.toml:2: unknown key agent.max_step", "agent.max_steps"],
  ["\n\n[agnet]\n", "/daemon.toml:3: unknown key agnet", "did you mean agent?"],
  ['[agent]\n\nmax_steps = "x"', "/daemon.toml:3: agent.max_steps: "],
  ["[models.x]\nkind = 'foo'", "/daemon.toml:2: models.x.kind: "],
  ["[models.x]\nkind = 'openai'\nbase_ur = 'y'", "/daemon.toml:3: unknown key models.x.base_ur"],
  ["[http]\nallowed_origins = ['a', 3]", "/daemon.toml:2: http.allowed_origins.1: "],
  ["[tasks]\nengine = 'redis'", "/daemon.toml:2: tasks.engine: "],
  ["[tasks]\nnats_url = 'http://h'", "/daemon.toml:2: tasks.nats_url: must be nats://"],
  ["[tasks]\nnats_url = 'nats://u:p@h'", "/daemon.toml:2: tasks.nats_url: must be nats://"],
  ["x = 1\n[y", "/daemon.toml:2: "],
  ["\na = ", "/daemon.toml"],
];

for (const [text, message, hint] of WRONG) {
  Deno.test(`an error names file, line and key: ${JSON.stringify(text)}`, () => {
    const error = assertThrows(() => parseConfig(text, "/daemon.toml"), SvcError);
    assertStringIncludes(error.message, message);
    if (hint) assertStringIncludes(error.hint ?? "", hint);
  });
}
