/** `dev.sh check` refuses a shell snippet of the documentation that cannot run. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../support/permissions.ts";

const ignore = !granted("read", "write", "env", "run");

/** Loaded by the tests: it reads deno.json at once. */
const check = () => import("../../install/snippets.ts");

/** Why a page with this snippet is refused. */
async function refused(script: string): Promise<string[]> {
  const { brokenIn } = await check();
  const page = `# A page\n\n\`\`\`sh\n${script}\n\`\`\`\n`;
  return (await brokenIn("a.md", page)).map(({ line, reason }) => `${line}: ${reason}`);
}

Deno.test("a snippet that bash, svc or a verb would refuse is told by its line", {
  ignore,
}, async () => {
  const seeds: [script: string, told: string][] = [
    ["svc chat -p 'open", "unexpected EOF"],
    ["svc no-such-command", 'unknown command "svc no-such-command"'],
    ["echo a | svc chat --no-such-flag", "unknown flag --no-such-flag"],
    ["if svc chat --max-steps many; then echo; fi", "--max-steps"],
    ["echo $(svc ctl call no.such)", "there is no verb no.such"],
    ["svc ctl call session.get '{\"session_id\": 5}'", "session_id"],
    ["svc ctl call session.get '{}'", "session_id"],
    ['svc ctl call session.get \'{"session_id": "sess_…", "more": 1}\'', "more"],
    ["sh install/dev.sh no-such-task", "no-such-task"],
  ];
  for (const [script, told] of seeds) {
    const found = await refused(script);
    assertEquals(found.length, 1, script);
    assertStringIncludes(found[0], "4: ");
    assertStringIncludes(found[0], told);
  }
});

Deno.test("a snippet that can run is not refused", { ignore }, async () => {
  for (
    const script of [
      'svc ctl call session.get \'{"session_id": "sess_01K…"}\' | jq -r .state',
      "svc ctl call mission.create \"$(jq -n --rawfile spec a.yaml '{spec: $spec}')\"",
      "svc agent-serve --addr :8440 &  # at :8440",
      "sh install/dev.sh test tests/web",
      "sh install/dev.sh chat -c",
      "curl -s localhost:8440/api/capabilities",
    ]
  ) {
    assertEquals(await refused(script), [], script);
  }
});

Deno.test("a checkout with such a page is refused", { ignore }, async () => {
  const root = Deno.makeTempDirSync();
  try {
    Deno.mkdirSync(join(root, "docs", "how-to"), { recursive: true });
    Deno.writeTextFileSync(join(root, "README.md"), "```sh\nsvc --version\n```\n");
    const { requireRunnable } = await check();
    await requireRunnable(root);
    Deno.writeTextFileSync(join(root, "docs", "how-to", "a.md"), "```sh\nsvc nothing\n```\n");
    await assertRejects(() => requireRunnable(root), Error, "docs/how-to/a.md:2: ");
  } finally {
    Deno.removeSync(root, { recursive: true });
  }
});
