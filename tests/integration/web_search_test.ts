/** Web search as a tool of sessions. */
import { assert, assertEquals } from "@std/assert";
import { SEARCH_ANSWERS } from "../support/search_providers.ts";
import { Scenario } from "../support/scripted.ts";
import { Site } from "../support/site.ts";
import { can_run_svc } from "../support/svc.ts";

const search = { calls: [{ name: "web_search", args: { query: "heron & stork", limit: 2 } }] };
const steps = [search, { text: "Found." }];

Deno.test({
  name: "a model searches the web where a provider is configured; work for others cannot",
  ignore: !can_run_svc,
  async fn() {
    let status = 200;
    const asked: string[] = [];
    await using site = new Site(({ search }) => {
      asked.push(search);
      const urls = ["https://a.example/", "https://b.example/"];
      return Response.json(SEARCH_ANSWERS.searxng(urls), { status });
    });
    const toml = `[search]\nprovider = "searxng"\nbase_url = "${site.origin}"\n`;
    const offered = (it: Scenario): string[] =>
      it.server.requests[0].body.tools.map((tool: { function: { name: string } }) =>
        tool.function.name
      );
    const outputs = (it: Scenario) =>
      it.client.of("session.tool_completed").map(({ data }) => [data.ok, data.output]);
    {
      await using it = await Scenario.begin(steps, { toml });
      await it.turn("search");
      assertEquals(outputs(it), [[
        true,
        "1. t\n   https://a.example/\n   c https://a.example/\n" +
        "2. t\n   https://b.example/\n   c https://b.example/",
      ]]);
      assertEquals(asked.splice(0), ["?q=heron+%26+stork&format=json"]);
      assert(offered(it).includes("web_search"));
    }
    {
      await using it = await Scenario.begin(steps, { toml, start: { approval: "ask" } });
      const turn = it.turn("search");
      const { data } = await it.event("approval.requested");
      assertEquals([data.reason, asked.length], ["search the web for heron & stork", 0]);
      status = 503;
      await it.call("session.approve", { approval_id: data.approval_id, decision: "allow" });
      await turn;
      assertEquals(outputs(it), [[false, "the search with searxng answered HTTP 503"]]);
    }
    for (const options of [{}, { toml, start: { trust: "untrusted" } }]) {
      await using it = await Scenario.begin([{ text: "No." }], options);
      await it.turn("search");
      assert(!offered(it).includes("web_search"));
    }
  },
});
