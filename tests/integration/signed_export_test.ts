/** Exported sessions are signed, and moved to other machines; each attack has its control. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { hasProgram } from "../support/programs.ts";
import { McpClient } from "../support/mcp.ts";
import { tinyPng } from "../support/media.ts";
import { can_run_svc, type Daemon, Place, type TestClient } from "../support/svc.ts";

const ignore = !can_run_svc;

/** A machine with a session that has an attachment and a title. */
class Machine implements AsyncDisposable {
  readonly place: Place;
  daemon!: Daemon;
  client!: TestClient;
  id = "";

  private constructor() {
    this.place = new Place();
  }

  static async begin(said?: string): Promise<Machine> {
    const it = new Machine();
    it.daemon = await it.place.serve();
    it.client = await it.daemon.rpc();
    if (said !== undefined) it.id = await it.session(said);
    return it;
  }

  async session(said: string): Promise<string> {
    const { client, place } = this;
    const id = await client.session({ workdir: place.mkdir("w"), approval: "auto", title: said });
    const attachments = [{ data: tinyPng().toBase64(), name: "a.png" }];
    await client.rpc.call("session.send", { session_id: id, text: `help ${said}`, attachments });
    await client.wait(({ type, session_id }) => type === "turn.completed" && session_id === id);
    await client.turn(id, "run echo more");
    return id;
  }

  async exported(id = this.id): Promise<string> {
    const args = ["ctl", "sessions", "export", id, "--format", "json", "--output", "-"];
    const { stdout, stderr } = await this.place.svc(args);
    assertEquals(stderr, "");
    return stdout;
  }

  /** Imports a text by `svc ctl sessions import`. */
  async import(text: string | Uint8Array, ...flags: string[]) {
    const path = join(this.place.dir, "in.json");
    if (typeof text === "string") Deno.writeTextFileSync(path, text);
    else Deno.writeFileSync(path, text);
    const workdir = this.place.mkdir("imported");
    return await this.place.svc([
      ...["ctl", "sessions", "import", path, "--workdir", workdir],
      ...flags,
    ]);
  }

  async count(): Promise<number> {
    return (await this.client.rpc.call("session.list", { include_ended: true })).sessions.length;
  }

  async key(): Promise<{ public_key: string; fingerprint: string }> {
    return await this.client.rpc.call("ledger.key");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

/** The file as releases before signatures wrote it. */
function unsigned(text: string): string {
  return text.replace("svc-session/2", "svc-session/1").replace(/\],"signed":.*\n$/, "]}\n");
}

Deno.test({
  name: "a session moves to another machine through a pipe, once a person accepts its key",
  ignore,
  async fn() {
    await using one = await Machine.begin("first");
    await using two = await Machine.begin();
    const text = await one.exported();
    const { public_key, fingerprint } = await one.key();
    const piped = (...flags: string[]) =>
      two.place.svc(
        ["ctl", "sessions", "import", "-", "--workdir", two.place.mkdir("w"), ...flags],
        { stdin: text },
      );
    const refused = await piped();
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, `a key that is not known here, ${fingerprint}`);
    assertStringIncludes(refused.stderr, "--trust");
    assertEquals(await two.count(), 0);

    const done = await piped("--yes");
    assertEquals(done.code, 0);
    assertEquals(done.stderr, `signed by ${fingerprint}, a key that is not known here\n`);
    const session_id = done.stdout.trim();
    const { messages } = await two.client.rpc.call("session.transcript", { session_id });
    assertEquals(messages[0].text, "help first");
    const [{ hash }] = messages[0].attachments;
    const { data } = await two.client.rpc.call("session.attachment", { session_id, hash });
    assertEquals(data, tinyPng().toBase64());
    await two.client.rpc.call("session.subscribe", { session_id });
    assertEquals((await two.client.turn(session_id, "help")).data.stop_reason, "ok");
    assertEquals(
      [...Deno.readDirSync(two.place.home)].filter(({ name }) => /import/.test(name)),
      [],
    );

    const file = join(two.place.dir, "keys");
    Deno.writeTextFileSync(file, `# mine\nme@home ${public_key} comment\n`);
    for (const given of [public_key, file]) {
      const { code, stderr, stdout } = await piped("--trust", given, "--json");
      assertEquals([code, stderr], [0, ""]);
      assertEquals(JSON.parse(stdout).signed_by, { fingerprint, known: "trusted" });
    }
    const other = await piped("--trust", (await two.key()).public_key);
    assertEquals(other.code, 1);
    const no_key = await piped("--trust", "ssh-rsa AAAA");
    assertEquals(no_key.code, 2);

    const own = await one.import(text, "--json");
    assertEquals(JSON.parse(own.stdout).signed_by, { fingerprint, known: "this_machine" });
    // What was moved can be moved on: its new machine signs it.
    const again = await two.exported(session_id);
    assertStringIncludes((await two.import(again)).stderr, "this machine");
  },
});

