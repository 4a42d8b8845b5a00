import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { PROJECT_POLICY, readPolicy } from "./policy.ts";
import { ProjectPolicy } from "./project_policy.ts";
import { parsePolicy } from "./policy_file.ts";

const PATH = "/home/me/.svc/policy.yaml";

function server(...lines: string[]): string {
  return ["mcp_servers:", ...lines.map((line, n) => `  ${n === 0 ? "-" : " "} ${line}`)].join("\n");
}

Deno.test("an entry has the defaults of the contract, stdio and http", () => {
  const { servers } = parsePolicy(
    `mcp_servers:
- name: files
  transport: stdio
  command: files-server
- name: search
  transport: http
  url: https://search.example/mcp
`,
    PATH,
  );
  const common = {
    trust: "untrusted" as const,
    max_concurrent: 8,
    timeout_ms: 30_000,
    idle_ms: 300_000,
    enabled: true,
  };
  assertEquals(servers, [
    { ...common, name: "files", transport: "stdio", command: "files-server", args: [], env: {} },
    {
      ...common,
      name: "search",
      transport: "http",
      url: "https://search.example/mcp",
      headers: {},
    },
  ]);
});

Deno.test("every field of an entry is read", () => {
  const { servers } = parsePolicy(
    server(
      "name: files",
      "transport: stdio",
      "command: files-server",
      'args: [--root, "/srv"]',
      "env: { MODE: fast, KEY: '${FILES_KEY}' }",
      "auth_env: FILES_TOKEN",
      "trust: trusted",
      "max_concurrent: 2",
      "timeout: 1m30s",
      "idle_timeout: 250ms",
      "enabled: false",
    ),
    PATH,
  );
  assertEquals(servers, [{
    name: "files",
    transport: "stdio",
    command: "files-server",
    args: ["--root", "/srv"],
    env: { MODE: "fast", KEY: "${FILES_KEY}" },
    auth_env: "FILES_TOKEN",
    trust: "trusted",
    max_concurrent: 2,
    timeout_ms: 90_000,
    idle_ms: 250,
    enabled: false,
  }]);
});

Deno.test("a file without servers is good", () => {
  for (const text of ["", "# nothing yet\n", "mcp_servers: []\n"]) {
    assertEquals(parsePolicy(text, PATH), { servers: [], deploy_targets: [] });
  }
});

Deno.test("a non-local address must be https", () => {
  const parse = (url: string) =>
    parsePolicy(server("name: s", "transport: http", `url: ${url}`), PATH);
  for (
    const url of [
      "https://example.com/mcp",
      "https://127.0.0.1:8443/mcp",
      "http://localhost:3000/mcp",
      "http://127.0.0.1:3000",
    ]
  ) assertEquals(parse(url).servers.length, 1, url);
  for (
    const url of [
      "http://example.com/mcp",
      "http://localhost.example.com/mcp",
      "http://127.0.0.1.example.com/",
      "http://127.0.0.2:3000/",
      "http://0.0.0.0:3000/",
      "http://[::1]:3000/",
      "http://192.168.1.5/mcp",
      "ws://localhost:3000/mcp",
      "ftp://localhost/",
      "file:///etc/passwd",
    ]
  ) assertStringIncludes(assertThrows(() => parse(url), SvcError).message, "must be https", url);
  assertThrows(() => parse("http://127.0.0.1@example.com/"), SvcError, "must not contain");
  assertThrows(() => parse("https://me:secret@example.com/"), SvcError, "must not contain");
});

