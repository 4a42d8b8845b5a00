import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { newSession, TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import { answerQuestion, askPerson } from "./person_answers.ts";

const QUESTION = { question: "Which?\none", options: [], multiple: false, free_text: true };

Deno.test({
  name: "of two answers at the same moment one counts, and a signal withdraws a question",
  ignore: !granted("read", "write"),
  async fn() {
    using dir = new TempDir();
    const session = await newSession(dir.join("journal.ndjson"));
    await session.lanes.move("main", "running", "test", "test");
    const { approvals } = session;
    const stop = new AbortController();
    const ask = () =>
      askPerson(approvals, { call_id: "c", tool: "ask_user" }, QUESTION, stop.signal);
    const asked = ask();
    const pending = async () => {
      while (session.state.lanes[0].status !== "blocked") {
        await session.emit("plan.changed", { steps: [] });
      }
      return session.state.pending_approvals[0];
    };
    const { approval_id, reason } = await pending();
    assertEquals(reason, "Which?");
    const answers = await Promise.allSettled(
      ["one", "two"].map((text) =>
        answerQuestion(approvals, approval_id, { chosen: [], text }, "test")
      ),
    );
    assertEquals(answers.map(({ status }) => status), ["fulfilled", "rejected"]);
    assertEquals(await asked, { chosen: [], text: "one" });
    assertEquals(session.state.lanes[0].status, "running");
    const again = ask();
    const { approval_id: second } = await pending();
    stop.abort();
    await assertRejects(() => again, DOMException);
    const late = await assertRejects(
      () => answerQuestion(approvals, second, "declined", "test"),
      SvcError,
    );
    assertEquals(late.code, "not_found");
    await session.kill();
  },
});
