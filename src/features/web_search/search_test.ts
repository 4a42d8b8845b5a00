import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { SEARCH_ANSWERS, SEARCH_PROVIDERS } from "../../../tests/support/search_providers.ts";
import { Site } from "../../../tests/support/site.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { SearchProvider } from "./config.ts";
import { search, type SearchOptions, SearchUnavailable } from "./search.ts";

const ignore = !granted("net");
const KEY = "the-key-of-the-operator";
const URLS = ["https://a.example/", "https://b.example/page?x=1", "https://a.example/"];

interface Asked {
  method: string;
  address: string;
  headers: Headers;
  body: string;
}

/** A provider on loopback, and what it was asked. */
function serve(answer: () => Response | Promise<Response>): { site: Site; asked: Asked[] } {
  const asked: Asked[] = [];
  const site = new Site(async ({ pathname, search }, request) => {
    const { method, headers } = request;
    asked.push({ method, address: pathname + search, headers, body: await request.text() });
    return await answer();
  });
  return { site, asked };
}

async function ask(provider: SearchProvider, site: Site, more: Partial<SearchOptions> = {}) {
  const hits = await search({
    config: { provider, base_url: site.origin, api_key_env: "KEY" },
    env: (name) => name === "KEY" ? KEY : undefined,
    query: "heron & stork",
    count: 6,
    signal: new AbortController().signal,
    ...more,
  });
  return hits.map(({ url }) => url);
}

function each(name: string, fn: (provider: SearchProvider) => Promise<void>): void {
  for (const provider of SEARCH_PROVIDERS) {
    Deno.test({
      name: `${provider}: ${name}`,
      ignore,
      fn: () => fn(provider),
    });
  }
}

each("the addresses of its results, each once, as many as asked for", async (provider) => {
  const { site, asked } = serve(() => Response.json(SEARCH_ANSWERS[provider](URLS)));
  await using _ = site;
  assertEquals(await ask(provider, site), URLS.slice(0, 2));
  assertEquals(await ask(provider, site, { count: 1 }), URLS.slice(0, 1));
  const { method, address, headers, body } = asked[0];
  const sent = {
    searxng: ["GET", "/search?q=heron+%26+stork&format=json", "", `Bearer ${KEY}`, null],
    brave: ["GET", "/res/v1/web/search?q=heron+%26+stork&count=6", "", null, KEY],
    tavily: [
      ...["POST", "/search", '{"query":"heron & stork","max_results":6}', `Bearer ${KEY}`, null],
    ],
  };
  assertEquals(
    [method, address, body, headers.get("authorization"), headers.get("x-subscription-token")],
    sent[provider],
  );
});

each("nothing found is no error", async (provider) => {
  const { site } = serve(() => Response.json(SEARCH_ANSWERS[provider]([])));
  await using _ = site;
  assertEquals(await ask(provider, site), []);
});

each("a refused key, and a redirect, fail for good; the key does not show", async (provider) => {
  const cases: [Response, string][] = [
    [new Response(`no: ${KEY}`, { status: 401 }), "HTTP 401: check its key and plan"],
    [
      new Response(null, { status: 403 }),
      provider === "searxng" ? "enable the format json" : "HTTP 403: check its key and plan",
    ],
    [
      new Response(null, { status: 302, headers: { location: "http://127.0.0.1:9/" } }),
      "HTTP 302: check [search] base_url",
    ],
    [new Response(null, { status: 404 }), "HTTP 404: check [search] base_url"],
  ];
  for (const [response, said] of cases) {
    const { site, asked } = serve(() => response);
    await using _ = site;
    const error = await assertRejects(() => ask(provider, site), SvcError, said);
    assertEquals([error.message.includes(KEY), asked.length], [false, 1]);
  }
});

each("a limited rate, a failing or an absent server may do better later", async (provider) => {
  const limited = new Response("slow down", { status: 429, headers: { "retry-after": "7" } });
  const cases: [Response, string][] = [
    [limited, `the search with ${provider} answered HTTP 429, retry after 7`],
    [new Response(null, { status: 503 }), "answered HTTP 503"],
  ];
  let gone: Site;
  for (const [response, said] of cases) {
    const { site } = serve(() => response);
    await using _ = gone = site;
    await assertRejects(() => ask(provider, site), SearchUnavailable, said);
  }
  await assertRejects(() => ask(provider, gone), SearchUnavailable, "Connection refused");
});

each("an answer that is not as documented is named", async (provider) => {
  const cases: [BodyInit, string][] = [
    ["<html>", "returned no list of results"],
    ["{}", "returned no list of results"],
    ['{"results": [{"title": "without an address"}]}', "returned no list of results"],
    ['{"results": "none"}', "returned no list of results"],
    [`{"results": [], "pad": "${"x".repeat(4 * 1024 * 1024)}"}`, "more than 4194304 bytes"],
  ];
  for (const [body, said] of cases) {
    const { site } = serve(() => new Response(body));
    await using _ = site;
    await assertRejects(() => ask(provider, site), SvcError, said);
  }
});

each(
  "a provider that does not answer is given up; so is a search nobody waits for",
  async (provider) => {
    const stop = new AbortController();
    const came = Promise.withResolvers<void>();
    const never = Promise.withResolvers<Response>();
    const { site } = serve(() => {
      came.resolve();
      return never.promise;
    });
    await using _ = site;
    await assertRejects(
      () => ask(provider, site, { timeout_ms: 50 }),
      SearchUnavailable,
      "within 0.05 s",
    );
    const asking = ask(provider, site, { signal: stop.signal });
    await came.promise;
    stop.abort(new Error("the task was stopped"));
    await assertRejects(() => asking, Error, "the task was stopped");
    never.resolve(new Response());
  },
);

Deno.test("without its key a provider is not asked; SearXNG needs none", async () => {
  for (const provider of ["brave", "tavily"] as const) {
    for (const value of [undefined, ""]) {
      const options = {
        config: { provider, api_key_env: "KEY" },
        env: () => value,
        query: "heron",
        count: 1,
        signal: new AbortController().signal,
      };
      await assertRejects(() => search(options), SvcError, "has no key: set [search] api_key_env");
    }
  }
});

each("a query longer than they take is cut", async (provider) => {
  const { site, asked } = serve(() => Response.json(SEARCH_ANSWERS[provider](URLS)));
  await using _ = site;
  await ask(provider, site, { query: "x".repeat(100_000) });
  assertEquals((asked[0].address + asked[0].body).match(/x{3,}/)![0].length, 400);
});
