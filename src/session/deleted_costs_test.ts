import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { TempDir } from "../../tests/support/sessions.ts";
import { DeletedCosts, summed } from "./deleted_costs.ts";

const spent = { usd: 1, tokens_in: 10, tokens_out: 5, tokens_cached: 2 };
const now = Date.parse("2026-03-01T00:00:00.000Z");

Deno.test("costs are summed by model and hour, and by day when they are old", () => {
  const at = "2026-02-28T10:00:00.000Z";
  const old = ["2026-01-02T03:00:00.000Z", "2026-01-02T04:00:00.000Z"];
  const hours = [
    { at, model: "a", ...spent },
    { at, model: "b", ...spent, unpriced: true as const },
    { at, model: "a", ...spent },
    ...old.map((at) => ({ at, model: "a", ...spent })),
  ];
  const twice = { usd: 2, tokens_in: 20, tokens_out: 10, tokens_cached: 4 };
  const sums = [
    { at: "2026-01-02T00:00:00.000Z", model: "a", ...twice },
    { at, model: "a", ...twice },
    { at, model: "b", ...spent, unpriced: true as const },
  ];
  assertEquals(summed(hours, now), sums);
  assertEquals(summed(sums, now), sums);
});

Deno.test({
  name: "the costs of a session count once, even if its deletion begins again after a kill",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    const path = dir.join("costs.json");
    const at = new Date().toISOString();
    const hours = [{ at, model: "m", ...spent }];
    let begun = 0;
    const killed = () => Promise.reject(new Error("killed"));
    const begin = () => Promise.resolve(void begun++);
    await assertRejects(() => new DeletedCosts(path).add("sess_1", hours, killed));
    const costs = new DeletedCosts(path);
    await costs.add("sess_1", hours, begin);
    assertEquals(await costs.read(), hours);
    await Promise.all(["sess_2", "sess_3"].map((id) => costs.add(id, hours, begin)));
    await costs.add("sess_4", [], begin);
    assertEquals(begun, 4);
    assertEquals((await new DeletedCosts(path).read()).map(({ usd }) => usd), [3]);
  },
});

Deno.test({
  name: "a damaged file of costs is not overwritten",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    const path = dir.join("costs.json");
    Deno.writeTextFileSync(path, "{");
    const add = () => new DeletedCosts(path).add("sess_1", [], () => Promise.resolve());
    await assertRejects(add);
    assertEquals(Deno.readTextFileSync(path), "{");
  },
});
