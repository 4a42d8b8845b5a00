/** Ledgers as files: exported by a daemon, checked without one, and by ssh-keygen and sha256. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { can_run_svc, Place } from "../support/svc.ts";
import { hasProgram } from "../support/programs.ts";

const ignore = !can_run_svc;

/** An exported ledger of a session with a turn. */
async function exported(place: Place) {
  const daemon = await place.serve();
  await using client = await daemon.rpc();
  const params = { workdir: place.mkdir("project"), model: "builtin/toolbelt", approval: "auto" };
  const session_id = await client.session(params);
  await client.turn(session_id, "run printf 'caf\\303\\251 \\r\\n'");
  const file = join(place.mkdir("out"), "run.ledger");
  const made = await place.svc(["ledger", "export", session_id, "-o", file]);
  assertEquals([made.code, made.stdout.trim(), made.stderr], [0, file, ""]);
  const key = (await place.svc(["ledger", "key"])).stdout.trim();
  return { file, key, session_id, daemon };
}

const read = (file: string) => Deno.readTextFileSync(file).trimEnd().split("\n");

Deno.test({
  name: "a ledger is checked without a daemon; whatever was changed is found",
  ignore,
  async fn() {
    await using place = new Place();
    const { file, key, session_id, daemon } = await exported(place);
    await daemon.stop();
    const verify = (path: string, ...more: string[]) =>
      place.svc(["ledger", "verify", path, ...more]);
    const held = await verify(file, "--key", key);
    assertEquals(held.code, 0, held.stderr);
    assertStringIncludes(held.stdout, `records of session ${session_id}`);
    const { code, stdout } = await verify(file, "--json");
    const lines = read(file);
    const said = JSON.parse(stdout);
    assertEquals([code, said.ok, said.records, said.shortened], [0, true, lines.length - 2, false]);
    assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o600);

    const [statement, signature, ...records] = lines;
    const other = JSON.parse(statement);
    const changed: Record<string, string[]> = {
      "a record is changed": lines.map((it, n) => n === 4 ? it.replace('"seq":3', '"seq": 3') : it),
      "the last record is missing": lines.slice(0, -1),
      "a record in the middle is missing": lines.filter((_, n) => n !== 4),
      "the first record is missing": [statement, signature, ...records.slice(1)],
      "a record is there twice": [...lines, lines.at(-1)!],
      "two records are exchanged": [statement, signature, records[1], records[0]],
      "the statement is changed": [JSON.stringify({ ...other, svc: "9.9.9" }), ...lines.slice(1)],
      "the statement counts fewer": [
        JSON.stringify({ ...other, records: records.length - 1 }),
        ...lines.slice(1, -1),
      ],
      "there is no signature": [statement, ...records],
      "the signature is empty": [statement, '{"signature":""}', ...records],
      "it is empty": [],
      "it is something else": ["[]", "null", "{}"],
    };
    for (const [what, text] of Object.entries(changed)) {
      const path = join(place.mkdir("changed"), "it.ledger");
      Deno.writeTextFileSync(path, text.map((line) => `${line}\n`).join(""));
      const found = await verify(path, "--json");
      assertEquals([found.code, JSON.parse(found.stdout).ok], [1, false], what);
    }
    Deno.writeFileSync(join(place.mkdir("changed"), "b"), new Uint8Array([0xff, 0xfe, 0x0a]));
    assertEquals((await verify(join(place.mkdir("changed"), "b"))).code, 1);

    // What another machine signed is whole, and not what this one vouched for.
    await using elsewhere = new Place();
    const theirs = await exported(elsewhere);
    assertEquals((await verify(theirs.file)).code, 0);
    const refused = await verify(theirs.file, "--key", key);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, "another key, SHA256:");
  },
});

Deno.test({
  name: "ssh-keygen and sha256 find the same in a ledger as svc",
  ignore: ignore || !hasProgram("ssh-keygen"),
  async fn() {
    await using place = new Place();
    const { file, key } = await exported(place);
    const [statement, signature, ...records] = read(file);
    const dir = place.mkdir("check");
    const at = (name: string, text: string) => {
      Deno.writeTextFileSync(join(dir, name), text);
      return join(dir, name);
    };
    const check = async (message: string) => {
      const child = new Deno.Command("ssh-keygen", {
        args: ["-Y", "verify", "-f", at("allowed", `me ${key}\n`), "-I", "me", "-n", "svc-ledger"]
          .concat(["-s", at("signature", JSON.parse(signature).signature)]),
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(message));
      await writer.close();
      return (await child.status).success;
    };
    assert(await check(statement));
    assertEquals(await check(`${statement} `), false);
    let head = "0".repeat(64);
    for (const record of records) {
      const bytes = new TextEncoder().encode(head + record);
      head = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    }
    assertEquals(JSON.parse(statement).head, head);
    const shown = await new Deno.Command("ssh-keygen", { args: ["-lf", at("key", key)] }).output();
    const { fingerprint } = JSON.parse((await place.svc(["ledger", "key", "--json"])).stdout);
    assertStringIncludes(new TextDecoder().decode(shown.stdout), fingerprint);
  },
});

Deno.test({
  name: "a ledger of many pages is whole, while the session goes on; no file is replaced",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const params = { workdir: place.mkdir("project"), model: "builtin/toolbelt", approval: "auto" };
    const session_id = await client.session(params);
    for (let n = 0; n < 60; n++) {
      await client.turn(session_id, "run head -c 45000 /dev/zero | tr '\\0' a");
    }
    const lines: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await client.rpc.call("ledger.export", { session_id, cursor });
      lines.push(...page.lines);
      cursor = page.next_cursor;
      pages++;
      await client.turn(session_id, "run true");
    } while (cursor !== undefined);
    assert(pages > 1, `${pages} pages`);
    const file = join(place.mkdir("out"), "it.ledger");
    Deno.writeTextFileSync(file, `${lines.join("\n")}\n`);
    assertEquals((await place.svc(["ledger", "verify", file])).code, 0);
    const again = await place.svc(["ledger", "export", session_id, "-o", file]);
    assertEquals(again.code, 1);
    assertStringIncludes(again.stderr, "already exists");
    assertEquals([...Deno.readDirSync(place.mkdir("out"))].length, 1);
  },
});
