/** In a session that asks, svc makes the edits that an agent over ACP asks to make itself. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Hosting, no_jail, ownEdit as edit } from "../support/acp_hosting.ts";

/** A project with these files, and an agent in a session that asks. */
async function asking(files: Record<string, string>, toml = "") {
  const it = await Hosting.begin({ approval: "ask", toml });
  const at = (name: string) => join(it.workdir, name);
  for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(at(name), text);
  const text = (name: string) => {
    try {
      return Deno.readTextFileSync(at(name));
    } catch {
      return undefined;
    }
  };
  const asked = () => it.of("approval.requested");
  return Object.assign(it, { at, text, asked });
}

Deno.test({
  name: "an agent's own edit that is allowed is made, over two turns and a restart",
  ignore: no_jail,
  async fn() {
    await using it = await asking({ "a.txt": "one\ntwo\n" });
    const first = it.turn(edit(it.at("a.txt"), "one", "ONE"));
    const { tool, reason, changes } = await it.decide(1, "allow");
    assertEquals([tool, reason], ["edit_file", "edit a.txt"]);
    assertEquals(changes.map(({ path }: { path: string }) => path), ["a.txt"]);
    assertStringIncludes((await first).message, "chosen yes, refused EROFS");
    assertEquals(it.text("a.txt"), "ONE\ntwo\n");
    const own = it.of("session.tool_completed").find(({ tool }) => tool === "agent_edit");
    assert(own.ok, own.output);
    assertStringIncludes(own.output, "a.txt");

    const second = it.turn(edit(it.at("sub/new.txt"), null, "new\n", { said: true }));
    assertEquals((await it.decide(2, "allow")).reason, "write sub/new.txt (4 characters)");
    await second;
    assertEquals(it.text("sub/new.txt"), "new\n");

    await it.daemon.kill();
    await it.restart();
    const third = it.turn(edit(it.at("a.txt"), "two", "TWO"));
    await it.decide(3, "allow");
    await third;
    assertEquals(it.text("a.txt"), "ONE\nTWO\n");
  },
});

Deno.test({
  name: "an agent's own edit that is denied is not made, and nor is another in its place",
  ignore: no_jail,
  async fn() {
    await using it = await asking({ "a.txt": "one\n", "b.txt": "one\n" });
    const denied = it.turn(edit(it.at("a.txt"), "one", "ONE"));
    await it.decide(1, "deny");
    assertStringIncludes((await denied).message, "chosen no, nothing");
    assertEquals(it.text("a.txt"), "one\n");

    const other = it.turn(edit(it.at("a.txt"), "one", "ONE", { then: it.at("b.txt") }));
    await it.decide(2, "allow");
    assertStringIncludes((await other).message, "refused EROFS");
    assertEquals([it.text("a.txt"), it.text("b.txt")], ["ONE\n", "one\n"]);
  },
});

Deno.test({
  name: "a file is deleted, and one is replaced, as the agent asked",
  ignore: no_jail,
  async fn() {
    await using it = await asking({ "a.txt": "one\n", "b.txt": "one\n" });
    const turn = it.turn([
      `edit ${JSON.stringify({ kind: "delete", locations: [{ path: it.at("a.txt") }] })}`,
      edit(it.at("b.txt"), null, "two\n"),
    ].join("\n"));
    await it.decide(1, "allow");
    assertStringIncludes((await it.decide(2, "allow")).reason, "replaces a file that is there");
    await turn;
    assertEquals([it.text("a.txt"), it.text("b.txt")], [undefined, "two\n"]);
    assertEquals(it.asked().map(({ tool }) => tool), ["apply_patch", "write_file"]);
  },
});

Deno.test({
  name: "a file that the person has changed meanwhile keeps that change",
  ignore: no_jail,
  async fn() {
    await using it = await asking({ "a.txt": "one\n", "b.txt": "one\n" });
    // Before the question: what the agent would replace is not there any more.
    Deno.writeTextFileSync(it.at("a.txt"), "mine\n");
    const gone = await it.turn(edit(it.at("a.txt"), "one", "ONE"));
    assertStringIncludes(gone.message, "chosen no, nothing");
    assertEquals(it.asked(), []);
    // While the question is open: also where the agent replaces the whole file, or makes it.
    for (const [nth, name, old] of [[1, "b.txt", "one"], [2, "b.txt", null], [3, "c.txt", null]]) {
      const turn = it.turn(edit(it.at(String(name)), old as string | null, "agent's\n"));
      while (it.asked().length < Number(nth)) await new Promise((go) => setTimeout(go, 20));
      Deno.writeTextFileSync(it.at(String(name)), `mine, one ${nth}\n`);
      await it.decide(Number(nth), "allow");
      assertStringIncludes((await turn).message, "chosen no, nothing");
      assertEquals(it.text(String(name)), `mine, one ${nth}\n`);
      Deno.writeTextFileSync(it.at("b.txt"), "one\n");
    }
    assertEquals(it.text("a.txt"), "mine\n");
  },
});

Deno.test({
  name: "an edit is asked once, also by an agent that then writes through the client",
  ignore: no_jail,
  async fn() {
    await using it = await asking({ "a.txt": "one\n" });
    const turn = it.turn([
      edit(it.at("a.txt"), "one\n", "two\n", { through: true }),
      `read ${it.at("a.txt")}`,
    ].join("\n"));
    await it.decide(1, "allow");
    const { message } = await turn;
    assertStringIncludes(message, "chosen yes, through the client");
    assertStringIncludes(message, "two\n");
    assertEquals(it.asked().length, 1);
    // Another text than the one that was allowed is another question.
    const other = it.turn([
      edit(it.at("a.txt"), "two\n", "three\n"),
      `write ${it.at("a.txt")} other`,
    ].join("\n"));
    await it.decide(2, "allow");
    await it.decide(3, "deny");
    assertStringIncludes((await other).message, "failed denied");
    assertEquals(it.text("a.txt"), "three\n");
  },
});

Deno.test({
  name: "what svc cannot make is not asked, and rules about files hold for an agent's own edits",
  ignore: no_jail,
  async fn() {
    const rules = '[permissions]\ndeny = ["edit_file: b.*"]\nallow = ["edit_file: c.*"]';
    await using it = await asking({ "a.txt": "one\n", "b.txt": "one\n", "c.txt": "one\n" }, rules);
    const ruled = await it.turn(
      `${edit(it.at("b.txt"), "one", "ONE")}\n${edit(it.at("c.txt"), "one", "ONE")}`,
    );
    assertStringIncludes(ruled.message, "chosen no, nothing\nchosen yes");
    assertEquals([it.text("b.txt"), it.text("c.txt")], ["one\n", "ONE\n"]);
    const { message } = await it.turn([
      `edit ${JSON.stringify({ kind: "edit", locations: [{ path: it.at("a.txt") }] })}`,
      `edit ${JSON.stringify({ kind: "move", locations: [{ path: it.at("a.txt") }] })}`,
    ].join("\n"));
    assertEquals(message.match(/chosen no, nothing/g)?.length, 2, message);
    assertEquals(it.asked(), []);
    const refused = it.of("session.tool_completed").slice(-2);
    assertEquals(refused.map(({ ok }) => ok), [false, false]);
    assertStringIncludes(refused[0].output, "nobody was asked");
    await it.client.rpc.call("session.configure", {
      session_id: it.session_id,
      approval: "read_only",
    });
    assertStringIncludes(
      (await it.turn(edit(it.at("a.txt"), "one", "ONE"))).message,
      "chosen no, nothing",
    );
    assertEquals(it.text("a.txt"), "one\n");
  },
});
