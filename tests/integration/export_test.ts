import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { parseHTML } from "linkedom";
import { Browser, chromiumPath } from "../support/browser.ts";
import { tinyPng } from "../support/media.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

const HOSTILE = [
  `</pre></section><script>document.title='owned'</script>`,
  `<img src=x onerror="document.title='owned'">`,
  `' " & \u202e\u0000 ]]> --> </title> \u0060\u0060\u0060\u0060`,
].join("\n");

async function begin(place: Place) {
  const daemon = await place.serve();
  const client = await daemon.rpc();
  const id = await client.session({
    workdir: place.mkdir("w"),
    approval: "auto",
    title: "<b>a & b</b></title>",
  });
  const attachments = [{ data: tinyPng().toBase64(), name: 'a"><script>.png' }];
  await client.rpc.call("session.send", { session_id: id, text: HOSTILE, attachments });
  await client.wait(({ type }) => type === "turn.completed");
  await client.turn(id, "run printf '%s' '<i>out</i>'");
  return { daemon, client, id };
}

Deno.test({
  name: "a session is exported to one file, for its owner alone, that replaces none by itself",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, id } = await begin(place);
    await using _ = client;
    for (const [format, extension] of [["markdown", "md"], ["html", "html"], ["json", "json"]]) {
      const command = ["ctl", "sessions", "export", id, "--format", format];
      const done = await place.svc(command);
      assertEquals([done.code, done.stderr], [0, ""]);
      const path = join(place.dir, `${id}.${extension}`);
      if (Deno.build.os !== "windows") assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
      const text = Deno.readTextFileSync(path);
      Deno.writeTextFileSync(path, "mine");
      const again = await place.svc(command);
      assertEquals([again.code, Deno.readTextFileSync(path)], [1, "mine"]);
      assertStringIncludes(again.stderr, "--force");
      assertEquals((await place.svc([...command, "--force"])).code, 0);
      assert(Deno.readTextFileSync(path).length > text.length - 100);
      const printed = await place.svc([...command, "--output", "-"]);
      assertStringIncludes(
        printed.stdout,
        "out</i>".replace("<", format === "html" ? "&lt;" : "<")
          .replace(">", format === "html" ? "&gt;" : ">"),
      );
    }
    assertEquals(
      [...Deno.readDirSync(place.dir)].filter(({ name }) => name.startsWith(id)).length,
      3,
    );
  },
});

Deno.test({
  name: "the JSON has the records as the journal has them, and the attachments",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, id } = await begin(place);
    await using _ = client;
    const { stdout } = await place.svc(
      ["ctl", "sessions", "export", id, "--format", "json", "--output", "-"],
    );
    const file = JSON.parse(stdout);
    const journal = Deno.readTextFileSync(join(place.dir, "w/.svc/sessions", id, "journal.ndjson"));
    assertEquals(file.records, journal.trimEnd().split("\n").map((line) => JSON.parse(line)));
    for (const line of journal.trimEnd().split("\n")) assertStringIncludes(stdout, line);
    assertEquals([file.format, file.session_id, file.count], [
      "svc-session/2",
      id,
      file.records.length,
    ]);
    const { head } = await client.rpc.call("ledger.verify", { session_id: id });
    assertEquals(file.head, head);
    assertEquals(file.attachments.map(({ data }: { data: string }) => data), [
      tinyPng().toBase64(),
    ]);
  },
});

Deno.test({
  name: "hostile text stays text in the HTML",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, id } = await begin(place);
    await using _ = client;
    const path = join(place.dir, "out.html");
    const command = ["ctl", "sessions", "export", id, "--format", "html", "--output", path];
    assertEquals((await place.svc(command)).code, 0);
    const html = Deno.readTextFileSync(path);
    // deno-lint-ignore no-explicit-any -- the DOM's types are not loaded here
    const { document } = parseHTML(html) as any;
    assertEquals(document.querySelectorAll("script, iframe, object, b, i, a, link").length, 0);
    const images = document.querySelectorAll("img");
    assertEquals(images.length, 1);
    assert(images[0].getAttribute("src").startsWith("data:image/png;base64,"));
    for (const element of document.querySelectorAll("*")) {
      for (const { name } of element.attributes) assert(!name.startsWith("on"), name);
    }
    const said = document.querySelector("pre.text").textContent;
    assertStringIncludes(said, HOSTILE.split("\n")[0]);
    assertStringIncludes(said, "\\u{202e}");
    assertEquals(document.querySelector("h1").textContent, "<b>a & b</b></title>");
  },
});

