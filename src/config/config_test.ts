import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { SvcError } from "../protocol/errors.ts";
import { configOf, DEFAULTS } from "./config.ts";
import { parseConfig } from "./config_file.ts";
import { FEATURES, SECTIONS } from "../features/registry.ts";
import { POLICY } from "../features/tool_servers/config.ts";
import { UPDATE } from "../features/update/config.ts";
import type { Config } from "./config.ts";

const parse = (text: string) => parseConfig(text, "/daemon.toml", SECTIONS);

/** The tables of features, with what each has. */
const tablesOf = (config: Config) => SECTIONS.map((it) => [it.name, config.of(it)]);

Deno.test("an empty file means the same as none", () => {
  const { of: _of, has: _has, ...own } = parse("");
  assertEquals(own, DEFAULTS);
  const without = configOf(DEFAULTS);
  // Without its keys one means nothing, and the other is a list of tables.
  const named = SECTIONS.filter(({ name }) => name !== "search" && name !== "hooks");
  const tables = tablesOf(parse(named.map(({ name }) => `[${name}]\n`).join("")));
  assertEquals(tables, tablesOf(without));
  assertEquals(SECTIONS.filter((it) => without.has(it)), []);
});

Deno.test("every section is read", () => {
  const config = parse(
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
  );
  assertEquals(config.default_model, "local/big");
  assertEquals(config.http.allowed_origins, ["http://localhost:5173"]);
  assertEquals(config.journal, { retention_hours: 1, retention_mb: 100 });
  assertEquals(config.agent, { ...DEFAULTS.agent, approval: "auto", budget_usd: 5 });
  assertEquals(config.sandbox, { ...DEFAULTS.sandbox, shell: "none" });
  assertEquals(config.models.local.api_key_env, "LOCAL_KEY");
  assertEquals(config.prices["local/big"], { input: 1, output: 2, cache_read: 1, cache_write: 1 });
  assertEquals(config.of(POLICY), { allow_project: true, project_env: ["PROJECT_KEY"] });
  assertEquals(config.log.level, "debug");
});

Deno.test("every setting of a feature is a key of its table, which no other feature has", () => {
  for (const { name, settings } of SECTIONS) {
    const table = configOf(DEFAULTS).of(SECTIONS.find((it) => it.name === name)!) ?? {};
    for (const key of Object.keys(settings)) assertEquals(key in (table as object), true, key);
  }
  const names = FEATURES.flatMap(({ sections }) => sections.map(({ name }) => name));
  assertEquals(names.filter((it, n) => names.indexOf(it) !== n || it in DEFAULTS), []);
});

Deno.test("one key that signs releases, or a list of them", () => {
  const of = (value: string) => parse(`[update]\npublic_key = ${value}\n`).of(UPDATE).public_key;
  assertEquals(of('"one"'), ["one"]);
  assertEquals(of('["one", "two"]'), ["one", "two"]);
});