Deno.test({
  name: "a file of an earlier release has no signature: a person may import it",
  ignore,
  async fn() {
    await using it = await Machine.begin("first");
    const text = unsigned(await it.exported());
    assertEquals(JSON.parse(text).signed, undefined);
    const refused = await it.import(text);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, "is not signed");
    const done = await it.import(text, "--yes");
    assertEquals([done.code, done.stderr], [0, "not signed\n"]);
  },
});

Deno.test({
  name: "a model imports what this machine has signed, and can confirm nothing else",
  ignore,
  async fn() {
    await using one = await Machine.begin("first");
    await using two = await Machine.begin("second");
    const workdir = two.place.mkdir("imported");
    const path = join(two.place.dir, "in.json");
    const { public_key, fingerprint } = await one.key();
    await using mcp = await McpClient.http(two.daemon, "?caps=all");
    const call = async (more: Record<string, unknown> = {}) => {
      const { isError, content } = await mcp.call("svc.session.import", { path, workdir, ...more });
      return [isError ?? false, JSON.stringify(content)] as const;
    };
    Deno.writeTextFileSync(path, await two.exported());
    assertEquals((await call())[0], false);
    Deno.writeTextFileSync(path, await one.exported());
    assertEquals((await call())[0], true);
    for (const more of [{ signer: fingerprint }, { trusted_keys: [public_key] }]) {
      const [is_error, said] = await call(more);
      assertEquals(is_error, true);
      assertStringIncludes(said, "only a person");
      // The same from a person's client.
      await two.client.rpc.call("session.import", { path, workdir, ...more });
    }
    Deno.writeTextFileSync(path, unsigned(await two.exported()));
    assertEquals((await call({ signer: "none" }))[0], true);
    await two.client.rpc.call("session.import", { path, workdir, signer: "none" });
    const wrong = { path, workdir, signer: fingerprint };
    await assertRejects(() => two.client.rpc.call("session.import", wrong), Error, "not signed");
  },
});

/** A change of a file, given its lines and another signed file of the same machine. */
type Attack = (lines: string[], other: string[]) => string | Uint8Array;

const LAST = -2; // after it is only the end of the text
const at = (lines: string[], begin: string) => lines.findIndex((it) => it.startsWith(begin));
const text = (lines: readonly string[]) => lines.join("\n");
const utf8 = (value: string) => new TextEncoder().encode(value);

