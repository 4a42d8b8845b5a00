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

Deno.test({
  name: "only the lines of what is changed are other ones",
  ignore,
  async fn() {
    const odd = `# head

mcp_servers:

    # one
    - name:      "a"      # aligned
      transport: 'stdio'  # aligned
      command:   b
      args:      [  "x",   'y' ]   # args
      # inside a


    # two
    - {name: c, transport: stdio,   command: d}   # flow



deploy_targets:   []    # none
# end`;
    const a = { name: "a", transport: "stdio", command: "b", args: ["x", "y"] } as const;
    const named = (old: string, now: string) => (text: string) => text.replace(old, now);
    const changes: [Parameters<typeof changePolicy>[1], (text: string) => string][] = [
      [
        { name: "a", server: { ...a, args: [...a.args], enabled: false } },
        named("# args\n", "# args\n      enabled: false\n"),
      ],
      [
        { name: "a", server: { ...a, args: ["x", "z"] } },
        named(`args:      [  "x",   'y' ]   #`, `args: ["x", 'z'] #`),
      ],
      [
        { name: "a", server: { ...a, args: undefined } },
        named(`      args:      [  "x",   'y' ]   # args\n`, ""),
      ],
      [
        { name: "a", server: { ...a, args: [...a.args], command: "e" } },
        named("command:   b", "command: e"),
      ],
      [{ name: "a" }, (text) => text.replace(/ +- name[^]*inside a\n/, "")],
      [
        { name: "c", server: { name: "c", transport: "stdio", command: "e" } },
        named(
          "{name: c, transport: stdio,   command: d}",
          "{name: c, transport: stdio, command: e}",
        ),
      ],
      [{ name: "c" }, (text) => text.replace(/ +- \{.*\n/, "")],
      [
        { server: NEW },
        named(
          "# flow\n",
          "# flow\n    - name: more\n      transport: stdio\n      command: more-tools\n",
        ),
      ],
    ];
    for (const [as, of] of [["", ""], ["\ufeff", ""], ["", "\r"], ["\ufeff", "\r"]]) {
      const written = (text: string) => as + text.replaceAll("\n", `${of}\n`);
      for (const [change, expected] of changes) {
        await withPolicy(written(odd), async (path, read) => {
          await changed(path, change);
          assertEquals(read(), written(expected(odd)));
        });
      }
    }
  },
});

Deno.test({
  name: "values that YAML reads in several ways stay texts, in new and in old entries",
  ignore,
  async fn() {
    const values = [
      ..."no y ~ null True 1e3 007 0777 0b11 0o7 1_000 1:30 2026-01-01 .1e3 = << - # *x &x".split(
        " ",
      ),
      "2026-01-01T00:00:00Z",
      " blanks ",
      "a: b",
      "a\nb",
      "\u0007",
      "\u0085",
      "\u{1f600}",
      "--- a",
      "",
    ];
    await withPolicy(POLICY, async (path, read) => {
      for (const value of values) {
        const [docs] = (await readForEdit(path)).servers;
        const env = { LEVEL: value };
        await changed(path, { name: "docs", server: { ...docs, env } });
        await changed(path, { server: { ...NEW, args: [value], env } });
        const { mcp_servers } = parse(read()) as { mcp_servers: EditedServer[] };
        assertEquals(mcp_servers[0].env, env);
        assertEquals([mcp_servers[2].args, mcp_servers[2].env], [[value], env]);
        await changed(path, { name: "more" });
      }
    });
  },
});

Deno.test({
  name: "a file that cannot be edited without a loss stays as it is, and the reason is said",
  ignore,
  async fn() {
    const refused = async (
      text: string | Uint8Array,
      mode: number,
      change: Parameters<typeof changePolicy>[1],
      code: string,
      said: string,
    ) => {
      const dir = await Deno.makeTempDir();
      try {
        const path = `${dir}/policy.yaml`;
        const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
        await Deno.writeFile(path, bytes, { mode });
        const error = await assertRejects(() => changed(path, change), SvcError, said);
        assertEquals(error.code, code);
        assertEquals(await Deno.readFile(path), bytes);
        assertEquals([...Deno.readDirSync(dir)].length, 1);
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    };
    const anchored = "mcp_servers:\n  - &a\n    name: a\n    transport: stdio\n    command: b\n" +
      "  - <<: *a\n    name: c\n";
    await refused(anchored, 0o600, { name: "a" }, "conflict", "cannot be edited without");
    const long = `${POLICY}${"# a remark\n".repeat(20_000)}`;
    await refused(long, 0o600, { server: NEW }, "conflict", "too many to edit it from here");
    const latin = new Uint8Array([0x23, 0xff, 0x0a]);
    await refused(latin, 0o600, { server: NEW }, "validation", "is not UTF-8");
    if (Deno.build.os === "windows") return;
    await refused("", 0o400, { server: NEW }, "permission_denied", "is read-only");
  },
});