const WRONG: [string, string, string?][] = [
  ["[agent]\nmax_step = 3", "/daemon.toml:2: unknown key agent.max_step", "agent.max_steps"],
  ["\n\n[agnet]\n", "/daemon.toml:3: unknown key agnet", "did you mean agent?"],
  ['[agent]\n\nmax_steps = "x"', "/daemon.toml:3: agent.max_steps: must be a whole number"],
  ["[models.x]\nkind = 'foo'", "/daemon.toml:2: models.x.kind: "],
  ["[models.x]\nkind = 'openai'\nbase_ur = 'y'", "/daemon.toml:3: unknown key models.x.base_ur"],
  [
    "[http]\nallowed_origins = ['http://a', 3]",
    "/daemon.toml:2: http.allowed_origins.1: must be text, not a number",
  ],
  ["[tasks]\nengine = 'redis'", "/daemon.toml:2: tasks.engine: "],
  ["[tasks]\nrestate_url = 'ws://h'", "/daemon.toml:2: tasks.restate_url: must be an http://"],
  ["[tasks]\nrestate_url = 'http://u:p@h'", "/daemon.toml:2: tasks.restate_url: must be an http"],
  ["x = 1\n[y", "/daemon.toml:2: "],
  ["\n[models.x]\nkind = 'openai-compatible'", "/daemon.toml:2: models.x.base_url: is missing"],
  ["[models.x]\nkind = 'openai'\napi = 'completions'", "/daemon.toml:3: models.x.api: "],
  ["[models.x]\nkind = 'google'\napi = 'chat'", "/daemon.toml:3: models.x.api: is for kind"],
  ["[models.x]\nkind = 'openai'\nbase_url = 'ftp://h'", "/daemon.toml:3: models.x.base_url: must"],
  ["a = 1\nb = 2\na = 3", "/daemon.toml:3: a: is set twice, first on line 1", "remove one"],
  ["[agent]\nmax_steps = 1\n\nmax_steps = 1", "/daemon.toml:4: agent.max_steps: is set twice, f"],
  ["[agent]\n'max_steps' = 1\n\"max_steps\" = 2", "/daemon.toml:3: agent.max_steps: is set twice"],
  ["[log]\nlevel = 'info'\n[http]\n[log]\n", "/daemon.toml:4: log: is set twice, first on line 1"],
  [
    "log.level = 'info'\nlog.level = 'warn'",
    "/daemon.toml:2: log.level: is set twice, first on line",
  ],
  ["log.level = 'info'\n[log]\nlevel = 'warn'", "/daemon.toml:2: log: is set twice"],
  ["log = { level = 'info', level = 'warn' }", "/daemon.toml:1: log.level: is set twice"],
  ["log = { level = 'info' }\n[log]", "/daemon.toml:2: log: is set twice, first on line 1"],
  ["[models.x]\nkind = 'openai'\n[models.x]\nkind = 'google'", "/daemon.toml:3: models.x: is set"],
  ["\na = ", "/daemon.toml"],
];

const ORIGINS: [string, string | undefined][] = [
  ["http://localhost:5173", undefined],
  ["https://app.example.org", undefined],
  ["http://[::1]:5173", undefined],
  ["tauri://localhost", undefined],
  ["chrome-extension://abcdefgh", undefined],
  ["http://localhost:5173/", '; did you mean "http://localhost:5173"?'],
  ["http://localhost:5173/app", '; did you mean "http://localhost:5173"?'],
  ["http://LOCALHOST:5173", '; did you mean "http://localhost:5173"?'],
  ["http://localhost:80", '; did you mean "http://localhost"?'],
  ["https://me@example.org", '; did you mean "https://example.org"?'],
  ["http://localhost:*", ""],
  ["https://*.example.org", ""],
  ["*", ""],
  ["null", ""],
  ["", ""],
  ["localhost:5173", ""],
  ["file://", ""],
  ["tauri://localhost/", ""],
  ["chrome-extension://abcdefgh/page.html", ""],
];

for (const [origin, refused] of ORIGINS) {
  Deno.test(`the origin ${JSON.stringify(origin)} is ${refused === undefined ? "" : "not "}taken`, () => {
    const read = () => parse(`[http]\nallowed_origins = ["${origin}"]\n`);
    if (refused === undefined) return assertEquals(read().http.allowed_origins, [origin]);
    const { message } = assertThrows(read, SvcError);
    const why = `/daemon.toml:2: http.allowed_origins.0: "${origin}" matches no page`;
    assertStringIncludes(message, why);
    assertEquals(message.includes("did you mean"), refused !== "");
    assertStringIncludes(message, refused);
  });
}

for (const [text, message, hint] of WRONG) {
  Deno.test(`an error names file, line and key: ${JSON.stringify(text)}`, () => {
    const error = assertThrows(() => parse(text), SvcError);
    assertStringIncludes(error.message, message);
    if (hint) assertStringIncludes(error.hint ?? "", hint);
  });
}
