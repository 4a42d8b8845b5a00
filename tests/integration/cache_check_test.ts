import { assertEquals, assertStringIncludes } from "@std/assert";
import { startAnthropicServer, startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";

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