Deno.test({
  name: "a file that was exported becomes a session with its history, and with no right of it",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, id } = await begin(place);
    await using _ = client;
    const path = join(place.dir, "out.json");
    await place.svc(["ctl", "sessions", "export", id, "--format", "json", "--output", path]);
    const before = await client.rpc.call("session.transcript", { session_id: id });
    const workdir = place.mkdir("other");
    // Also where the first one is gone.
    await client.rpc.call("session.delete", { session_id: id });
    const done = await place.svc(
      ["ctl", "sessions", "import", path, "--workdir", workdir, "--json"],
    );
    assertEquals([done.code, done.stderr], [0, ""]);
    const { session_id } = JSON.parse(done.stdout);
    const after = await client.rpc.call("session.transcript", { session_id });
    assertEquals(after.messages, before.messages);
    const { approval, trust, title, pending_approvals } = await client.rpc.call("session.get", {
      session_id,
    });
    assertEquals([approval, trust, pending_approvals], ["ask", "trusted", []]);
    assertEquals(title, "<b>a & b</b></title>");
    const [{ hash }] = after.messages[0].attachments;
    const kept = await client.rpc.call("session.attachment", { session_id, hash });
    assertEquals(kept.data, tinyPng().toBase64());
    assert((await client.rpc.call("ledger.verify", { session_id })).ok);
    await client.rpc.call("session.subscribe", { session_id, since_seq: 0 }).catch(() => {});
    const found = await client.rpc.call("session.search", { query: "printf" });
    assert(found.results.some((it: { session_id: string }) => it.session_id === session_id));
    await client.rpc.call("session.configure", { session_id, approval: "auto" });
    await client.rpc.call("session.send", { session_id, text: "run echo goes on" });
    while ((await client.rpc.call("session.get", { session_id })).activity !== "idle") {
      await new Promise((done) => setTimeout(done, 50));
    }
    const { messages } = await client.rpc.call("session.transcript", { session_id });
    assertStringIncludes(JSON.stringify(messages.at(-1)), "goes on");
  },
});

Deno.test({
  name: "a file that was changed, cut off or made by hand is refused, and no session is made",
  ignore,
  async fn() {
    await using place = new Place();
    const { client, id } = await begin(place);
    await using _ = client;
    const path = join(place.dir, "out.json");
    await place.svc(["ctl", "sessions", "export", id, "--format", "json", "--output", path]);
    const text = Deno.readTextFileSync(path);
    const lines = text.split("\n");
    const hostile: Record<string, string> = {
      changed: text.replace("<i>out</i>", "<i>owt</i>"),
      "a right that was changed": text.replace('"approval":"auto"', '"approval":"read"'),
      "without a record": lines.toSpliced(3, 1).join("\n"),
      "records in another order": lines.toSpliced(3, 2, lines[4], lines[3]).join("\n"),
      "cut off": text.slice(0, text.length / 2),
      "another head": text.replace(/"head":"[0-9a-f]{64}"/, `"head":"${"0".repeat(64)}"`),
      "another format": text.replace("svc-session/2", "svc-session/3"),
      "a record of another version": text.replace('{"v":1,', '{"v":2,'),
      "an id that is a path": text.replace(`"session_id":"${id}"`, '"session_id":"../../x"'),
      empty: "",
      "no JSON": "root:x:0:0:secret\n",
      "JSON of something else": JSON.stringify({ format: "svc-session/2", records: [] }),
    };
    const count = async () => {
      const { sessions } = await client.rpc.call("session.list", { include_ended: true });
      return sessions.length;
    };
    const before = await count();
    for (const [name, content] of Object.entries(hostile)) {
      Deno.writeTextFileSync(path, content);
      const { code, stderr } = await place.svc(["ctl", "sessions", "import", path]);
      assertEquals(code, 1, name);
      assert(!stderr.includes("secret"), stderr);
      assert(!/internal|TypeError/.test(stderr), `${name}: ${stderr}`);
    }
    Deno.removeSync(path);
    Deno.symlinkSync("/etc/passwd", path);
    assertEquals((await place.svc(["ctl", "sessions", "import", path])).code, 1);
    assertEquals(await count(), before);
  },
});

