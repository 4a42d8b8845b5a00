import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { AnswerRoom, type Held } from "./answer_room.ts";

const MIB = 1024 * 1024;
const asking = () => ({ signal: new AbortController().signal });

/** What has entered, in order. */
class Entered {
  readonly names: string[] = [];
  readonly held = new Map<string, Held>();

  constructor(readonly room: AnswerRoom) {}

  enter(name: string, mib: number, signal = asking().signal): Promise<void> {
    return this.room.enter({ signal }, mib * MIB).then((held) => {
      this.names.push(name);
      this.held.set(name, held);
    });
  }
}

/** Lets everything go on that can. */
async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await delay(1);
}

Deno.test("two large answers are made at once, and others follow in order", async () => {
  const it = new Entered(new AnswerRoom());
  const all = ["a", "b", "c", "d"].map((name) => it.enter(name, 4));
  await settled();
  assertEquals(it.names, ["a", "b"]);
  it.held.get("a")!.made(4 * MIB);
  await settled();
  assertEquals(it.names, ["a", "b", "c"]);
  it.held.get("b")!.leave();
  await Promise.all(all);
  assertEquals(it.names, ["a", "b", "c", "d"]);
});

Deno.test("answers that nobody has read keep their room, and one alone may be larger than all", async () => {
  const it = new Entered(new AnswerRoom());
  await it.enter("large", 64);
  it.held.get("large")!.made(60 * MIB);
  const small = it.enter("small", 4);
  await settled();
  assertEquals(it.names, ["large"]);
  it.held.get("large")!.leave();
  await small;
  assertEquals(it.names, ["large", "small"]);
});

Deno.test("who has gone while it waited lets the next one in", async () => {
  const it = new Entered(new AnswerRoom());
  await it.enter("a", 4);
  await it.enter("b", 4);
  const gone = new AbortController();
  const leaving = it.enter("gone", 4, gone.signal);
  const next = it.enter("next", 4);
  await settled();
  it.held.get("a")!.leave();
  gone.abort(new Error("gone"));
  await assertRejects(() => leaving, Error, "gone");
  await next;
  assertEquals(it.names, ["a", "b", "next"]);
  assert(!it.held.has("gone"));
});
