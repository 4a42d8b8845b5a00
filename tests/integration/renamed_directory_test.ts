/** A project directory that is renamed while a session works in it, and moved back. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SvcError } from "../../src/protocol/errors.ts";
import { Scenario } from "../support/scripted.ts";
import { can_run_svc } from "../support/svc.ts";

// Windows does not rename a directory in which a file is open.
const ignore = !can_run_svc || Deno.build.os === "windows";

Deno.test({
  name: "a session whose directory was renamed says so, loses nothing, and goes on when it is back",
  ignore,
  async fn() {
    await using it = await Scenario.begin(({ messages }) => ({
      text: `Answer to ${
        messages.at(-1)!.role === "user" && (messages.at(-1) as { text: string }).text
      }`,
    }));
    await it.turn("first");
    const away = `${it.workdir}-renamed`;
    const refusal = async () => {
      const { hint = "" } = await assertRejects(() => it.send("lost"), SvcError);
      assertStringIncludes(hint, "moved or renamed, move it back");
      assertStringIncludes(hint, "nothing was deleted");
      assert(!hint.includes("disk space") && !hint.includes("session.kill"), hint);
    };
    Deno.renameSync(it.workdir, away);
    await refusal();
    Deno.renameSync(away, it.workdir);
    assertStringIncludes((await it.turn("second")).data.message, "second");

    Deno.renameSync(it.workdir, away);
    await it.client[Symbol.asyncDispose]();
    await it.daemon.stop();
    it.daemon = await it.place.serve();
    it.client = await it.daemon.rpc();
    await refusal();
    Deno.renameSync(away, it.workdir);
    await it.call("session.subscribe", { since_seq: 0 });
    assertStringIncludes((await it.turn("third")).data.message, "third");
    const texts = it.client.of("user.message").map(({ data }) => data.text);
    assertEquals(texts, ["first", "second", "third"]);
  },
});