Deno.test({
  name: "Chromium shows the HTML, its picture too, and runs nothing of it",
  ignore: ignore || chromiumPath() === undefined,
  async fn() {
    await using place = new Place();
    const { client, id } = await begin(place);
    await using _ = client;
    const path = join(place.dir, "out.html");
    const command = ["ctl", "sessions", "export", id, "--format", "html", "--output", path];
    assertEquals((await place.svc(command)).code, 0);
    await using browser = await Browser.launch();
    const page = await browser.page(`file://${path}`);
    assertEquals(await page.title(), "<b>a & b</b></title>");
    assertStringIncludes(await page.innerText("body"), "<script>document.title='owned'</script>");
    assert(await page.evaluate("document.images[0].naturalWidth > 0"));
    // The policy in the file: also a script that got in would not run.
    const ran = await page.evaluate(`new Promise((done) => {
      const script = document.createElement("script");
      script.textContent = "globalThis.ran = true";
      document.body.append(script);
      setTimeout(() => done(globalThis.ran === true), 50);
    })`);
    assertEquals(ran, false);
  },
});

Deno.test({
  name: "what calls changed in files is shown as a difference, and as much of it as a person reads",
  ignore,
  async fn() {
    const long = Array.from({ length: 1_000 }, (_, n) => `line ${n}`).join("\n");
    await using it = await Scenario.begin([
      { calls: [{ name: "read_file", args: { path: "a.txt" } }] },
      {
        calls: [
          { name: "edit_file", args: { path: "a.txt", old_text: "two", new_text: "<i>2</i>" } },
          { name: "edit_file", args: { path: "a.txt", old_text: "none", new_text: "x" } },
        ],
      },
      { calls: [{ name: "write_file", args: { path: "a.txt", content: "one\nlast\n" } }] },
      { calls: [{ name: "write_file", args: { path: "b.txt", content: long } }] },
      { text: "Done." },
    ]);
    Deno.writeTextFileSync(join(it.workdir, "a.txt"), "one\ntwo\nthree\n");
    await it.turn("go");
    const [markdown, html] = await Promise.all(["markdown", "html"].map(async (format) => {
      const { content, next_cursor } = await it.call("session.export", { format });
      assertEquals(next_cursor, undefined);
      return content as string;
    }));
    assertStringIncludes(
      markdown,
      "`a.txt` +1 −1\n\n```diff\n one\n-two\n+<i>2</i>\n three\n```\n",
    );
    // The journal alone has what was there before.
    assertStringIncludes(
      markdown,
      "`a.txt` +1 −2\n\n```diff\n one\n-<i>2</i>\n-three\n+last\n```\n",
    );
    assertStringIncludes(markdown, "`b.txt` new file, 1000 lines\n\n```diff\n+line 0\n");
    assertStringIncludes(markdown, "+line 299\n⋮ the rest of the changes is not shown\n```\n");
    // deno-lint-ignore no-explicit-any -- the DOM's types are not loaded here
    const { document } = parseHTML(html) as any;
    const texts = (name: string): string[] =>
      Array.from(document.querySelectorAll(name), (el: { textContent: string }) => el.textContent);
    assertEquals(texts("del"), ["-two", "-<i>2</i>", "-three"]);
    assertEquals(texts("ins").slice(0, 3), ["+<i>2</i>", "+last", "+line 0"]);
    assertEquals(texts("ins").length, 302);
    assertEquals(document.querySelectorAll("i").length, 0);
  },
});
