import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { connect, event, follow, keys, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";
import { mode } from "./shared.ts";

const it = new Shared();

function cortex(name: string, fn: () => void | Promise<void>) {
  row("contract", "4 verbs", name, fn);
}

cortex("cortex.remember {content, category, scope?, tags?}, recall {query, limit?}", async () => {
  await using client = await connect(it);
  const content = "Releases are deployed on Mondays";
  const tags = ["release"];
  const { entry_id } = await client.call("cortex.remember", {
    content,
    category: "pattern",
    scope: "Global",
    tags,
  });
  const { entries: [entry] } = await client.call("cortex.recall", { query: "deploying", limit: 1 });
  assertEquals(
    [entry.entry_id, entry.content, entry.category, entry.scope, entry.tags],
    [entry_id, content, "pattern", "Global", tags],
  );
  for (const wrong of [{ category: "fact" }, { content, category: "rumour" }]) {
    assertEquals((await client.fails("cortex.remember", wrong)).code, -32602);
  }
});

cortex("cortex.forget {entry_id}", async () => {
  await using client = await connect(it);
  const entry = { content: "The zebra is in the barn", category: "fact" };
  const { entry_id } = await client.call("cortex.remember", entry);
  await client.call("cortex.forget", { entry_id });
  assertEquals(await client.call("cortex.recall", { query: "zebra" }), { entries: [] });
  assertEquals((await client.fails("cortex.forget", { entry_id })).code, -32002);
});

cortex("cortex.audit: a record for each automatic write", async () => {
  const { session_id } = await it.session({ approval: "auto" });
  await using client = await connect(it);
  await follow(client, session_id);
  await client.turn(session_id, "remember audits have records");
  const { data } = await event(client, "memory.written");
  const { records } = await client.call("cortex.audit", { limit: 1 });
  assertEquals(records.map(keys), [
    ["category", "content_sha", "entry_id", "source_msg_id", "ts"],
  ]);
  assertEquals([records[0].entry_id, records[0].content_sha], [data.entry_id, data.content_sha]);
});

cortex("cortex.publish {note{text, tags?, severity?}}, notes", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  await follow(client, session_id);
  const note = { text: "The build is red", tags: ["ci"], severity: "error" };
  const { seq } = await client.call("cortex.publish", { session_id, note });
  const { notes } = await client.call("cortex.notes", { session_id });
  assertEquals(notes.length, 1);
  const { text, tags, severity } = notes[0];
  assertEquals({ text, tags, severity }, note);
  assertEquals([notes[0].seq, (await event(client, "lane.note")).seq], [seq, seq]);
});

cortex("cortex.lobes_list, lobe_pause, lobe_resume", async () => {
  await using client = await connect(it);
  const status = async () => {
    const { lobes } = await client.call("cortex.lobes_list");
    return Object.fromEntries(
      lobes.map((each: Record<string, string>) => [each.lobe, each.status]),
    );
  };
  assertEquals(await status(), { recaller: "idle", curator: "idle" });
  await client.call("cortex.lobe_pause", { lobe: "curator" });
  assertEquals(await status(), { recaller: "idle", curator: "paused" });
  await client.call("cortex.lobe_resume", { lobe: "curator" });
  assertEquals(await status(), { recaller: "idle", curator: "idle" });
  assertEquals((await client.fails("cortex.lobe_pause", { lobe: "frontal" })).code, -32602);
});

row("contract", "1 homes", "databases: memory is in ~/.svc/state.db, 0600", async () => {
  await using client = await connect(it);
  const content = "The quokka keeps the database";
  await client.call("cortex.remember", { content, category: "fact" });
  const path = join(it.place.home, "state.db");
  const text = [path, `${path}-wal`].map((file) =>
    new TextDecoder("latin1").decode(Deno.readFileSync(file))
  ).join("");
  assert(text.includes(content));
  assertEquals(mode(path), "600");
});