/** Content; what the message says after the file; what the hint says. */
const BAD: [string, string, string?][] = [
  ["mcp_server: []\n", ":1: unknown key mcp_server", "mcp_servers"],
  ["\n\nmcp_servers: none\n", ":3: mcp_servers: "],
  ["- a\n- b\n", ":1: "],
  ["mcp_servers: [1, 2\nx: 3\n", ":2: "],
  [server("name: s", "name: t"), ":3: "],
  [server("name: s", "transport: stdio"), ":2: mcp_servers.0.command: is required"],
  [server("name: s", "transport: http"), ":2: mcp_servers.0.url: is required"],
  [
    server("name: s", "transport: http", "url: https://x.example", "command: y"),
    ":5: mcp_servers.0.command: is not allowed for transport http",
  ],
  [
    server("name: s", "transport: stdio", "command: y", "headers: {}"),
    ":5: mcp_servers.0.headers: is not allowed",
  ],
  [server("name: s", "transport: sse", "command: y"), ":3: mcp_servers.0.transport: "],
  [server("name: s", "transport: stdio", "command: y", "timeout: 30"), ":5: mcp_servers.0.timeout"],
  [server("name: s", "transport: stdio", "command: y", "timeout: soon"), ":5: mcp_servers.0.timeo"],
  [server("name: s", "transport: stdio", "command: y", "timeout: 0s"), ":5: mcp_servers.0.timeout"],
  [
    server("name: s", "transport: stdio", "command: y", "max_concurent: 3"),
    ":5: unknown key mcp_servers.0.max_concurent",
    "mcp_servers.0.max_concurrent",
  ],
  [server("name: s", "transport: stdio", "command: y", "max_concurrent: 0"), ":5: mcp_servers.0."],
  [server("name: s", "transport: stdio", "command: y", "trust: some"), ":5: mcp_servers.0.trust: "],
  [server("name: s", "transport: stdio", "command: y", "auth_env: a b"), ":5: mcp_servers.0.auth_"],
  [server("name: 'a b'", "transport: stdio", "command: y"), ":2: mcp_servers.0.name: "],
  [
    `${server("name: s", "transport: stdio", "command: y")}
  - name: t
    transport: stdio
    command: z
  # the same again
  - name: s
    transport: stdio
    command: z
`,
    ':9: mcp_servers.2.name: "s" is already used',
  ],
];
for (const [text, said, hint] of BAD) {
  Deno.test(`an error names file, line and key: ${JSON.stringify(text)}`, () => {
    const error = assertThrows(() => parsePolicy(text, PATH), SvcError);
    assertEquals(error.code, "validation");
    assertEquals(error.message.slice(0, PATH.length + said.length), PATH + said, error.message);
    if (hint !== undefined) assertStringIncludes(error.hint!, hint);
  });
}

Deno.test({
  name: "no file means no servers; a project's file is read again when it changes",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    assertEquals(await readPolicy(dir.join("policy.yaml")), { servers: [], deploy_targets: [] });
    const project = new ProjectPolicy(dir.path);
    const names = async () => (await project.read()).policy.servers.map(({ name }) => name);
    const path = dir.join(PROJECT_POLICY);
    assertEquals(await names(), []);
    Deno.writeTextFileSync(path, server("name: one", "transport: stdio", "command: y"));
    assertEquals(await names(), ["one"]);
    Deno.writeTextFileSync(path, server("name: another", "transport: stdio", "command: y"));
    assertEquals(await names(), ["another"]);
    Deno.writeTextFileSync(path, "mcp_servers: 7\n");
    await assertRejects(names, SvcError, `${path}:1: `);
    await assertRejects(names, SvcError, `${path}:1: `);
    Deno.removeSync(path);
    assertEquals(await names(), []);
  },
});

Deno.test({
  name: "a project's file that others could have written is refused",
  ignore: !granted("read", "write") || Deno.build.os === "windows",
  async fn() {
    using dir = new TempDir();
    const path = dir.join(PROJECT_POLICY);
    Deno.writeTextFileSync(path, "mcp_servers: []\n");
    Deno.chmodSync(path, 0o646);
    await assertRejects(() => new ProjectPolicy(dir.path).read(), SvcError, "by everyone");
    Deno.renameSync(path, dir.join("elsewhere"));
    Deno.symlinkSync(dir.join("elsewhere"), path);
    await assertRejects(() => new ProjectPolicy(dir.path).read(), SvcError, "not a regular file");
  },
});
