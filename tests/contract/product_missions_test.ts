import { assertEquals } from "@std/assert";
import { row } from "./row.ts";
import { Shared } from "./shared.ts";

const it = new Shared();

const LEGACY = [
  ...["svc_build_from_sow", "svc_get_mission_status", "svc_get_mission_logs"],
  ...["svc_cancel_mission", "svc_list_missions"],
];

/** The codes that calls without what they need answer. */
async function codes(): Promise<(number | undefined)[]> {
  await using client = await it.socket();
  const answers: (number | undefined)[] = [];
  for (const method of LEGACY) {
    answers.push((await client.ask({ method, params: { mission_id: 1 } })).error?.code);
  }
  return answers;
}

for (
  const [section, name] of [
    ["Tool-protocol catalog", "five legacy mission tool names, each with its legacy prefix"],
    ["Versioning", "5. the five legacy mission tool names are preserved"],
  ]
) {
  row("product", section, name, async () => {
    // The list takes no parameters; the others say what is wrong with theirs.
    assertEquals(await codes(), [-32602, -32602, -32602, -32602, undefined]);
  });
}
