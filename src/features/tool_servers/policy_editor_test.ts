import { assert, assertEquals, assertRejects } from "@std/assert";
import { parse } from "@std/yaml";
import { granted } from "../../../tests/support/permissions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { changePolicy, readForEdit } from "./policy_editor.ts";
import type { EditedServer } from "./policy_schemas.ts";

const ignore = !granted("read", "write", "sys");

const POLICY = `# Who looks after this: me.
mcp_servers:
  # The documents.
  - name: docs   # short
    transport: stdio
    command: /usr/bin/docs
    args: [--root, "/data", --token, abcdef-not-shown]
    env:
      LEVEL: debug-all # loud
      KEY: \${DOCS_KEY}
    idle_timeout: 10m # kept

  # The web.
  - name: web
    transport: http
    url: https://tools.example/mcp
    headers: { X-Team: "literal-secret", authorization: "Bearer \${WEB}" }
    oauth: { client_id: me, port: 4000 }

deploy_targets: [] # none yet
# The end.
`;

async function withPolicy(
  text: string | undefined,
  work: (path: string, read: () => string) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    const path = `${dir}/policy.yaml`;
    if (text !== undefined) await Deno.writeTextFile(path, text, { mode: 0o600 });
    await work(path, () => Deno.readTextFileSync(path));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Has the editor change a policy as it is now. */
async function changed(path: string, change: Parameters<typeof changePolicy>[1]): Promise<void> {
  await changePolicy(path, change, (await readForEdit(path)).revision);
}

function comments(text: string): string[] {
  return text.split("\n").flatMap((line) => line.match(/(?:^|\s)(#.*)$/)?.[1] ?? []);
}

const NEW: EditedServer = { name: "more", transport: "stdio", command: "more-tools" };

Deno.test({
  name: "servers are shown as they are written, without what may be a secret",
  ignore,
  async fn() {
    await withPolicy(POLICY, async (path) => {
      const { servers } = await readForEdit(path);
      assertEquals(servers, [
        {
          name: "docs",
          transport: "stdio",
          command: "/usr/bin/docs",
          args: ["--root", "/data", "--token", null],
          env: { LEVEL: null, KEY: "\${DOCS_KEY}" },
        },
        {
          name: "web",
          transport: "http",
          url: "https://tools.example/mcp",
          headers: { "X-Team": null, authorization: "Bearer \${WEB}" },
        },
      ]);
    });
    for (
      const url of [
        "https://tools.example/mcp?api_key=1",
        "https://tools.example/sk0123456789abcdefghij/mcp",
      ]
    ) {
      await withPolicy(
        `mcp_servers: [{ name: a, transport: http, url: "${url}" }]\n`,
        async (path) => {
          assertEquals((await readForEdit(path)).servers[0].url, null);
        },
      );
    }
  },
});

Deno.test({
  name: "a change keeps comments, order, other keys and what was not shown",
  ignore,
  async fn() {
    await withPolicy(POLICY, async (path, read) => {
      const before = parse(read()) as Record<string, Record<string, unknown>[]>;
      const [docs, web] = (await readForEdit(path)).servers;
      await changed(path, { name: "docs", server: { ...docs, enabled: false } });
      await changed(path, { name: "web", server: { ...web, url: "https://other.example/mcp" } });
      await changed(path, { server: NEW });
      assertEquals(comments(read()), comments(POLICY));
      assertEquals(parse(read()), {
        mcp_servers: [
          { ...before.mcp_servers[0], enabled: false },
          { ...before.mcp_servers[1], url: "https://other.example/mcp" },
          { ...NEW },
        ],
        deploy_targets: [],
      });
      // Back as it was.
      await changed(path, { name: "docs", server: docs });
      await changed(path, { name: "web", server: web });
      await changed(path, { name: "more" });
      assertEquals(parse(read()), before);
      assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    });
  },
});

Deno.test({
  name: "a server is added to any file, and its lists stand as the file has them",
  ignore,
  async fn() {
    const files = [
      undefined,
      "",
      "# nothing\n",
      "mcp_servers: []\n",
      "mcp_servers: [] # none\ndeploy_targets: []\n",
      "mcp_servers: [{ name: a, transport: stdio, command: b }]\n",
      "mcp_servers:\n- name: a\n  transport: stdio\n  command: b\n",
      "mcp_servers:\n    - name: a\n      transport: stdio\n      command: b\n",
      '{"mcp_servers": [{"name": "a", "transport": "stdio", "command": "b"}]}',
    ];
    for (const text of files) {
      await withPolicy(text, async (path, read) => {
        await changed(path, { server: NEW });
        const { mcp_servers } = parse(read()) as { mcp_servers: EditedServer[] };
        assertEquals([text, mcp_servers.at(-1)], [text, NEW]);
        assertEquals(comments(read()), comments(text ?? ""));
        if (text?.includes("\n- name")) assert(read().includes("\n- name: more"), read());
      });
    }
  },
});

Deno.test({
  name: "what the reader would refuse, what changed meanwhile and what is not there is not written",
  ignore,
  async fn() {
    await withPolicy(POLICY, async (path, read) => {
      const { revision, servers: [docs] } = await readForEdit(path);
      const refused = async (change: Parameters<typeof changePolicy>[1], code: string) => {
        const error = await assertRejects(() => changePolicy(path, change, revision), SvcError);
        assertEquals(error.code, code);
        assertEquals(read(), POLICY);
        return error;
      };
      const bad = await refused({
        server: { name: "x", transport: "http", url: "http://evil.example" },
      }, "validation");
      assertEquals((bad.details!.issues as { path: string[] }[])[0].path, ["server", "url"]);
      await refused({ server: docs }, "validation");
      await refused({ server: { ...NEW, name: "docs" } }, "validation");
      await refused({ server: { ...NEW, env: { A: null } } }, "validation");
      await refused({ name: "gone" }, "not_found");
      await Deno.writeTextFile(path, `${POLICY}# more\n`);
      const error = await assertRejects(
        () => changePolicy(path, { name: "docs" }, revision),
        SvcError,
        "has changed since it was read",
      );
      assertEquals(error.code, "conflict");
    });
    // The writer knows no merge keys; the reader does.
    const merged = "x: &x\n  transport: stdio\nmcp_servers: []\n";
    await withPolicy(merged, async (path) => {
      await assertRejects(() => readForEdit(path), SvcError, "unknown key x");
    });
  },
});
