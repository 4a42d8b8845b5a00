import { assertEquals } from "@std/assert";
import { until } from "../../../tests/support/scripted.ts";
import { Client } from "../rpc/client.ts";
import { SessionList } from "./list.ts";

/** A connection that notes what is asked, and answers when it is told to. */
class Socket {
  readonly readyState = WebSocket.OPEN;
  readonly asked: { id: number; params: unknown }[] = [];
  onmessage = (_event: { data: string }) => {};

  send(data: string): void {
    this.asked.push(JSON.parse(data));
  }

  /** Answers what was asked last. */
  answer(...ids: string[]): void {
    const sessions = ids.map((id) => ({ id, last_event_at: id, pending_approvals_count: 1 }));
    this.reply({ sessions });
  }

  reply(result: unknown): void {
    const { id } = this.asked.at(-1)!;
    this.onmessage({ data: JSON.stringify({ id, result }) });
  }

  close(): void {}
}

Deno.test("what is chosen while the list is asked for holds for what is shown then", async () => {
  const socket = new Socket();
  const client = new Client({ connect: () => Promise.resolve(socket as unknown as WebSocket) });
  client.start();
  await until(() => client.state.value === "connected", "the connection");
  const list = new SessionList(client);
  const ids = () => list.items.value?.map(({ id }) => id);
  list.refresh();
  await until(() => socket.asked.length === 1, "the first question");
  list.with_ended.value = true;
  const chosen = list.refresh();
  socket.answer("1", "2");
  await until(() => socket.asked.length === 2, "the second one");
  assertEquals(ids(), ["2", "1"]);
  socket.answer("1", "2", "3");
  await chosen;
  assertEquals([ids(), list.pending.value], [["3", "2", "1"], 3]);
  assertEquals(socket.asked.map(({ params }) => params), [
    { include_ended: false, include_archived: false, since: "" },
    { include_ended: true, include_archived: false, since: "" },
  ]);
  client.close();
});

Deno.test("only what has changed is taken over, and the rest stays the same objects", async () => {
  const socket = new Socket();
  const client = new Client({ connect: () => Promise.resolve(socket as unknown as WebSocket) });
  client.start();
  await until(() => client.state.value === "connected", "the connection");
  const list = new SessionList(client);
  let asked = 0;
  const answered = async (result: unknown) => {
    const refreshed = list.refresh();
    await until(() => socket.asked.length === asked + 1, "the question");
    asked++;
    socket.reply(result);
    await refreshed;
    return list.items.value!;
  };
  const item = (id: string, title = id) => ({ id, title, last_event_at: id });
  const all = { sessions: [item("1"), item("2"), item("3")], tag: "a", gone: [], whole: true };
  const [three, two] = await answered(all);
  const same = await answered({ sessions: [], tag: "a", gone: [], whole: false });
  assertEquals([same[0] === three, same[1] === two], [true, true]);
  const some = { sessions: [item("2", "B")], tag: "b", gone: ["1"], whole: false };
  const changed = await answered(some);
  assertEquals(changed.map(({ title }) => title), ["3", "B"]);
  assertEquals(changed[0], three);
  assertEquals(
    socket.asked.map(({ params }) => (params as { since: string }).since),
    ["", "a", "a"],
  );
  const whole = await answered({ sessions: [item("4")], tag: "c", gone: [], whole: true });
  assertEquals(whole.map(({ id }) => id), ["4"]);
  client.close();
});