const ATTACKS: Record<string, Attack> = {
  "its header says another title": (lines) =>
    text(lines.with(0, lines[0].replace('"title":"first"', '"title":"firsT"'))),
  "its header has one more member": (lines) =>
    text(lines.with(0, lines[0].replace("{", '{"more":1,'))),
  "its header says another time": (lines) =>
    text(lines.with(0, lines[0].replace(/"exported_at":"20/, '"exported_at":"19'))),
  "two records change places": (lines) => text(lines.toSpliced(3, 2, lines[4], lines[3])),
  "a record is missing": (lines) => text(lines.toSpliced(4, 1)),
  "its last records are missing, and the header fits": (lines) => {
    const end = at(lines, '],"attachments"');
    return text(lines.toSpliced(end - 1, 1));
  },
  "an attachment is another one's": (lines) => {
    const n = at(lines, '],"attachments"') + 1;
    const other = new Uint8Array(tinyPng().length).fill(7).toBase64();
    return text(lines.with(n, lines[n].replace(/"data":"[^"]*"/, `"data":"${other}"`)));
  },
  "an attachment has another name": (lines) => {
    const n = at(lines, '],"attachments"') + 1;
    return text(lines.with(n, lines[n].replace('"a.png"', '"b.png"')));
  },
  "an attachment is missing": (lines) => text(lines.toSpliced(at(lines, '],"attachments"') + 1, 1)),
  "an attachment is there twice": (lines) => {
    const n = at(lines, '],"attachments"') + 1;
    return text(lines.toSpliced(n, 0, `${lines[n]},`));
  },
  "the signature of another file": (lines, other) => text(lines.with(LAST, other.at(LAST)!)),
  "the signature is missing": (lines) => text(lines.with(LAST, "]}")),
  "two signatures": (lines, other) => {
    const second = other.at(LAST)!.slice('],"signed":'.length);
    return text(lines.with(LAST, lines.at(LAST)!.replace(/\}$/, `,"signed":${second}`)));
  },
  "two lines with signatures": (lines) => text(lines.toSpliced(LAST, 0, lines.at(LAST)!)),
  "a member after the signature": (lines) =>
    text(lines.with(LAST, lines.at(LAST)!.replace(/\}$/, ',"more":1}'))),
  "another key in the statement": (lines) =>
    text(
      lines.with(LAST, lines.at(LAST)!.replace(/ssh-ed25519 \S{20}/, "ssh-ed25519 AAAAC3NzaC1l")),
    ),
  "a damaged signature": (lines) =>
    text(lines.with(LAST, lines.at(LAST)!.replace(/\\n(.{70})\\n/, "\\n$1A\\n"))),
  "cut off in the middle": (lines) => text(lines).slice(0, text(lines).length / 2),
  "cut off before the signature": (lines) => text(lines.slice(0, LAST)),
  "something follows": (lines) => `${text(lines)}\n{}\n`,
  "a byte order mark": (lines) => utf8(`\ufeff${text(lines)}`),
  "line ends of Windows": (lines) => lines.join("\r\n"),
  "bytes that are no UTF-8": (lines) => {
    const bytes = utf8(text(lines));
    bytes[bytes.indexOf(0x66, 200)] = 0xff;
    return bytes;
  },
  "another coding": (lines) => {
    const value = text(lines);
    return new Uint8Array(new Uint16Array([...value].map((it) => it.charCodeAt(0))).buffer);
  },
};

Deno.test({
  name: "a changed file is refused with --yes too, and makes no session",
  ignore,
  async fn() {
    await using it = await Machine.begin("first");
    const whole = await it.exported();
    const lines = whole.split("\n");
    const other = (await it.exported(await it.session("second"))).split("\n");
    const before = await it.count();
    for (const [name, attack] of Object.entries(ATTACKS)) {
      const changed = attack(lines, other);
      assert(changed !== whole, `${name}: nothing was changed`);
      const { code, stderr } = await it.import(changed, "--yes");
      assertEquals(code, 1, name);
      assert(!/internal|TypeError|RangeError/.test(stderr), `${name}: ${stderr}`);
      assertMatch(stderr, /in\.json/, name);
    }
    assertEquals(await it.count(), before);
    // The control: the file itself, also without its last line end.
    for (const control of [whole, whole.slice(0, -1)]) {
      assertStringIncludes((await it.import(control)).stderr, "this machine");
    }
  },
});

Deno.test({
  name: "what is no file, or too large, is refused",
  ignore: ignore || Deno.build.os === "windows",
  async fn() {
    await using it = await Machine.begin("first");
    const at = (name: string) => join(it.place.dir, name);
    Deno.writeTextFileSync(at("real.json"), await it.exported());
    Deno.symlinkSync(at("real.json"), at("link.json"));
    // Room that is not there takes none on the disk.
    Deno.writeTextFileSync(at("large.json"), "{");
    Deno.truncateSync(at("large.json"), 600_000_000);
    Deno.mkdirSync(at("dir.json"));
    const attempt = (name: string) =>
      it.place.svc(["ctl", "sessions", "import", at(name), "--yes", "--workdir", it.place.dir]);
    for (const name of ["link.json", "large.json", "dir.json", "none.json"]) {
      const { code, stderr } = await attempt(name);
      assertEquals(code, 1, name);
      assertStringIncludes(stderr, name);
    }
    assertEquals((await attempt("real.json")).code, 0);
  },
});

Deno.test({
  name: "ssh-keygen checks an exported session, as the documentation says",
  ignore: ignore || !hasProgram("ssh-keygen"),
  async fn() {
    await using it = await Machine.begin("first");
    const whole = await it.exported();
    const { signed: { statement, signature } } = JSON.parse(whole);
    const { public_key } = await it.key();
    const write = (name: string, content: string) => {
      const path = join(it.place.dir, name);
      Deno.writeTextFileSync(path, content);
      return path;
    };
    const allowed = write("allowed", `me ${public_key}\n`);
    const sig = write("signature", signature);
    const verify = async (content: string, namespace = "svc-session") => {
      const child = new Deno.Command("ssh-keygen", {
        args: ["-Y", "verify", "-f", allowed, "-I", "me", "-n", namespace, "-s", sig],
        ...{ stdin: "piped", stdout: "null", stderr: "null" },
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(content));
      await writer.close();
      return (await child.status).success;
    };
    assertEquals(await verify(statement), true);
    assertEquals(await verify(`${statement} `), false);
    assertEquals(await verify(statement, "svc-ledger"), false);
    const body = whole.slice(0, whole.trimEnd().lastIndexOf("\n") + 1);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
    const stated = JSON.parse(statement);
    assertEquals(stated.sha256, new Uint8Array(digest).toHex());
    const { records, attachments, session_id, head } = JSON.parse(whole);
    assertEquals(
      [stated.records, stated.attachments, stated.session_id, stated.head],
      [records.length, attachments.length, session_id, head],
    );
  },
});

Deno.test({
  name: "a large session is exported in parts that fit together, and no client can move the parts",
  ignore,
  async fn() {
    await using it = await Machine.begin("first");
    const { rpc } = it.client;
    const session_id = it.id;
    const large = "x".repeat(400_000);
    for (let n = 0; n < 6; n++) {
      await rpc.call("session.send", { session_id, text: `help ${large}` });
      await it.client.wait(({ type, seq, session_id: of }) =>
        type === "turn.completed" && of === session_id && seq! > n * 3
      );
    }
    let cursor: string | undefined;
    const parts: { content: string; next_cursor?: string }[] = [];
    do {
      const part = await rpc.call("session.export", { session_id, format: "json", cursor });
      parts.push(part);
      cursor = part.next_cursor;
      // What happens meanwhile is not in the file, not even a new title.
      if (parts.length === 1) {
        await rpc.call("session.configure", { session_id, title: "renamed" });
      }
    } while (cursor !== undefined);
    assert(parts.length > 2, String(parts.length));
    const whole = parts.map(({ content }) => content).join("");
    assertStringIncludes((await it.import(whole)).stderr, "this machine");

    const places = parts[0].next_cursor!.split(".");
    const bad = [
      places.with(0, String(Number(places[0]) + 1_000)),
      places.with(2, String(Date.now() + 3_600_000)),
      places.with(2, "0"),
      places.slice(1),
      [...places, "1"],
      ["-1", ...places.slice(1)],
      ["0"],
    ];
    for (const cursor of bad.map((it) => it.join("."))) {
      const again = () => rpc.call("session.export", { session_id, format: "json", cursor });
      await assertRejects(again, Error, "invalid cursor", cursor);
    }
    const trimmed = places.with(1, "1").join(".");
    const shortened = () =>
      rpc.call("session.export", { session_id, format: "json", cursor: trimmed });
    await assertRejects(shortened, Error, "shortened");
  },
});
