import { assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { recordOf, TempDir } from "../../../tests/support/sessions.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import { isNewer } from "./daemon_checks.ts";
import { journalProblem, judgeDisk, parseDf } from "./file_checks.ts";

const MIB = 1024 * 1024;

Deno.test("a binary is newer by its number, and by its time where the number is the same", () => {
  const running = { version: "1.2.0+aaa", started_ms: 1_000 };
  const cases: [string, number, boolean][] = [
    ["1.10.0+bbb", 0, true],
    ["1.2.1+bbb", 0, true],
    ["1.1.9+bbb", 5_000, false],
    ["1.2.0+bbb", 5_000, true],
    ["1.2.0+bbb", 500, false],
    ["1.2.0+aaa", 5_000, false],
  ];
  for (const [version, written_ms, newer] of cases) {
    assertEquals(isNewer({ version, written_ms }, running), newer, `${version} at ${written_ms}`);
  }
});

Deno.test("free space is read from df, each file system once, mount points with spaces too", () => {
  const text = `Filesystem     1024-blocks     Used Available Capacity Mounted on
/dev/vda         264212084 24560044  81830868      24% /
/dev/vda         264212084 24560044  81830868      24% /
map auto_home            0        0         0       -  /my disks/home`;
  assertEquals(parseDf(text), [
    { mount: "/", free_bytes: 81830868 * 1024 },
    { mount: "/my disks/home", free_bytes: 0 },
  ]);
});

Deno.test("little space is a warning, next to none a failure", () => {
  const judge = (...free: number[]) =>
    judgeDisk(free.map((free_bytes, n) => ({ mount: `/${n}`, free_bytes }))).status;
  assertEquals(
    [judge(5_000 * MIB), judge(5_000 * MIB, 1_000 * MIB), judge(99 * MIB, 5_000 * MIB), judge()],
    ["ok", "warn", "fail", "warn"],
  );
});

Deno.test({
  name: "a journal with a torn or bad last line can be read; one that is bad before it cannot",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const lines = [1, 2, 3].map((seq) =>
      recordOf(
        { seq, at: "", type: "lane.note", data: { lane_id: "main", text: "", reason_code: "" } },
      )
    );
    const checkpoint = recordOf(
      {
        seq: 7,
        at: "",
        type: "session.checkpoint",
        data: { state: {}, transcript: {}, chain: "" },
      } satisfies SessionEvent,
    );
    const problem = async (text: string) => {
      Deno.writeTextFileSync(path, text);
      return await journalProblem(path) ?? "";
    };
    const good = lines.join("");
    assertEquals(await problem(good), "");
    assertEquals(await problem(good + '{"v":1'), "");
    assertEquals(await problem(good + "rubbish\n"), "");
    assertEquals(await problem(checkpoint), "");
    assertEquals(await problem(checkpoint + lines[0].replace('"seq":1', '"seq":8')), "");
    assertStringIncludes(await problem(lines[0] + "rubbish\n" + lines[1]), "after seq 1");
    assertStringIncludes(await problem(lines[0] + lines[2]), "seq 3 instead of 2");
    assertStringIncludes(await problem(lines[1]), "seq 2 instead of 1");
    assertStringIncludes(await problem(good.replace('"v":1', '"v":2')), "schema version");
    assertStringIncludes(await problem(""), "empty");
    Deno.removeSync(path);
    assertStringIncludes(await journalProblem(path) ?? "", "no journal");
  },
});
