/** Research by a question alone: the sources come from the operator's search provider. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Hire } from "../support/hire.ts";
import { SEARCH_ANSWERS, SEARCH_PROVIDERS } from "../support/search_providers.ts";
import { heronPage, Site } from "../support/site.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const KEY = "the-search-key-of-the-operator";

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, ignore: !can_run_svc, fn });
}

/** A daemon that searches with a provider at an address. */
async function serve(place: Place, provider: string, base_url: string, args: string[] = []) {
  place.configure(
    `[search]\nprovider = "${provider}"\nbase_url = "${base_url}"\napi_key_env = "SEARCH_KEY"\n`,
  );
  return await Hire.serve(place, { args, env: { SEARCH_KEY: KEY } });
}

const question = { task_type: "research", query: "What does a heron eat?", effort: "minimal" };

for (const provider of SEARCH_PROVIDERS) {
  test(`${provider}: what it finds is read, quoted and read again`, async () => {
    await using herons = new Site(({ pathname }) => pathname === "/" ? heronPage() : undefined);
    const found = [`${herons.origin}/gone`, `${herons.origin}/`];
    await using searched = new Site(() => Response.json(SEARCH_ANSWERS[provider](found)));
    await using place = new Place();
    await using hire = await serve(place, provider, searched.origin, ["--allow-private"]);
    const { status, error, summary, usage } = await hire.task(question);
    assertEquals(status, "completed", error);
    assertStringIncludes(summary, "It eats fish, frogs");
    assertEquals([searched.asked.length, usage.sources], [1, 1]);
  });
}

test("the provider may be on this machine, what it finds may not be for a hired task", async () => {
  await using herons = new Site(heronPage);
  const answers = [
    () => Response.json(SEARCH_ANSWERS.brave([`${herons.origin}/`, "file:///etc/passwd"])),
    () => Response.json(SEARCH_ANSWERS.brave([])),
    () => new Response(`bad key ${KEY}`, { status: 401 }),
    () => new Response(null, { status: 429, headers: { "retry-after": "30" } }),
  ];
  await using searched = new Site(() => answers.shift()!());
  await using place = new Place();
  await using hire = await serve(place, "brave", searched.origin);
  const errors = [
    "127.0.0.1 is not a public address; file:///etc/passwd: only http and https URLs can be fetched",
    "not met: a source was found: the search found nothing",
    "the search with brave answered HTTP 401: check its key and plan",
    "the search with brave answered HTTP 429, retry after 30",
  ];
  for (const said of errors) {
    const { status, error } = await hire.task(question);
    assertEquals(status, "failed");
    assertStringIncludes(error, said);
  }
  assertEquals(herons.asked, []);
  assertEquals(await hire.stop(), 0);
  assert(!(await hire.log).includes(KEY));
});
