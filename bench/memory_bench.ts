/**
 * The memory with 10,000 entries:
 * `deno bench --allow-read --allow-write --allow-sys=uid bench/memory_bench.ts`.
 */
import { MemoryLog } from "../tests/support/sessions.ts";
import { join } from "@std/path";
import { AuditTrail } from "../src/features/memory/audit.ts";
import { CATEGORIES, SCOPES } from "../src/protocol/memory.ts";
import { Memory } from "../src/features/memory/memory.ts";
import { memoryFor } from "../src/features/memory/prompt.ts";
import { MemoryStore } from "../src/features/memory/store.ts";
import { openTestDb } from "../tests/support/state_db.ts";
import { Random } from "../tests/support/random.ts";

const ENTRIES = 10_000;
const WORDS = 5_000;

const reader = { session_id: "sess_1", workdir: "/work/project-1", trusted: true };
const random = new Random(1);
const syllables = "ba de fi go ku la me ni po ru sa te vi wo xu".split(" ");
const words = Array.from(
  { length: WORDS },
  () => Array.from({ length: 2 + random.below(3) }, () => random.pick(syllables)).join(""),
);

/** Some words are in many texts, most are in few, as in any language. */
function word(): string {
  return words[Math.floor(WORDS * random.next() ** 3)];
}

function sentence(length: number): string {
  return Array.from({ length }, word).join(" ");
}

const dir = Deno.makeTempDirSync({ prefix: "svc-bench-" });
const db = await openTestDb(join(dir, "state.db"));
let ids = 0;
const memory = await Memory.open({
  store: new MemoryStore(db),
  audit: new AuditTrail(join(dir, "cortex", "curator-audit.jsonl"), new MemoryLog()),
  newId: () => `mem_${++ids}`,
});
db.exec("BEGIN");
for (let n = 0; n < ENTRIES; n++) {
  memory.remember({
    content: sentence(8 + random.below(20)),
    category: random.pick(CATEGORIES),
    scope: random.pick(SCOPES.filter((scope) => scope !== "Always")),
  }, { reader: { ...reader, workdir: `/work/project-${n % 20}` } });
}
db.exec("COMMIT");
addEventListener("unload", () => {
  memory.close();
  Deno.removeSync(dir, { recursive: true });
});

Deno.bench("recall: a few words", { group: "recall" }, () => {
  memory.recall(sentence(4), { reader, limit: 10 });
});
Deno.bench("recall: a message of 30 words", { group: "recall" }, () => {
  memory.recall(sentence(30), { reader, limit: 10 });
});
Deno.bench("recall: the commonest word there is", { group: "recall" }, () => {
  memory.recall(words[0], { reader, limit: 10 });
});
Deno.bench("what a prompt is given", { group: "recall" }, () => {
  memoryFor(memory, sentence(12), { reader, known: new Set(), budget_tokens: 1_000 });
});
Deno.bench("remember, on the disk", { group: "write" }, () => {
  memory.remember({ content: sentence(12), category: "fact" });
});
Deno.bench("remember by itself, with its audit record", { group: "write" }, () => {
  memory.remember({ content: sentence(12), category: "fact" }, { source_msg_id: "msg_1" });
});
