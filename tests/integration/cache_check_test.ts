import { assertEquals, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { startAnthropicServer, startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const file = (path: string) => fromFileUrl(new URL(`../../${path}`, import.meta.url));

async function cacheCheck(place: Place, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--permission-set",
      `--config=${file("deno.json")}`,
      file("bench/cache_check.ts"),
      ...args,
    ],
    env: { ...place.env, CLAUDE_KEY: "test-key-123456" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

Deno.test({
  name: "the cache check passes where the provider serves the shared prefix from its cache",
  ignore: !can_run_svc,
  async fn() {
    const server = startAnthropicServer(() => ({ text: "ready" }), { open: true });
    try {
      await using place = new Place();
      place.configure(
        `[models.claude]\nkind = "anthropic"\nbase_url = "${server.url}"\napi_key_env = "CLAUDE_KEY"\n`,
      );
      const passed = await cacheCheck(place, "--model", "claude/claude-sonnet-4-5", "--json");
      assertEquals(passed.code, 0, passed.stdout + passed.stderr);
      const { warm, workers, hit_rate } = JSON.parse(passed.stdout);
      assertEquals([warm.tokens_cached, workers.length], [0, 5]);
      assertEquals(hit_rate >= 0.8, true);
    } finally {
      await server.close();
    }
  },
});

Deno.test({
  name: "the cache check fails where nothing comes from a cache",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    const failed = await cacheCheck(place, "--model", "builtin/toolbelt");
    assertEquals(failed.code, 1);
    assertStringIncludes(failed.stdout, "too little (at least 80 %)");
  },
});

for (const cached of [true, false]) {
  Deno.test({
    name: `svc doctor --cache has the daemon measure, and ${cached ? "passes" : "fails"} where ` +
      `${cached ? "the" : "no"} cache works`,
    ignore: !can_run_svc,
    async fn() {
      const answer = () => ({ text: "ready", usage: { input: 3000, output: 1, cached: 0 } });
      const server = cached
        ? startAnthropicServer(() => ({ text: "ready" }), { open: true })
        : startOpenAiServer(answer, { open: true });
      try {
        await using place = new Place();
        const kind = cached ? "anthropic" : "openai-compatible";
        place.configure(`[models.work]\nkind = "${kind}"\nbase_url = "${server.url}"\n`);
        await place.serve();
        const { code, stdout, stderr } = await place.svc([
          "doctor",
          "--cache",
          "--model",
          "work/m",
          "--json",
        ]);
        assertEquals(code, cached ? 0 : 1, stderr);
        const { workers, hit_rate, passed, model } = JSON.parse(stdout);
        assertEquals([model, workers.length, passed], ["work/m", 5, cached]);
        assertEquals(hit_rate >= 0.8, cached);
        assertEquals(server.requests.length, 6);
        const text = await place.svc(["doctor", "--cache", "--model", "work/m"]);
        assertStringIncludes(text.stdout, "of the workers' input came from the cache, ");
      } finally {
        await server.close();
      }
    },
  });
}

Deno.test({
  name: "svc doctor --cache asks nothing of what has no cache",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    await place.serve();
    const { code, stderr } = await place.svc(["doctor", "--cache"]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "builtin/toolbelt has no cache");
  },
});
