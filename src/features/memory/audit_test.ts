import { assertEquals } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { MemoryLog, TempDir } from "../../../tests/support/sessions.ts";
import { type AuditRecord, AuditTrail } from "./audit.ts";

const ignore = !granted("read", "write", "sys") || Deno.build.os === "windows";
const encoder = new TextEncoder();

function record(entry_id: string): AuditRecord {
  return { ts: "t", entry_id, category: "fact", content_sha: "00", source_msg_id: "msg_1" };
}

/** A trail with the records a and b, and what is put into it. */
class Fixture implements Disposable {
  readonly dir = new TempDir();
  readonly path = this.dir.join("cortex", "audit.jsonl");
  readonly log = new MemoryLog();
  readonly trail = new AuditTrail(this.path, this.log);

  constructor() {
    for (const id of ["a", "b"]) this.trail.append(record(id));
  }

  /** Puts bytes behind what is there. */
  damage(...parts: (string | Uint8Array)[]): void {
    for (const part of parts) {
      const bytes = typeof part === "string" ? encoder.encode(part) : part;
      Deno.writeFileSync(this.path, bytes, { append: true });
    }
  }

  async ids(): Promise<string[]> {
    return (await Array.fromAsync(this.trail.records())).map(({ entry_id }) => entry_id);
  }

  /** The ids in the file, each line of which must be JSON. */
  get written(): string[] {
    const lines = Deno.readTextFileSync(this.path).split("\n");
    assertEquals(lines.pop(), "");
    return lines.map((line) => JSON.parse(line).entry_id);
  }

  get aside(): Uint8Array {
    return Deno.readFileSync(`${this.path}.bad`);
  }

  [Symbol.dispose](): void {
    this.dir[Symbol.dispose]();
  }
}

Deno.test({
  name: "lines that are no record are put aside, and the trail goes on as valid JSON lines",
  ignore,
  async fn() {
    using it = new Fixture();
    const garbage = [
      Uint8Array.of(0xff, 0x00, 0x80, 0x0a),
      encoder.encode('{"half": \n'),
      encoder.encode('{"ts": "t", "entry_id": 7}\n'),
      encoder.encode("null\n\n"),
    ];
    it.damage(...garbage);
    it.trail.append(record("c"));
    assertEquals(await it.ids(), ["a", "b", "c"]);
    assertEquals(it.written, ["a", "b", "c"]);
    assertEquals([...it.aside], garbage.flatMap((bytes) => [...bytes]));
    assertEquals(it.log.of("warn").length, 1);
    assertEquals(Deno.statSync(it.path).mode! & 0o777, 0o600);
    assertEquals(Deno.statSync(`${it.path}.bad`).mode! & 0o777, 0o600);
    it.trail.append(record("d"));
    assertEquals(await it.ids(), ["a", "b", "c", "d"]);
    assertEquals((await it.trail.page({ limit: 2 })).records.map((one) => one.entry_id), [
      "c",
      "d",
    ]);
    assertEquals(it.log.of("warn").length, 1);
  },
});

Deno.test({
  name: "a torn end of any length is put aside before the next record",
  ignore,
  async fn() {
    for (const torn of ['{"ts": "t', "x".repeat(300_000)]) {
      using it = new Fixture();
      it.damage(torn);
      assertEquals(await it.ids(), ["a", "b"]);
      it.trail.append(record("c"));
      assertEquals(it.written, ["a", "b", "c"]);
      assertEquals(new TextDecoder().decode(it.aside), torn);
      assertEquals(it.log.of("warn").length, 1);
    }
  },
});
