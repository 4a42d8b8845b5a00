/** A daemon whose catalogue of models is downloaded from a server of the test. */
import { assertEquals, assertMatch } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { startOpenAiServer } from "../support/model_servers.ts";
import { can_run_svc, Place } from "../support/svc.ts";

Deno.test({
  name: "a daemon downloads the catalogue when a model is used, and prices the next turn by it",
  ignore: !can_run_svc,
  async fn() {
    const catalogue = {
      openai: {
        models: {
          scripted: {
            cost: { input: 1_000, output: 1_000 },
            limit: { context: 77_000, output: 9_000 },
          },
        },
      },
    };
    let asked = 0;
    await using source = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
      asked++;
      return Response.json(catalogue);
    });
    const server = startOpenAiServer(() => ({ text: "hello" }));
    await using place = new Place({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key-0" });
    try {
      place.configure(
        `[catalogue]\nurl = "http://127.0.0.1:${source.addr.port}/api.json"\n` +
          `[cortex]\ncurator = false\n`,
      );
      await place.serve();
      const workdir = place.mkdir("project");
      const ask = () => place.svc(["chat", workdir, "-m", "openai/scripted", "-p", "hi"]);
      assertEquals([(await ask()).stdout, asked], ["hello\n", 1]);
      const stored = join(place.home, "catalogue.json");
      while (!(await Deno.stat(stored).catch(() => undefined))) await delay(20);
      const { stdout } = await place.svc(["models", "openai"]);
      assertMatch(stdout, /openai\/scripted +77,000 +9,000 +\$1000 +\$1000 +no +unknown/);
      assertMatch(stdout, /limits and prices: http:\/\/127\.0\.0\.1:\d+\/api\.json, \d{4}-/);
      const json = await place.svc([
        ...["chat", workdir, "-m", "openai/scripted", "-p", "hi", "--output", "json"],
      ]);
      assertEquals(JSON.parse(json.stdout).usage.usd > 0, true, json.stdout);
      assertEquals(asked, 1);
    } finally {
      await server.close();
    }
  },
});
